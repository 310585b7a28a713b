package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/yacron2/yacron2/election"
)

// memory is a store that lives in the test, with the failures of real ones at will. It
// is for what cannot be had from a real store: thousands of runs in a virtual time. What
// real stores do is tested with them, in the packages of their clients.
type memory struct {
	mu       sync.Mutex
	stands   bool // the record does not end by itself
	ttl      time.Duration
	index    uint64
	holder   *memoryHold
	release  bool
	records  map[string]memoryRecord
	floor    time.Time
	ran      RanRecord
	marks    map[string]Mark
	watchers map[chan struct{}]bool
	tokens   []uint64 // in the order in which they were given out
	stale    []string // what was done by those who had lost the record
	onTheWay sync.WaitGroup
	mutant   string // a rule that this store breaks, for the test of the tests
}

type memoryHold struct {
	who     Identity
	token   uint64
	version uint64
	until   time.Time
}

type memoryRecord struct {
	data    []byte
	version uint64
}

func newMemory(stands bool, ttl time.Duration) *memory {
	return &memory{stands: stands, ttl: ttl, records: map[string]memoryRecord{}, marks: map[string]Mark{},
		watchers: map[chan struct{}]bool{}}
}

// current returns who holds the record now. mu is held.
func (m *memory) current() *memoryHold {
	if m.holder != nil && !m.stands && !time.Now().Before(m.holder.until) {
		m.holder, m.release = nil, false
		m.notify()
	}
	return m.holder
}

func (m *memory) notify() {
	for w := range m.watchers {
		signal(w)
	}
}

// memoryStore is how one process gets at it.
type memoryStore struct {
	*memory
	who Identity

	line sync.Mutex
	// The chances that a call is lost, that its answer is, and that it arrives long after
	// its time; slow delays every call and answer, and cut lets none pass.
	before, after, late float64
	slow                time.Duration
	cut                 bool
	chance              func() float64
}

var errUnreachable = errors.New("no answer")

// delayed is do, for a call that may also stay on its way for longer than anybody waits
// for it, and then be done all the same. do must not touch what its caller goes on using.
func (s *memoryStore) delayed(ctx context.Context, do func()) error {
	s.line.Lock()
	late, by := s.chance() < s.late, time.Duration(s.chance()*float64(2*s.ttl))
	s.line.Unlock()
	if !late {
		return s.do(ctx, do)
	}
	s.onTheWay.Go(func() {
		<-time.After(by)
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	})
	<-ctx.Done()
	return errUnreachable
}

// do is one call: do runs at the store, unless the call is lost on the way.
func (s *memoryStore) do(ctx context.Context, do func()) error {
	s.line.Lock()
	slow, cut := s.slow, s.cut
	lost, unanswered := s.chance() < s.before, s.chance() < s.after
	s.line.Unlock()
	if cut || lost {
		<-ctx.Done()
		return errUnreachable
	}
	if Sleep(ctx, slow) != nil {
		return errUnreachable
	}
	s.mu.Lock()
	do()
	s.mu.Unlock()
	if unanswered {
		<-ctx.Done()
		return errUnreachable
	}
	if Sleep(ctx, slow) != nil {
		return errUnreachable
	}
	return ctx.Err()
}

func (s *memoryStore) Read(ctx context.Context) (out Snapshot, err error) {
	err = s.do(ctx, func() {
		out.Ran = s.ran
		for _, m := range s.marks {
			out.Marks = append(out.Marks, m)
		}
		h := s.current()
		if h == nil {
			out.Record.Released = s.release
			return
		}
		out.Record = Record{Holder: h.who.NodeName, HolderID: fmt.Sprint(h.who.InstanceID, "/", h.token), HoldID: strconv.FormatUint(h.token, 10), Own: h.who == s.who,
			Version: strconv.FormatUint(h.version, 10), Opaque: h.token}
		if s.stands {
			out.Record.Stands = s.ttl
			if s.mutant == "takes over early" {
				out.Record.Stands = s.ttl / 2
			}
		}
	})
	return out, err
}

func (s *memoryStore) Acquire(ctx context.Context, seen Record) (Hold, error) {
	var hold Hold
	held := false
	err := s.delayed(ctx, func() {
		switch h := s.current(); {
		case h != nil && seen.Own && h.who == s.who:
			h.until, h.version = time.Now().Add(s.ttl), s.next()
			hold = Hold{Token: h.token, Duration: s.ttl}
		case h != nil && !(s.stands && strconv.FormatUint(h.version, 10) == seen.Version):
			held = true
		default:
			token := s.next()
			s.tokens = append(s.tokens, token)
			s.holder = &memoryHold{who: s.who, token: token, version: token, until: time.Now().Add(s.ttl)}
			hold = Hold{Token: token, Duration: s.ttl}
			s.notify()
		}
	})
	switch {
	case err != nil:
		return Hold{}, err
	case held:
		return Hold{}, ErrHeld
	}
	return hold, nil
}

func (s *memoryStore) next() uint64 {
	if s.index++; s.mutant == "indexes restart" && s.index > 40 {
		s.index = 1
	}
	return s.index
}

// holds reports whether the hold stands. mu is held.
func (s *memoryStore) holds(hold Hold) bool {
	h := s.current()
	return h != nil && h.who == s.who && h.token == hold.Token
}

