package leasetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
)

// Setup is one record in a store that nobody else uses, and what may happen to it.
type Setup struct {
	Backend string
	// Timing is as short as the backend's configuration allows.
	Timing lease.Timing
	// Open connects one process. The store is closed by who opened it.
	Open func(tb testing.TB, p Process) Client

	// Delete removes the record behind the back of its holder.
	Delete func(tb testing.TB)
	// Revoke ends the holder's session and so its hold; nil for a store without any.
	Revoke func(tb testing.TB)
	// Kill ends the store's processes, Start starts them on the same data, Pause and
	// Resume stop and continue them. Only RunFaults needs them.
	Kill, Start, Pause, Resume func()
	// Outages are further ways in which the store can be of no use for a while;
	// RunFaults goes through them.
	Outages []Outage
}

// Outage is one way in which a store can be of no use for a while.
type Outage struct{ Begin, End func() }

// Process is one process that takes part.
type Process struct {
	lease.Identity
	Logger hclog.Logger
	// Now is its wall clock; nil is the right one.
	Now func() time.Time
}

// Client is a process's way to the store.
type Client struct {
	Store lease.Store
	Links []*realstore.Proxy // all of them
}

// patience bounds one call of a test; a store that hangs fails the test.
const patience = 20 * time.Second

// who returns the identity of the n-th process, from 0.
func who(n int) lease.Identity {
	return lease.Identity{NodeName: fmt.Sprintf("node-%c", 'a'+n), InstanceID: fmt.Sprintf("%032x", 0xa0+n)}
}

// client is a Client with what the tests ask of it.
type client struct {
	lease.Store
	lease.Identity
	t *testing.T
}

// open connects the n-th process until the test ends.
func (s *Setup) open(t *testing.T, n int) *client {
	t.Helper()
	c := s.Open(t, Process{Identity: who(n), Logger: logger(t)})
	t.Cleanup(func() {
		if err := c.Store.Close(); err != nil {
			t.Errorf("closing the store of %s: %v", who(n).NodeName, err)
		}
	})
	return &client{Store: c.Store, Identity: who(n), t: t}
}

// openAll connects n processes.
func (s *Setup) openAll(t *testing.T, n int) []*client {
	t.Helper()
	var all []*client
	for i := range n {
		all = append(all, s.open(t, i))
	}
	return all
}

func logger(tb testing.TB) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: tb.Output()})
}

func (c *client) ctx() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

func (c *client) read() lease.Snapshot {
	c.t.Helper()
	s, err := c.Read(c.ctx())
	if err != nil {
		c.t.Fatalf("%s reads: %v", c.NodeName, err)
	}
	return s
}

// acquire takes the record, which must be free.
func (c *client) acquire() lease.Hold {
	c.t.Helper()
	seen := c.read().Record
	if seen.Holder != "" {
		c.t.Fatalf("%s finds the record held by %s", c.NodeName, seen.Holder)
	}
	hold, err := c.Acquire(c.ctx(), seen)
	if err != nil {
		c.t.Fatalf("%s acquires: %v", c.NodeName, err)
	}
	return hold
}

func (c *client) renew(hold lease.Hold) lease.Hold {
	c.t.Helper()
	renewed, err := c.Renew(c.ctx(), hold)
	if err != nil {
		c.t.Fatalf("%s renews: %v", c.NodeName, err)
	}
	return renewed
}

func (c *client) release(hold lease.Hold) {
	c.t.Helper()
	if err := c.Release(c.ctx(), hold); err != nil {
		c.t.Fatalf("%s releases: %v", c.NodeName, err)
	}
}

// takeOver waits until the record of a holder that does not renew it can be had, as a
// challenger does, and acquires it.
func (c *client) takeOver() lease.Hold {
	c.t.Helper()
	var (
		hold  lease.Hold
		seen  lease.Record
		since time.Time
	)
	testcluster.Eventually(c.t, c.NodeName+" takes the record over", func() error {
		now := c.read().Record
		if now.HolderID != seen.HolderID || now.Version != seen.Version || since.IsZero() {
			seen, since = now, time.Now()
		}
		if now.Holder != "" && (now.Stands == 0 || time.Since(since) < now.Stands) {
			return fmt.Errorf("%s holds it", now.Holder)
		}
		var err error
		hold, err = c.Acquire(c.ctx(), now)
		return err
	})
	return hold
}

// claim asks for firings, which must be settled.
func (c *client) claim(hold lease.Hold, mark *lease.Mark, firings ...election.Firing) []election.Verdict {
	c.t.Helper()
	verdicts, _, err := c.Claim(c.ctx(), hold, firings, mark)
	if err != nil || len(verdicts) != len(firings) {
		c.t.Fatalf("%s claims %d firings: %d verdicts, %v", c.NodeName, len(firings), len(verdicts), err)
	}
	return verdicts
}

// loses checks that nothing can be done with a hold that is over.
func (c *client) loses(hold lease.Hold) {
	c.t.Helper()
	want := func(what string, err error) {
		c.t.Helper()
		if !errors.Is(err, lease.ErrLost) {
			c.t.Errorf("%s %s with a hold that is over: %v, want ErrLost", c.NodeName, what, err)
		}
	}
	_, err := c.Renew(c.ctx(), hold)
	want("renews", err)
	late := election.Firing{Job: "by one who lost it", At: time.Now().UTC().Truncate(time.Second)}
	verdicts, _, err := c.Claim(c.ctx(), hold, []election.Firing{late}, nil)
	want("claims", err)
	verdicts2, _, err := c.ClaimReboot(c.ctx(), hold, "v1:lost", []string{"one-shot"}, nil)
	want("claims a one-shot", err)
	for _, v := range append(verdicts, verdicts2...) {
		if v.Outcome == election.Granted {
			c.t.Errorf("%s was granted a firing with a hold that is over", c.NodeName)
		}
	}
	want("releases", c.Release(c.ctx(), hold))
}

// outcomes checks verdicts against a word of one letter each: Granted, Denied, Pending.
func outcomes(t *testing.T, what string, verdicts []election.Verdict, want string) {
	t.Helper()
	got := ""
	for _, v := range verdicts {
		got += map[election.Outcome]string{election.Granted: "G", election.Denied: "D", election.Pending: "P"}[v.Outcome]
	}
	if got != want {
		t.Errorf("%s: %s, want %s: %+v", what, got, want, verdicts)
	}
}
