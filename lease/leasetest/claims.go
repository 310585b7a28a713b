package leasetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
)

// origin is the instant of the first firing of every test.
var origin = sync.OnceValue(func() time.Time { return time.Now().UTC().Truncate(time.Second) })

// at is the firing of a job, some seconds after the first.
func at(seconds int, job string) election.Firing {
	return election.Firing{Job: job, At: origin().Add(time.Duration(seconds) * time.Second)}
}

func testClaim(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	outcomes(t, "first claims", a.claim(hold, nil, at(0, "x"), at(0, "y")), "GG")
	outcomes(t, "the same again, and a new one", a.claim(hold, nil, at(0, "x"), at(0, "z"), at(0, "y")), "GGG")
	outcomes(t, "the next instant", a.claim(hold, nil, at(1, "x")), "G")
	outcomes(t, "two instants at once", a.claim(hold, nil, at(2, "x"), at(2, "y"), at(3, "x")), "GGG")

	verdicts, err := b.Claimed(b.ctx(), []election.Firing{at(0, "x"), at(3, "x"), at(0, "never"), at(4, "x")})
	if err != nil {
		t.Fatal(err)
	}
	outcomes(t, "what another process is told of claims", verdicts, "DDPP")
	for _, v := range verdicts[:2] {
		if v.Holder != "" && v.Holder != a.NodeName {
			t.Errorf("a firing of %s is said to be of %s", a.NodeName, v.Holder)
		}
		if v.Reason == "" {
			t.Error("a denial has no reason")
		}
	}

	a.release(hold)
	next := b.acquire()
	taken := b.claim(next, nil, at(0, "x"), at(0, "y"), at(3, "x"), at(4, "x"), at(0, "never"))
	outcomes(t, "the next holder's claims, of which three were given", taken, "DDDGG")
	for _, v := range taken[:3] {
		if v.Reason == "" {
			t.Error("a denial has no reason")
		}
	}
	// The claims of a holder stand whoever holds the record.
	b.release(next)
	last := a.acquire()
	outcomes(t, "claims given to the holder between", a.claim(last, nil, at(4, "x"), at(0, "never"), at(5, "x")), "DDG")
}

// A thousand jobs that are due at one instant are one call.
func testClaimMany(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	var firings []election.Firing
	for i := range 1000 {
		// Names as long as they may be, since stores bound what one write takes.
		firings = append(firings, at(0, fmt.Sprintf("%0128d", i)))
	}
	for i, v := range a.claim(hold, nil, firings...) {
		if v.Outcome != election.Granted {
			t.Fatalf("firing %d: %+v", i, v)
		}
	}
	a.release(hold)
	next := b.acquire()
	extra := at(0, "one more")
	for i, v := range b.claim(next, nil, append(firings, extra)...) {
		if want := i == len(firings); (v.Outcome == election.Granted) != want || v.Outcome == election.Pending {
			t.Fatalf("firing %d for the next holder: %+v", i, v)
		}
	}
}

// Five processes claim the same thousand firings, while the record goes from one to the
// other, also without its holder's knowledge: each firing is given exactly once.
func testContendedClaims(t *testing.T, s *Setup) {
	const instants, jobs = 50, 20
	all := s.openAll(t, 5)
	granted := make([]map[election.Firing]bool, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		granted[i] = map[election.Firing]bool{}
		claimant := &claimant{client: c, granted: granted[i]}
		wg.Go(func() {
			for n := range instants {
				var batch []election.Firing
				for j := range jobs {
					batch = append(batch, at(n, fmt.Sprintf("job-%d", j)))
				}
				if err := claimant.settle(batch); err != nil {
					t.Errorf("%s: %v", c.NodeName, err)
					return
				}
				// Sometimes the record goes on, with or without a word about it.
				switch rand.N(20) { //nolint:gosec // which fault comes next is no secret
				case 0, 1, 2, 3, 4:
					claimant.giveUp()
				case 5, 6, 7, 8, 9:
					claimant.forget()
				case 10:
					if s.Revoke != nil {
						s.Revoke(t)
					}
				}
			}
			claimant.giveUp()
		})
	}
	wg.Wait()
	times := map[election.Firing]int{}
	busy := 0
	for i := range all {
		if len(granted[i]) > 0 {
			busy++
		}
		for f := range granted[i] {
			times[f]++
		}
	}
	for n := range instants {
		for j := range jobs {
			if f := at(n, fmt.Sprintf("job-%d", j)); times[f] != 1 {
				t.Errorf("%s at %s was given %d times", f.Job, f.At.Format(time.TimeOnly), times[f])
			}
		}
	}
	t.Logf("%d firings went to %d of %d claimants", len(times), busy, len(all))
	if busy < 2 {
		t.Error("one claimant got them all: nobody contended")
	}
}

// claimant claims whenever it holds the record, or believes so.
type claimant struct {
	*client
	granted map[election.Firing]bool
	hold    *lease.Hold
}

// settle asks until each firing is given, to whomever.
func (c *claimant) settle(batch []election.Firing) error {
	return testcluster.Poll(testcluster.Patience, 5*time.Millisecond, func() error {
		if err := c.tryAcquire(); err != nil {
			return err
		}
		verdicts, err := c.ask(batch)
		if errors.Is(err, lease.ErrLost) {
			c.hold = nil
		} else if err != nil {
			return err
		}
		pending := 0
		for i, v := range verdicts {
			switch {
			case v.Outcome == election.Granted:
				c.granted[batch[i]] = true
			case v.Outcome == election.Pending:
				pending++
			}
		}
		if pending > 0 || len(verdicts) < len(batch) {
			return fmt.Errorf("%d of %d are pending: %w", pending, len(batch), err)
		}
		return nil
	})
}

// tryAcquire acquires the record if it is free.
func (c *claimant) tryAcquire() error {
	if c.hold != nil {
		return nil
	}
	seen, err := c.Read(c.ctx())
	if err != nil || seen.Record.Holder != "" && !seen.Record.Own {
		return err
	}
	hold, err := c.Acquire(c.ctx(), seen.Record)
	switch {
	case err == nil:
		c.hold = &hold
	case !errors.Is(err, lease.ErrHeld):
		return fmt.Errorf("acquiring: %w", err)
	}
	return nil
}

func (c *claimant) ask(batch []election.Firing) ([]election.Verdict, error) {
	if c.hold == nil {
		return c.Claimed(c.ctx(), batch)
	}
	verdicts, _, err := c.Claim(c.ctx(), *c.hold, batch, nil)
	return verdicts, err
}

// giveUp releases the record.
func (c *claimant) giveUp() {
	c.t.Helper()
	if c.hold == nil {
		return
	}
	if err := c.Release(c.ctx(), *c.hold); err != nil && !errors.Is(err, lease.ErrLost) {
		c.t.Errorf("%s releases: %v", c.NodeName, err)
	}
	c.hold = nil
}

// forget lets another one claim with the record of this one gone, as a process does that
// stood still: its next claim is one with a hold that may be over.
func (c *claimant) forget() {
	c.t.Helper()
	if c.hold == nil {
		return
	}
	stale := *c.hold
	c.giveUp()
	c.hold = &stale
}
