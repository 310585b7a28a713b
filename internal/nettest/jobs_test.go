package nettest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// The jobs of most tests: each fires every second.
const (
	leaderJob = "tick-leader"
	everyJob  = "tick-every-node"
)

// startingDeadline of the Leader job: after it, a firing that did not run is lost.
const startingDeadline = 10 * time.Second

func ticks(j testcluster.Journal) []testcluster.Job {
	return []testcluster.Job{
		{Name: leaderJob, Policy: "Leader", Command: j.Write(),
			More: fmt.Sprintf("startingDeadline: %d\n", int(startingDeadline.Seconds()))},
		{Name: everyJob, Policy: "EveryNode", Command: j.Write()},
	}
}

// start starts all agents of a new cluster and waits until they agree and the leader has
// run a Leader job.
func start(t testing.TB, o testcluster.Options) *netcluster.Cluster {
	t.Helper()
	if o.Jobs == nil {
		o.Jobs = ticks
	}
	c := netcluster.NewCluster(t, o)
	c.Start()
	c.AwaitAgreement(c.Nodes[0].NodeName)
	testcluster.Eventually(t, "the first Leader firing", c.Journal.RanOn(leaderJob, c.Nodes[0].NodeName, testcluster.NextSecond()))
	return c
}

// leads returns the condition that the node takes itself for the leader, or does not.
func leads(n *testcluster.Node, want bool) func() error {
	return func() error {
		v, err := n.Cluster()
		if err != nil {
			return err
		}
		return testcluster.Expect(n.NodeName+" leads", v.IsLeader, want)
	}
}

// leaders returns the nodes that take themselves for the leader, of those that answer.
func leaders(c *netcluster.Cluster) []string {
	var names []string
	for _, n := range c.Running() {
		if leads(n, true)() == nil {
			names = append(names, n.NodeName)
		}
	}
	return names
}

// logs returns the condition that the node has logged a line with all these texts.
func logs(n *testcluster.Node, texts ...string) func() error {
	return func() error {
	lines:
		for line := range strings.Lines(n.Log()) {
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue lines
				}
			}
			return nil
		}
		return fmt.Errorf("%s has not logged %q", n.NodeName, texts)
	}
}

// mustBalance lets all firings up to now be settled and fails the test if one ran twice
// or is lost without an explanation.
func mustBalance(t testing.TB, w *netcluster.Watch, from time.Time) netcluster.Balance {
	t.Helper()
	b := balance(t, w, from)
	if lost := b.Unexplained(); len(lost) > 0 {
		t.Errorf("%d firings are lost and nothing explains it: %v", len(lost), lost)
	}
	return b
}

// balance lets all firings up to now be settled and fails the test if one ran twice.
func balance(t testing.TB, w *netcluster.Watch, from time.Time) netcluster.Balance {
	t.Helper()
	to := time.Now().Truncate(time.Second)
	settled := to.Add(startingDeadline + 2*time.Second)
	testcluster.Eventually(t, "the end of all starting deadlines", func() error { return hasPassed(settled) })
	a, err := w.Account(from, to, time.Second, startingDeadline)
	if err != nil {
		t.Fatal(err)
	}
	b := a.Balance()
	t.Logf("%s", &b)
	if len(b.Doubled) > 0 {
		t.Errorf("firings ran more than once: %v", b.Doubled)
	}
	if len(b.Outvoted) > 0 {
		t.Errorf("firings have more than one majority: %v", b.Outvoted)
	}
	if b.Ran == 0 {
		t.Error("no firing ran at all")
	}
	return b
}
