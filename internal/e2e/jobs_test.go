package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// One job of each policy; each fires every second.
const (
	leaderJob = "tick-leader-only"
	preferJob = "tick-prefer-leader"
	everyJob  = "tick-every-node"
)

func ticks(j testcluster.Journal) []testcluster.Job {
	return []testcluster.Job{
		{Name: leaderJob, Policy: "Leader", Command: j.Write()},
		{Name: preferJob, Policy: "PreferLeader", Command: j.Write()},
		{Name: everyJob, Policy: "EveryNode", Command: j.Write()},
	}
}

// awaitLeaderRun waits for a firing of the Leader job. In their first two seconds,
// agents grant no claims, since they might have granted the same firing to another
// before they were started again; so agreement alone does not yet make it run.
func awaitLeaderRun(t testing.TB, c *testcluster.Cluster) {
	t.Helper()
	from := time.Now()
	testcluster.Eventually(t, "a firing of "+leaderJob, func() error {
		entries, err := c.Journal.Read()
		if err != nil {
			return err
		}
		if len(entries.Of(leaderJob).Between(from, testcluster.NextSecond())) == 0 {
			return fmt.Errorf("none since %s", from.Format(time.TimeOnly))
		}
		return nil
	})
}

// ranEach returns the condition that the job's firings of that many seconds from one
// on are all in the journal, each n times.
func ranEach(c *testcluster.Cluster, job string, from time.Time, seconds, n int) func() error {
	return func() error { return each(c, job, from, from.Add(time.Duration(seconds-1)*time.Second), n) }
}

// each returns an error unless every firing of the job from one instant to another ran n
// times. What a running agent has on record as superseded need not have run: a busy machine
// kept the agent from all work until the next firing was due. Most must have run all the same.
func each(c *testcluster.Cluster, job string, from, to time.Time, n int) error {
	entries, err := c.Journal.Read()
	if err != nil {
		return err
	}
	superseded := map[time.Time]int{}
	most := (int(to.Sub(from)/time.Second) + 1) * n / 2
	for _, node := range c.Running() {
		runs, err := node.Client.Runs(context.Background(), job)
		if err != nil {
			return err
		}
		for _, m := range runs.Missed {
			if at := m.Firing.Time; m.Code == "superseded" && !at.Before(from) && !at.After(to) {
				superseded[at.UTC()]++
				most--
			}
		}
	}
	if most < 0 {
		return fmt.Errorf("%s: most firings were superseded: %v", job, superseded)
	}
	if err := entries.Of(job).Each(from, to, n, superseded); err != nil {
		return fmt.Errorf("%s: %w", job, err)
	}
	return nil
}

// mustNotDouble fails the test if a firing of a Leader job ran twice.
func mustNotDouble(t testing.TB, c *testcluster.Cluster, job string) {
	t.Helper()
	if doubled := c.Entries().Of(job).Duplicates(); len(doubled) > 0 {
		t.Errorf("firings of %s ran more than once: %v", job, doubled)
	}
}

// mustStandDown lets the cluster's other jobs run for some seconds from now on and
// fails the test if a firing of the Leader job from then on ran anywhere. EveryNode
// jobs of the node are the clock.
func mustStandDown(t testing.TB, c *testcluster.Cluster, node *testcluster.Node) {
	t.Helper()
	const seconds = 5
	from := testcluster.NextSecond()
	testcluster.Eventually(t, everyJob+" goes on", c.Journal.RanOn(everyJob, node.NodeName, from.Add(seconds*time.Second)))
	if ran := c.Entries().Of(leaderJob).Between(from, time.Now()); len(ran) > 0 {
		t.Errorf("%s ran although nobody may run it: %v", leaderJob, ran)
	}
}
