package e2e

import (
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Agents that all start at the same moment find each other every time.
func TestColdStart(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{})
	for range 10 {
		c.Start()
		c.AwaitAgreement("yacron-a")
		c.Kill()
	}
}

// Each policy runs its job as often as it says.
func TestPolicies(t *testing.T) {
	t.Parallel()
	const seconds = 30
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)
	from := testcluster.NextSecond()

	testcluster.EventuallyWithin(t, 2*testcluster.Patience, "half a minute of firings", testcluster.All(
		ranEach(c, leaderJob, from, seconds, 1),
		ranEach(c, preferJob, from, seconds, 1),
		ranEach(c, everyJob, from, seconds, 3),
	))
	for _, job := range []string{leaderJob, preferJob} {
		for _, e := range c.Entries().Of(job).Between(from, testcluster.NextSecond()) {
			if e.Node != "yacron-a" {
				t.Errorf("%s ran on %s, not on the leader: %v", job, e.Node, e)
			}
		}
	}
	mustNotDouble(t, c, leaderJob)
}

// With distribution spread each job has its own owner.
func TestSpread(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks, Distribution: "spread"})
	c.Start()
	c.AwaitAgreement("") // spread has no leader
	owners := map[string]string{leaderJob: "yacron-c", preferJob: "yacron-b"}
	for job, owner := range owners {
		for _, n := range c.Nodes {
			testcluster.Eventually(t, "owner of "+job, func() error {
				j, err := n.Job(job)
				if err != nil {
					return err
				}
				got := ""
				if j.ClusterOwner != nil {
					got = string(*j.ClusterOwner)
				}
				return testcluster.Expect(n.NodeName+": owner", got, owner)
			})
		}
	}

	const seconds = 5
	awaitLeaderRun(t, c)
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "firings on the owners", testcluster.All(
		ranEach(c, leaderJob, from, seconds, 1),
		ranEach(c, preferJob, from, seconds, 1),
		ranEach(c, everyJob, from, seconds, 3),
	))
	for job, owner := range owners {
		for _, e := range c.Entries().Of(job).Between(from, testcluster.NextSecond()) {
			if e.Node != owner {
				t.Errorf("%s ran on %s, its owner is %s", job, e.Node, owner)
			}
		}
	}
	mustNotDouble(t, c, leaderJob)
}

// Without election a cluster only observes: every node runs every job.
func TestElectionOff(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks, NoElection: true})
	c.Start()
	for _, n := range c.Nodes {
		for _, other := range c.Nodes {
			if other != n {
				testcluster.Eventually(t, "agreement", n.SeesPeer(other, "agreed"))
			}
		}
	}
	const seconds = 5
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "firings on every node", testcluster.All(
		ranEach(c, leaderJob, from, seconds, 3),
		ranEach(c, preferJob, from, seconds, 3),
		ranEach(c, everyJob, from, seconds, 3),
	))
}
