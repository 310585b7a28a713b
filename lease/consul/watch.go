package consul

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yacron2/yacron2/lease"
)

const (
	// blocking is how long Consul may hold one question for changes. It adds up to a
	// sixteenth; one that is not answered by then, and a grace, never will be.
	blocking = time.Minute
	grace    = 10 * time.Second

	// Questions that are answered at once follow each other at once for as long as there
	// are tries, and one is added each pause. Whatever is wrong with the answers, or
	// happens to the key, that is all it costs.
	watchTries = 10
	watchPause = 5 * time.Second
)

// Watch implements lease.Store by blocking queries. The index of an answer is handed to
// the next question; one that goes back means that the servers were restored, and starts
// again, as Consul asks of its clients.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	var index uint64
	var last sight
	start := time.Now()
	pace := pace{tries: watchTries}
	for {
		if err := pace.await(ctx, start); err != nil {
			return err
		}
		pair, next, err := s.ask(ctx, index)
		if err != nil {
			return err
		}
		// Every index is above 0; the least one waits for whatever comes.
		if next = max(next, 1); next < index {
			next = 0
		}
		index = next
		if now := see(pair); now != last { // else nothing happened to this key
			last = now
			if !s.own(now) {
				changed()
			}
		}
	}
}

// ask waits until the key has changed since the index, 0 for not at all, and returns it
// with its index; nil if it is not there.
func (s *Store) ask(ctx context.Context, index uint64) (*api.KVPair, uint64, error) {
	c, err := s.dialer.client()
	if err != nil {
		return nil, 0, err
	}
	limited, cancel := context.WithTimeout(ctx, s.blocking+s.blocking/16+grace)
	defer cancel()
	query := consistent(limited)
	query.WaitIndex, query.WaitTime = index, s.blocking
	pair, meta, err := c.KV().Get(s.key, query)
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, 0, errors.New("consul has not answered a blocking query for longer than it may take")
	case err != nil:
		return nil, 0, s.failure(err)
	}
	return pair, meta.LastIndex, nil
}

// sight is what a watch goes by. The zero value is no key that there is, nor one that
// there is not.
type sight struct {
	known    bool
	modified uint64
	session  string
}

func see(pair *api.KVPair) sight {
	if pair == nil {
		return sight{known: true}
	}
	return sight{known: true, modified: pair.ModifyIndex, session: pair.Session}
}

// own reports whether this process holds the key.
func (s *Store) own(v sight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return v.session != "" && v.session == s.session
}

// pace bounds how often something is tried: tries times at once, and once more for each
// pause that has passed.
type pace struct {
	tries  int
	gained time.Duration // until when pauses have been counted
}

// wait returns how long to wait before the next try at the time now.
func (p *pace) wait(now time.Duration) time.Duration {
	gain := int((now - p.gained) / watchPause)
	p.gained += time.Duration(gain) * watchPause
	if p.tries += gain; p.tries >= watchTries {
		p.tries, p.gained = watchTries, now
	}
	if p.tries > 0 {
		p.tries--
		return 0
	}
	p.gained += watchPause
	return p.gained - now
}

// await waits before the next try.
func (p *pace) await(ctx context.Context, start time.Time) error {
	wait := p.wait(time.Since(start))
	if wait == 0 {
		return ctx.Err()
	}
	return lease.Sleep(ctx, wait)
}
