package leasetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// RunManagers checks how nodes lead by a Store that nobody harms, many records at a time.
func RunManagers(t *testing.T, n New) {
	t.Helper()
	n.runParallel(t, []test{
		{"HandOver", testHandOver},
		{"LeaderCut", outOfReach((*Node).Cut)},
		{"LeaderBlocked", outOfReach((*Node).Block)},
		{"LeaderDeaf", outOfReach((*Node).BlockAnswers)},
		{"ClockAhead", wrongClocks(time.Hour, 0, -time.Hour)},
		{"ClockBehind", wrongClocks(-time.Hour, time.Hour, 0)},
		{"Reboot", testManagerReboot},
		{"RunsElsewhere", testRunsElsewhere},
	})
}

// Leaders stop in peace, one after the other, and the next one leads with a higher token.
func testHandOver(t *testing.T, s *Setup) {
	c := Start(t, s, 5, nil)
	var token uint64
	for range len(c.Nodes) {
		leader, took := c.AwaitLeader()
		c.AwaitFirings()
		now := c.Token(leader)
		if now <= token {
			t.Errorf("%s leads with the token %d after one with %d", leader.NodeName, now, token)
		}
		token = now
		t.Logf("%s leads after %v", leader.NodeName, took)
		leader.Stop(t)
	}
	if v := c.Nodes[0].Manager.View(); !v.Stopping() || v.IsLeader() {
		t.Errorf("a stopped node: stopping %t, leads %t", v.Stopping(), v.IsLeader())
	}
}

// Token returns the token with which the leader is given firings.
func (c *Cluster) Token(leader *Node) uint64 {
	c.t.Helper()
	var v election.Verdict
	c.eventually(leader.NodeName+" is given a firing", func() error {
		f := election.Firing{Job: "token", At: time.Now().UTC().Truncate(time.Second)}
		if v = leader.Manager.Claim(c.t.Context(), []election.Firing{f})[0]; v.Outcome != election.Granted {
			return errors.New(v.Reason)
		}
		return nil
	})
	return v.Token
}

// outOfReach lets the leader lose its way to the store. It stops leading before another
// one does, and goes on with PreferLeader jobs.
func outOfReach(lose func(*Node)) func(*testing.T, *Setup) {
	return func(t *testing.T, s *Setup) {
		c := Start(t, s, 3, nil)
		// Whom a busy machine keeps from renewing loses the lease too, and then anybody may
		// have it: but not each time.
		for range 3 {
			leader, _ := c.AwaitLeader()
			c.AwaitFirings()
			lose(leader)
			next, took := c.AwaitLeader(c.others(leader)...)
			t.Logf("%s leads after %v", next.NodeName, took)
			c.AwaitNone(leader)
			c.AwaitFirings()
			leader.Heal()
			after, _ := c.AwaitLeader()
			c.AwaitFirings()
			if after != leader {
				return
			}
			t.Logf("%s took the lead back", leader.NodeName)
		}
		t.Error("it was taken back each time")
	}
}

// others returns the nodes without one.
func (c *Cluster) others(but *Node) []*Node {
	var others []*Node
	for _, n := range c.Nodes {
		if n != but {
			others = append(others, n)
		}
	}
	return others
}

// wrongClocks lets the clocks of three nodes be off, that of the first leader as the first
// one says. Nobody steals the record, and it goes on as ever when its holder is gone.
func wrongClocks(off ...time.Duration) func(*testing.T, *Setup) {
	return func(t *testing.T, s *Setup) {
		c := Start(t, s, len(off), func(i int, cfg *lease.Config) {
			cfg.Now = func() time.Time { return time.Now().Add(off[i]) }
		})
		leader, _ := c.AwaitLeader()
		c.AwaitFirings()
		leader.Cut()
		c.AwaitLeader(c.others(leader)...)
		c.AwaitFirings()
		leader.Heal()
		c.AwaitLeader()
	}
}

// What a node ran is known to whoever may come to lead, under that job set alone.
func testManagerReboot(t *testing.T, s *Setup) {
	c := Start(t, s, 3, nil)
	leader, _ := c.AwaitLeader()
	f := election.Firing{Job: "one-shot"}
	c.eventually("the one-shot is given", func() error {
		if v := leader.Manager.Claim(t.Context(), []election.Firing{f})[0]; v.Outcome != election.Granted {
			return errors.New(v.Reason)
		}
		return nil
	})
	follower := c.others(leader)[0]
	if err := follower.Manager.MarkRebootRan(t.Context(), "preferred"); err != nil {
		t.Fatal(err)
	}
	c.eventually("the followers know what ran", func() error {
		for _, n := range c.others(leader) {
			for _, job := range []string{"one-shot", "preferred"} {
				if !n.Manager.RebootRan(job) {
					return fmt.Errorf("%s does not know that %s ran", n.NodeName, job)
				}
			}
		}
		return nil
	})
	leader.Stop(t)
	next, _ := c.AwaitLeader()
	if !next.Manager.RebootRan("one-shot") || !next.Manager.RebootRan("preferred") {
		t.Errorf("%s leads and does not know what ran", next.NodeName)
	}
	var v election.Verdict
	c.eventually("the next leader's claim is settled", func() error {
		if v = next.Manager.Claim(t.Context(), []election.Firing{f})[0]; v.Outcome == election.Pending {
			return errors.New(v.Reason)
		}
		return nil
	})
	if v.Outcome != election.Denied {
		t.Errorf("the next leader's claim: %+v", v)
	}
	next.Manager.SetJobSet("v1:another")
	if next.Manager.RebootRan("one-shot") {
		t.Error("it is said to have run under a job set that is new")
	}
}

// A job that must not overlap runs on a node that has given up leadership: the next leader
// is told, until the run has ended.
func testRunsElsewhere(t *testing.T, s *Setup) {
	running := make([]guard, 3)
	c := Start(t, s, 3, func(i int, cfg *lease.Config) {
		cfg.NeedRunning = func(job string) bool { return job == "guarded" }
		cfg.Guarded = running[i].jobs
	})
	claim := func(n *Node) (v election.Verdict) {
		t.Helper()
		c.eventually(n.NodeName+" claims the guarded job", func() error {
			f := election.Firing{Job: "guarded", At: time.Now().UTC().Truncate(time.Second)}
			if v = n.Manager.Claim(t.Context(), []election.Firing{f})[0]; v.Outcome != election.Granted {
				return errors.New(v.Reason)
			}
			return nil
		})
		return v
	}
	leader, _ := c.AwaitLeader()
	if v := claim(leader); v.RunningOn != "" {
		t.Errorf("the first run is told to be on %s", v.RunningOn)
	}
	for i, n := range c.Nodes {
		if n == leader {
			running[i].set("guarded")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	leader.stopped.Store(true) // it takes no part any more
	if err := leader.Manager.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	next, _ := c.AwaitLeader()
	if v := claim(next); v.RunningOn != leader.NodeName {
		t.Errorf("the next leader is told that it runs on %q, want %s", v.RunningOn, leader.NodeName)
	}
	for i := range running {
		running[i].set()
	}
	leader.Stop(t)
	c.eventually("the run has ended", func() error {
		if v := claim(next); v.RunningOn != "" {
			return fmt.Errorf("it is told to be on %s", v.RunningOn)
		}
		return nil
	})
}
