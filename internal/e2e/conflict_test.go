package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Two nodes with one name would both take themselves for the leader: all Leader jobs
// stand down until the twin is gone.
func TestDuplicateName(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	third := c.Nodes[2]
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)

	third.Kill()
	third.NodeName = "yacron-a"
	third.WriteConfig()
	third.Start()
	for _, n := range c.Nodes {
		testcluster.Eventually(t, "conflict", hasConflict(n, "yacron-a"))
		testcluster.Eventually(t, "an ERROR line", logs(n, 0, "[ERROR]", "yacron-a"))
	}
	testcluster.Eventually(t, "the twin's row", c.Nodes[0].SeesPeer(third, "conflict"))
	mustStandDown(t, c, c.Nodes[1])

	third.Kill()
	third.NodeName = "yacron-c"
	third.WriteConfig()
	third.Start()
	c.AwaitAgreement("yacron-a")
	for _, n := range c.Nodes {
		testcluster.Eventually(t, "the end of the conflict", hasConflict(n))
	}
	awaitLeaderRun(t, c)
	mustNotDouble(t, c, leaderJob)
}

// A process that no peer list names takes no part, whatever it is called.
func TestUnlistedTwin(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)

	members := slices.Clone(c.Nodes)
	ports := testcluster.FreePorts(t, 2)
	s := c.Nodes[0].Settings // same name, same peers
	s.Listen, s.APIPort = fmt.Sprintf("127.0.0.1:%d", ports[0]), ports[1]
	twin := c.Add("twin", s)
	twin.WriteConfig()
	twin.WriteJobs(testcluster.Job{Name: "twin-only", Policy: "Leader", Command: c.Journal.Write()})
	twin.Start()
	testcluster.Eventually(t, "what the twin sees", func() error {
		_, err := twin.Cluster()
		return err
	})
	// With the members' own jobs it would be one more candidate for their firings.
	twin.WriteJobs(ticks(c.Journal)...)
	twin.Reload()
	testcluster.Eventually(t, "the twin's members", twin.SeesPeer(members[1], "agreed"))
	testcluster.Eventually(t, "the twin without quorum", isQuorate(twin, false))
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "firings of the cluster", ranEach(c, leaderJob, from, 5, 1))
	for _, n := range members {
		testcluster.Eventually(t, "the members go on", n.Sees(3, 3, "yacron-a"))
	}
	if ran := c.Entries().Of("twin-only"); len(ran) > 0 {
		t.Errorf("the twin ran Leader jobs of its own: %v", ran)
	}
	mustNotDouble(t, c, leaderJob)
}

// hasConflict returns the condition that the node sees exactly these names doubled.
func hasConflict(n *testcluster.Node, names ...string) func() error {
	return func() error {
		v, err := n.Cluster()
		if err != nil {
			return err
		}
		if v.Conflict == (len(names) > 0) && slices.Equal(v.ConflictNames, names) {
			return nil
		}
		return fmt.Errorf("%s: conflict %v, names %q, want %q", n.NodeName, v.Conflict, v.ConflictNames, names)
	}
}

// logs returns the condition that the node has logged a line with all these words
// after the first bytes of its log.
func logs(n *testcluster.Node, after int, words ...string) func() error {
	return func() error {
		for line := range strings.Lines(n.Log()[after:]) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return nil
			}
		}
		return fmt.Errorf("%s: no log line with %q", n.NodeName, words)
	}
}
