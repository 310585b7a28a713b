package consul

import (
	"context"
	"time"
)

// blocking is how long Consul may hold one question for changes.
const blocking = time.Minute

// Watch implements lease.Store by blocking queries. The index of an answer is handed to
// the next question; one that goes back means that the servers were restored, and starts
// again, as Consul asks of its clients.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	var index uint64
	for {
		c, err := s.dialer.client()
		if err != nil {
			return err
		}
		query := consistent(ctx)
		query.WaitIndex, query.WaitTime = index, blocking
		pair, meta, err := c.KV().Get(s.key, query)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return s.failure(err)
		}
		before := index
		if index = meta.LastIndex; index < before {
			index = 0
		}
		if index == before {
			continue // nothing happened for as long as Consul waits
		}
		s.mu.Lock()
		own := pair != nil && pair.Session != "" && pair.Session == s.session
		s.mu.Unlock()
		if !own {
			changed()
		}
	}
}
