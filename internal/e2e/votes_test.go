package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// fence is how long after its start an agent without durable votes grants nothing that
// was scheduled before.
const fence = 2 * time.Second

// A firing does not run a second time because those who granted it are started again
// and then asked by another node: with votes on disk they say that it was granted, and
// without they don't vote on what they can't know.
func TestRestartedVoters(t *testing.T) {
	t.Parallel()
	t.Run("durable", func(t *testing.T) {
		t.Parallel()
		testRestartedVoters(t, true, "had given their vote to another process", "denied", "holds it")
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		testRestartedVoters(t, false, "had started too recently", "missed", "had started too recently")
	})
}

// testRestartedVoters expects refusals that say the first text while one of the
// restarted agents is asked, and in the end that outcome and the second text with both.
func testRestartedVoters(t *testing.T, durable bool, one, end, both string) {
	const every = 5 * time.Second
	c := testcluster.New(t, testcluster.Options{Durable: durable, Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{{Name: leaderJob, Policy: "Leader", Schedule: "*/5 * * * * * *", Command: j.Write()}}
	}})
	claimant, asking, voter := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	c.Start()
	c.AwaitAgreement(claimant.NodeName)
	awaitLeaderRun(t, c)

	// The one that asks later is frozen over the instant, so that it has no vote in it.
	var firing time.Time
	testcluster.Eventually(t, "the seconds before a firing", func() error {
		firing = time.Now().Truncate(every).Add(every)
		if left := time.Until(firing); left > 2*time.Second || left < time.Second/2 {
			return fmt.Errorf("%v to go", left)
		}
		asking.Pause()
		if late := time.Since(firing); late > 0 {
			asking.Resume()
			return fmt.Errorf("%v too late", late)
		}
		return nil
	})
	testcluster.Eventually(t, "the firing", c.Journal.RanOn(leaderJob, claimant.NodeName, firing))
	claimant.Kill()
	voter.Kill()
	voter.Start()
	asking.Resume()
	refused := func(outcome, reason string) func() error {
		return func() error {
			d, err := decision(asking, leaderJob, firing)
			if err == nil && (d.Outcome != outcome || !strings.Contains(d.Reason, reason)) {
				err = fmt.Errorf("%s decided %+v, want %s with %q", asking.NodeName, d, outcome, reason)
			}
			return err
		}
	}
	testcluster.Eventually(t, "the refusal of a restarted voter", refused("pending", one))
	claimant.Start()
	testcluster.Eventually(t, "the refusal of both", refused(end, both))

	testcluster.Eventually(t, "later firings", c.Journal.RanOn(leaderJob, claimant.NodeName, firing.Add(every)))
	if ran := c.Entries().Of(leaderJob).Between(firing, firing); len(ran) != 1 {
		t.Errorf("the firing ran %d times, want once: %v", len(ran), ran)
	}
	mustNotDouble(t, c, leaderJob)
}

// decision returns the newest that a node made of a firing.
func decision(n *testcluster.Node, job string, firing time.Time) (api.Decision, error) {
	why, err := n.Why(job)
	if err != nil {
		return api.Decision{}, err
	}
	for _, d := range slices.Backward(why.Decisions) {
		if !d.First.After(firing) && !d.Firing.Before(firing) {
			return d, nil
		}
	}
	return api.Decision{}, fmt.Errorf("%s has decided nothing about %s: %+v", n.NodeName, firing.Format(time.TimeOnly), why.Decisions)
}

// A leader without whose vote there is no majority is killed and started again at once.
// With its votes on disk it votes on what is due right after its start, and without it
// does not.
func TestRestartedLeader(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			t.Parallel()
			c := testcluster.New(t, testcluster.Options{Jobs: ticks, Durable: durable})
			leader := c.Nodes[0]
			c.Start()
			c.AwaitAgreement(leader.NodeName)
			awaitLeaderRun(t, c)
			c.Nodes[2].Stop()

			// An agent that takes longer than usual to be back may have no firing to
			// vote on while it would be fenced.
			fenced := 0
			for round := 0; fenced < 2; round++ {
				if round == 20 {
					t.Fatal("no firing was due soon enough after a restart")
				}
				testcluster.Eventually(t, "a firing", c.Journal.RanOn(leaderJob, leader.NodeName, testcluster.NextSecond()))
				leader.Kill()
				started := time.Now()
				leader.Start()
				c.AwaitAgreement(leader.NodeName)
				from, to := testcluster.NextSecond(), started.Add(fence)
				want := 0
				if durable {
					want = 1
				}
				testcluster.Eventually(t, "firings after the restart", testcluster.All(
					c.Journal.RanOn(leaderJob, leader.NodeName, to.Add(time.Second)),
					func() error { return c.Entries().Of(leaderJob).Each(from, to, want, nil) },
				))
				fenced += len(c.Entries().Times(from, to, time.Second))
			}
			mustNotDouble(t, c, leaderJob)
		})
	}
}

// A single node keeps its votes too: killed and started again, it goes on where it was.
func TestRestartedSingleNode(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Names: []string{"yacron-a"}, Jobs: ticks, Durable: true})
	a := c.Nodes[0]
	a.Alone = false
	a.WriteConfig()
	c.Start()
	for range 3 {
		c.AwaitAgreement(a.NodeName)
		awaitLeaderRun(t, c)
		a.Kill()
		a.Start()
	}
	c.AwaitAgreement(a.NodeName)
	awaitLeaderRun(t, c)
	mustNotDouble(t, c, leaderJob)
}

// An agent whose votes can't be read, or are another node's, does not start, and leaves
// them alone; nor does one whose votes another agent uses.
func TestVotesKeepTheAgentFromStarting(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Durable: true})
	a, b := c.Nodes[0], c.Nodes[1]
	file := filepath.Join(a.DataDir, "votes.db")
	c.Start()
	c.AwaitAgreement(a.NodeName)
	a.Stop()
	refuses := func(n *testcluster.Node, text string) {
		t.Helper()
		n.Start()
		n.Await()
		if log := n.Log(); n.ExitCode() == 0 || !strings.Contains(log, text) || !strings.Contains(log, "votes.db") {
			t.Errorf("exit code %d; the log does not say %q:\n%s", n.ExitCode(), text, log)
		}
	}

	// The history of a running agent is locked as well, so only its votes are borrowed.
	if err := os.Rename(file, file+".own"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(b.DataDir, "votes.db"), file); err != nil {
		t.Fatal(err)
	}
	refuses(a, "in use by another process")
	b.Stop()
	refuses(a, `it belongs to "yacron-b", not to "yacron-a"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	damaged := []byte("no votes")
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(a, "move the file away")
	if now, err := os.ReadFile(file); err != nil || string(now) != string(damaged) {
		t.Errorf("the file was changed: %v", err)
	}
	if err := os.Rename(file+".own", file); err != nil {
		t.Fatal(err)
	}
	a.Start()
	b.Start()
	c.AwaitAgreement(a.NodeName)
}
