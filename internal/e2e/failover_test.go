package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// The next node takes over from a leader that dies, and gives way when it is back.
func TestKilledLeader(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	a, b, third := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)

	a.Kill()
	c.AwaitAgreement("yacron-b")
	for _, n := range []*testcluster.Node{b, third} {
		testcluster.Eventually(t, "the dead peer's row", n.SeesPeer(a, "unreachable"))
	}
	testcluster.Eventually(t, "the next leader's runs", testcluster.All(
		c.Journal.RanOn(leaderJob, "yacron-b", testcluster.NextSecond()),
		c.Journal.RanOn(preferJob, "yacron-b", testcluster.NextSecond()),
	))

	a.Start()
	c.AwaitAgreement("yacron-a")
	testcluster.Eventually(t, "the old leader's runs", c.Journal.RanOn(leaderJob, "yacron-a", testcluster.NextSecond()))
	mustNotDouble(t, c, leaderJob)
}

// A leader that is told to stop hands over at once, lets its job end and then exits.
// Nothing is doubled and, since nothing broke, nothing is lost.
func TestStoppedLeaderHandsOver(t *testing.T) {
	t.Parallel()
	var release string // the long job runs until this file exists
	c := testcluster.New(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		release = filepath.Join(filepath.Dir(string(j)), "release")
		return append(ticks(j), testcluster.Job{
			Name: "long", Policy: "Leader", More: "concurrencyPolicy: Forbid",
			Command: j.Write() + fmt.Sprintf("; while [ -e %s ] && [ ! -e %s ]; do sleep 0.1; done; echo done >> %s.done", j, release, release),
		})
	}})
	a, b := c.Nodes[0], c.Nodes[1]
	c.Start()
	c.AwaitAgreement("yacron-a")
	testcluster.Eventually(t, "the long job", c.Journal.RanOn("long", "yacron-a", time.Time{}))
	awaitLeaderRun(t, c)
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "some firings before", ranEach(c, leaderJob, from, 3, 1))

	a.Signal(syscall.SIGTERM)
	for _, n := range c.Nodes[1:] {
		testcluster.Eventually(t, "the next leader", leaderIs(n, "yacron-b"))
	}
	testcluster.Eventually(t, "the next leader's runs", c.Journal.RanOn(leaderJob, "yacron-b", testcluster.NextSecond()))
	if !a.Running() {
		t.Error("yacron-a has ended before its job")
	}
	if _, err := os.Stat(release + ".done"); err == nil {
		t.Error("the long job has ended before it was let go")
	}
	long := c.Entries().Of("long")
	if len(long.On(b.NodeName)) > 0 {
		t.Errorf("a second copy of a Forbid job was started while the first one ran: %v", long)
	}

	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.AwaitExit()
	ended, err := os.ReadFile(release + ".done")
	if err != nil || !strings.HasPrefix(string(ended), "done\n") {
		t.Errorf("the long job did not end in peace: %q, %v", ended, err)
	}
	until := testcluster.NextSecond()
	testcluster.Eventually(t, "a firing after the exit", c.Journal.RanOn(leaderJob, "yacron-b", until))
	// Jobs run side by side: one that was started before another may write after it.
	testcluster.Eventually(t, "each firing over the hand-over", func() error {
		return each(c, leaderJob, from, until, 1)
	})
	mustNotDouble(t, c, leaderJob)
	mustNotDouble(t, c, "long")
}

// Without a majority no Leader job runs, the others do; with one it is quorate again.
func TestMinority(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	last := c.Nodes[2]
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)

	c.Nodes[0].Stop()
	c.Nodes[1].Stop()
	testcluster.Eventually(t, "the end of quorum", isQuorate(last, false))
	mustStandDown(t, c, last)
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "PreferLeader jobs", c.Journal.RanOn(preferJob, last.NodeName, from))
	if out, _, code := last.Command("leader"); code != 2 {
		t.Errorf("leader exits with %d without quorum, want 2: %s", code, out)
	}

	c.Nodes[1].Start()
	testcluster.Eventually(t, "quorum", testcluster.All(isQuorate(last, true), isQuorate(c.Nodes[1], true)))
	c.AwaitAgreement("yacron-b")
	testcluster.Eventually(t, "Leader jobs", c.Journal.RanOn(leaderJob, "yacron-b", testcluster.NextSecond()))
	mustNotDouble(t, c, leaderJob)
}

// leaderIs returns the condition that the node sees that leader.
func leaderIs(n *testcluster.Node, leader string) func() error {
	return func() error {
		v, err := n.Cluster()
		if err != nil {
			return err
		}
		return testcluster.Expect(n.NodeName+": leader", string(v.Leader), leader)
	}
}

// isQuorate returns the condition that the node sees a quorum, or that it sees none.
func isQuorate(n *testcluster.Node, want bool) func() error {
	return func() error {
		v, err := n.Cluster()
		if err != nil {
			return err
		}
		return testcluster.Expect(n.NodeName+": quorate", v.Quorate, want)
	}
}
