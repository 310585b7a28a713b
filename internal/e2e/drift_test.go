package e2e

import (
	"slices"
	"testing"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// A node with other jobs is syncing, then drifted, and agreed again once it has read
// the right files.
func TestDrift(t *testing.T) {
	t.Parallel()
	const driftAfter = 3
	c := testcluster.New(t, testcluster.Options{Jobs: ticks, Interval: 1, DriftAfter: driftAfter})
	a, other := c.Nodes[0], c.Nodes[2]
	other.WriteJobs(ticks(c.Journal)[:2]...)
	c.Start()

	var seen []api.Peer // rows of the other node, as they changed
	testcluster.Eventually(t, "drifted", func() error {
		p, err := a.Peer(other)
		if err != nil {
			return err
		}
		if len(seen) == 0 || seen[len(seen)-1].Status != p.Status || seen[len(seen)-1].MismatchStreak != p.MismatchStreak {
			seen = append(seen, p)
		}
		return testcluster.Expect("status", p.Status, api.PeerDrifted)
	})
	syncing := slices.IndexFunc(seen, func(p api.Peer) bool { return p.Status == api.PeerSyncing })
	if syncing < 0 {
		t.Errorf("the peer was never syncing: %v", seen)
	}
	for _, p := range seen {
		if p.Status == api.PeerSyncing && p.MismatchStreak >= driftAfter {
			t.Errorf("syncing with a streak of %d, want drifted", p.MismatchStreak)
		}
	}
	if last := seen[len(seen)-1]; last.MismatchStreak < driftAfter {
		t.Errorf("drifted with a streak of %d, want at least %d", last.MismatchStreak, driftAfter)
	}
	// The two that agree are a majority without it.
	testcluster.Eventually(t, "a leader of the majority", testcluster.All(leaderIs(a, "yacron-a"), isQuorate(other, false)))

	other.WriteJobs(ticks(c.Journal)...)
	other.Reload()
	c.AwaitAgreement("yacron-a")
}

// A reload with a mistake changes nothing, and says so.
func TestBrokenReload(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	a := c.Nodes[0]
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)

	a.WriteFile("jobs.yaml", "jobs:\n  - name: broken\n    scheduel: '* * * * *'\n    command: 'true'\n")
	before := len(a.Log())
	a.Reload()
	testcluster.Eventually(t, "the error in the log", testcluster.All(
		logs(a, before, "[ERROR]", "reload"), logs(a, before, "jobs.yaml:3:5", "scheduel")))
	awaitLeaderRun(t, c)
	c.AwaitAgreement("yacron-a")
	mustNotDouble(t, c, leaderJob)
}
