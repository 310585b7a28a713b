package leasetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
)

func testAcquire(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	free := b.read().Record
	if free.Holder != "" || free.HolderID != "" || free.Own || free.Released {
		t.Fatalf("a record that never was: %+v", free)
	}
	hold := a.acquire()
	if hold.Token == 0 || hold.Duration < s.Timing.Floor {
		t.Errorf("the hold is %+v, want a token and at least %v", hold, s.Timing.Floor)
	}
	own, seen := a.read().Record, b.read().Record
	if !own.Own || own.Holder != a.NodeName || own.HolderID == "" || own.Released {
		t.Errorf("the holder reads %+v", own)
	}
	if seen.Own || seen.Holder != a.NodeName || seen.HolderID != own.HolderID || seen.Version != own.Version {
		t.Errorf("the holder reads %+v, another process %+v", own, seen)
	}
	if _, err := b.Acquire(b.ctx(), free); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("acquiring a record that was free a moment ago: %v, want ErrHeld", err)
	}
	// A holder whose own acquisition was not answered asks again.
	again, err := a.Acquire(a.ctx(), own)
	if err != nil || again.Token < hold.Token {
		t.Errorf("acquiring the own record again: %+v, %v; the token was %d", again, err, hold.Token)
	}
	a.renew(again)
	if now := b.read().Record; now.Holder != a.NodeName {
		t.Errorf("then %q holds it", now.Holder)
	}
}

// Five processes that all see the record free: one gets it, and each time with a higher
// token.
func testContend(t *testing.T, s *Setup) {
	all := s.openAll(t, 5)
	var token uint64
	for round := range 6 {
		seen := make([]lease.Record, len(all))
		for i, c := range all {
			seen[i] = c.read().Record
		}
		holds := make([]lease.Hold, len(all))
		errs := make([]error, len(all))
		var wg sync.WaitGroup
		for i, c := range all {
			ctx := c.ctx()
			wg.Go(func() { holds[i], errs[i] = c.Acquire(ctx, seen[i]) })
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: %s and %s both acquired the record", round, all[winner].NodeName, all[i].NodeName)
			case err == nil:
				winner = i
			case !errors.Is(err, lease.ErrHeld):
				t.Errorf("round %d: %s: %v, want ErrHeld", round, all[i].NodeName, err)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody acquired a free record: %v", round, errs)
		}
		if holds[winner].Token <= token {
			t.Errorf("round %d: the token went from %d to %d", round, token, holds[winner].Token)
		}
		token = holds[winner].Token
		for _, c := range all {
			if r := c.read().Record; r.Holder != all[winner].NodeName {
				t.Errorf("round %d: %s sees %q as the holder, not %s", round, c.NodeName, r.Holder, all[winner].NodeName)
			}
		}
		all[winner].release(holds[winner])
	}
}

// A hold that is renewed outlives its duration, keeps its token, and is not to be had by
// who saw the record before a renewal.
func testRenew(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	before := b.read().Record
	tick := time.NewTicker(s.Timing.Renew)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < 2*s.Timing.Duration; <-tick.C {
		renewed := a.renew(hold)
		if renewed.Token != hold.Token || renewed.Duration < s.Timing.Floor {
			t.Fatalf("renewed %+v into %+v", hold, renewed)
		}
		hold = renewed
	}
	if now := a.read().Record; !now.Own || now.HolderID != before.HolderID {
		t.Errorf("after two durations the record is %+v, was %+v", now, before)
	}
	if _, err := b.Acquire(b.ctx(), before); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("acquiring the record as it was before its renewals: %v, want ErrHeld", err)
	}
	a.renew(hold)
}

// testDelete: somebody removes the record.
func testDelete(t *testing.T, s *Setup) { testTakenAway(t, s, s.Delete) }

// testRevoke: somebody ends the holder's session.
func testRevoke(t *testing.T, s *Setup) {
	if s.Revoke == nil {
		return // a store without sessions has no such test
	}
	testTakenAway(t, s, s.Revoke)
}

func testTakenAway(t *testing.T, s *Setup, away func(testing.TB)) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	outcomes(t, "a claim before", a.claim(hold, nil, at(0, "job")), "G")
	away(t)
	if r := a.read().Record; r.Own || r.Holder != "" || r.Released {
		t.Errorf("the former holder reads %+v", r)
	}
	a.loses(hold)
	next := b.takeOver()
	if next.Token <= hold.Token {
		t.Errorf("the token went from %d to %d", hold.Token, next.Token)
	}
	a.loses(hold)
	b.renew(next)
	for _, v := range b.claim(next, nil, at(0, "job")) {
		if v.Outcome == election.Granted {
			t.Error("what was claimed before the record was taken away was granted to another process after it")
		}
	}
}

// A holder that does not renew is replaced, and nothing it says afterwards counts.
func testExpire(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	next := b.takeOver()
	if next.Token <= hold.Token {
		t.Errorf("the token went from %d to %d", hold.Token, next.Token)
	}
	a.loses(hold)
	if r := b.read().Record; !r.Own || r.Holder != b.NodeName {
		t.Errorf("the new holder reads %+v after what the former one tried", r)
	}
	b.renew(next)
	if r := a.read().Record; r.Own || r.Holder != b.NodeName {
		t.Errorf("the former holder reads %+v", r)
	}
}

func testRelease(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	a.release(hold)
	if r := b.read().Record; r.Holder != "" || r.HolderID != "" || !r.Released {
		t.Errorf("a released record reads %+v", r)
	}
	a.loses(hold)
	next := b.acquire()
	if next.Token <= hold.Token {
		t.Errorf("the token went from %d to %d", hold.Token, next.Token)
	}
	a.loses(hold)
	if r := a.read().Record; r.Released || r.Holder != b.NodeName {
		t.Errorf("the record reads %+v, want it held by %s", r, b.NodeName)
	}
	b.release(next)
	// Its own former hold does not keep a process from the next one.
	if last := a.acquire(); last.Token <= next.Token {
		t.Errorf("the token went from %d to %d", next.Token, last.Token)
	}
}

// A watch tells of what others do, or leaves it to reading; either way it ends with its
// context, and not before unless the store says why.
func testWatch(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- b.Watch(ctx, func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	}()
	// When a watch has begun is not told, so the record changes until it is seen.
	limit := time.NewTimer(2 * s.Timing.Duration)
	defer limit.Stop()
	for watching := true; watching; {
		a.release(a.acquire())
		select {
		case <-heard:
			watching = false
		case <-limit.C:
			t.Log("this store tells of nothing by itself")
			watching = false
		case err := <-ended:
			t.Fatalf("the watch has ended: %v", err)
		default:
		}
	}
	cancel()
	testcluster.Eventually(t, "the watch ends with its context", func() error {
		select {
		case err := <-ended:
			if err != nil {
				t.Logf("the watch ended with %v", err)
			}
			return nil
		default:
			return errors.New("it goes on")
		}
	})
}
