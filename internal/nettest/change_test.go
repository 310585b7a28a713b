package nettest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// A leader that is told to stop while its job runs lets it end, or cuts it short where
// that is configured, and says so; the next leader starts no second copy of a job that
// must not overlap, although it leads at once.
func TestHandOverDuringARun(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{false, true} {
		t.Run(fmt.Sprintf("shutdownTimeout=%t", limited), func(t *testing.T) {
			t.Parallel()
			var release string // the long job runs until this file exists
			c := start(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
				release = filepath.Join(filepath.Dir(string(j)), "release")
				jobs := ticks(j)
				return append(jobs, testcluster.Job{
					Name: "long", Policy: "Leader", More: "concurrencyPolicy: Forbid",
					Command: j.Write() + fmt.Sprintf("; while [ -e %s ] && [ ! -e %s ]; do sleep 0.1; done; echo done >> %s.done", j, release, release),
				})
			}})
			leader, next := c.Nodes[0], c.Nodes[1]
			w := c.Watch(leaderJob)
			defer w.Stop()
			if limited {
				leader.WriteFile("limit.yaml", "shutdownTimeout: 3\n")
				leader.Reload()
				testcluster.Eventually(t, "the reload", logs(leader, "configuration loaded"))
			}
			testcluster.Eventually(t, "the long job", c.Journal.RanOn("long", leader.NodeName, time.Time{}))
			from := testcluster.NextSecond()

			w.Terminate(leader)
			testcluster.Eventually(t, "the next leader", leads(next, true))
			testcluster.Eventually(t, "its runs", c.Journal.RanOn(leaderJob, next.NodeName, testcluster.NextSecond()))
			if !limited {
				testcluster.Eventually(t, "some seconds", func() error { return hasPassed(from.Add(6 * time.Second)) })
				if !leader.Running() {
					t.Error("the agent has ended before its job")
				}
				if err := os.WriteFile(release, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			leader.AwaitExit() // with exit code 0
			long := c.Entries().Of("long")
			ended, err := os.ReadFile(release + ".done")
			if cut := err != nil || len(ended) == 0; cut != limited {
				t.Errorf("the job was cut short: %t, want %t", cut, limited)
			}
			if limited {
				testcluster.Eventually(t, "what was cut short, in the log", logs(leader, "running jobs are cancelled"))
				testcluster.Eventually(t, "the job that was", logs(leader, "job=long", "cancelled"))
			}
			overlap := long[:0:0]
			for _, e := range long {
				if e.Node != leader.NodeName && e.Firing.Before(from.Add(2*time.Second)) {
					overlap = append(overlap, e)
				}
			}
			if len(overlap) > 0 {
				t.Errorf("a second copy was started while the first one ran: %v", overlap)
			}
			if err := os.WriteFile(release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			w.Start(leader)
			mustLeadAgain(t, c)
			b := mustBalance(t, w, from)
			if len(b.Lost) > 0 {
				t.Errorf("a hand-over in peace has lost firings: %v", b.Lost)
			}
		})
	}
}

// Nodes get other jobs one by one. What both sets have never runs twice and goes on as
// long as a majority has one of them; that sets differ is shown as drift and not as
// death; what is new begins when the majority has it.
func TestRollingChange(t *testing.T) {
	t.Parallel()
	var added testcluster.Job
	c := start(t, testcluster.Options{Interval: 1, DriftAfter: 2, Jobs: func(j testcluster.Journal) []testcluster.Job {
		added = testcluster.Job{Name: "added", Policy: "Leader", Command: j.Write()}
		return ticks(j)
	}})
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	for i, n := range c.Nodes {
		n.WriteJobs(append(ticks(c.Journal), added)...)
		n.Reload()
		switch i {
		case 0: // alone: the other two go on without it
			testcluster.Eventually(t, "drift", testcluster.All(
				c.Nodes[1].SeesPeer(n, "drifted"), n.SeesPeer(c.Nodes[1], "drifted"), leads(c.Nodes[1], true)))
			testcluster.Eventually(t, "what both have", c.Journal.RanOn(leaderJob, c.Nodes[1].NodeName, testcluster.NextSecond()))
			mustStandDown(t, c, n, 3)
			if ran := c.Entries().Of(added.Name); len(ran) > 0 {
				t.Errorf("the new job ran before a majority had it: %v", ran)
			}
		case 1: // the majority
			testcluster.Eventually(t, "a leader of the new set", testcluster.All(leads(c.Nodes[0], true), leads(c.Nodes[2], false)))
			testcluster.Eventually(t, "both jobs", testcluster.All(
				c.Journal.RanOn(leaderJob, c.Nodes[0].NodeName, testcluster.NextSecond()), c.Journal.RanOn(added.Name, c.Nodes[0].NodeName, testcluster.NextSecond())))
		}
	}
	mustLeadAgain(t, c)
	mustBalance(t, w, from)
	if doubled := c.Entries().Of(added.Name).Duplicates(); len(doubled) > 0 {
		t.Errorf("firings of the new job ran more than once: %v", doubled)
	}
	for _, n := range c.Nodes {
		if strings.Contains(n.Log(), "unreachable before=agreed") {
			t.Errorf("%s took a node for dead that only had other jobs", n.NodeName)
		}
	}
}