func (s *memoryStore) Renew(ctx context.Context, hold Hold) (Hold, error) {
	lost := false
	err := s.do(ctx, func() {
		if lost = !s.holds(hold); !lost {
			s.holder.until, s.holder.version = time.Now().Add(s.ttl), s.next()
		}
		hold.Duration = s.ttl
	})
	if err == nil && lost {
		err = ErrLost
	}
	return hold, err
}

func (s *memoryStore) Release(ctx context.Context, hold Hold) error {
	lost := false
	err := s.do(ctx, func() {
		if lost = !s.holds(hold); !lost {
			s.holder, s.release = nil, true
			s.notify()
		}
	})
	if err == nil && lost {
		err = ErrLost
	}
	return err
}

func (s *memoryStore) Watch(ctx context.Context, changed func()) error {
	if s.stands {
		<-ctx.Done()
		return ctx.Err()
	}
	w := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w:
		}
		s.line.Lock()
		cut := s.cut
		s.line.Unlock()
		if cut {
			return errUnreachable
		}
		changed()
	}
}

func (s *memoryStore) Claim(ctx context.Context, hold Hold, firings []election.Firing, mark *Mark) ([]election.Verdict, []Mark, error) {
	b := NewBatch(Claimant{Token: hold.Token, Instance: s.who.InstanceID, Node: s.who.NodeName}, firings)
	for {
		s.mu.Lock()
		floor := s.floor
		s.mu.Unlock()
		writes, err := b.Next(floor, 2, 1<<10)
		if err != nil || len(writes) == 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return b.Verdicts(), s.others(), err
		}
		lost, done := false, false
		err = s.delayed(ctx, func() {
			if lost = !s.holds(hold) && s.mutant != "claims without proof"; lost {
				return
			}
			done = s.floor.Equal(floor) && !slices.ContainsFunc(writes, func(w ClaimWrite) bool { return s.records[w.Key].version != w.Revision })
			if !done {
				return
			}
			if newest := s.tokens[len(s.tokens)-1]; hold.Token != newest {
				s.stale = append(s.stale, fmt.Sprintf("a claim was taken under token %d after %d was given out", hold.Token, newest))
			}
			for _, w := range writes {
				if s.mutant != "claims forgotten" {
					s.records[w.Key] = memoryRecord{w.Data, s.next()}
				}
			}
			if mark != nil {
				s.marks[s.who.InstanceID] = *mark
			}
		})
		switch {
		case err != nil:
			return b.Verdicts(), nil, err
		case lost:
			return b.Verdicts(), nil, ErrLost
		case done:
			b.Written(writes)
			continue
		}
		s.mu.Lock()
		for _, w := range writes {
			r := s.records[w.Key]
			if err := b.Saw(w.Key, r.data, r.version); err != nil {
				s.mu.Unlock()
				return nil, nil, err
			}
		}
		s.mu.Unlock()
	}
}

// others returns the marks. mu is held.
func (s *memoryStore) others() []Mark {
	marks := []Mark{}
	for _, m := range s.marks {
		marks = append(marks, m)
	}
	return marks
}

func (s *memoryStore) Claimed(ctx context.Context, firings []election.Firing) (v []election.Verdict, err error) {
	err = s.do(ctx, func() {
		v, err = Told(firings, s.floor, func(key string) ([]byte, error) { return s.records[key].data, nil })
	})
	return v, err
}

func (s *memoryStore) ClaimReboot(ctx context.Context, hold Hold, jobSetID string, jobs []string, _ *Mark) (v []election.Verdict, marks []Mark, err error) {
	lost := false
	err = s.do(ctx, func() {
		if lost = !s.holds(hold); !lost {
			v, s.ran = Reboots(s.ran, s.who.InstanceID, jobSetID, jobs)
		}
		marks = s.others()
	})
	if err == nil && lost {
		err = ErrLost
	}
	if err != nil {
		return nil, nil, err
	}
	return v, marks, nil
}

func (s *memoryStore) MarkRan(ctx context.Context, jobSetID, job string) error {
	return s.do(ctx, func() { s.ran = s.ran.Add(jobSetID, job, s.who.InstanceID) })
}

func (s *memoryStore) SetMark(ctx context.Context, mark Mark) error {
	return s.do(ctx, func() {
		if len(mark.Jobs) == 0 {
			delete(s.marks, mark.InstanceID)
			return
		}
		s.marks[mark.InstanceID] = mark
	})
}

func (s *memoryStore) DropMarks(ctx context.Context, instances []string) error {
	return s.do(ctx, func() {
		for _, i := range instances {
			delete(s.marks, i)
		}
	})
}

func (s *memoryStore) Tidy(context.Context, Hold, time.Time, time.Duration) error { return nil }
func (s *memoryStore) Reload() error                                              { return nil }
func (s *memoryStore) Close() error                                               { return nil }

var _ Store = (*memoryStore)(nil)

// open gives a process its way to the store.
func (m *memory) open(n int) *memoryStore {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	return &memoryStore{memory: m, chance: r.Float64,
		who: Identity{NodeName: fmt.Sprintf("node-%c", 'a'+n), InstanceID: fmt.Sprintf("%032x", n+1)}}
}
