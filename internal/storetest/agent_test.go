package storetest

import (
	"fmt"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// A leader is told to stop, killed, or frozen for longer than its lease lasts. Each time
// another node leads, and nothing runs twice, not even when the frozen one goes on in the
// belief that it leads.
func TestLeaderGoes(t *testing.T) {
	for name, change := range map[string]struct{ away, back func(*testcluster.Node) }{
		"stopped": {(*testcluster.Node).Stop, (*testcluster.Node).Start},
		"killed":  {(*testcluster.Node).Kill, (*testcluster.Node).Start},
		"frozen":  {(*testcluster.Node).Pause, (*testcluster.Node).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, false, func(t *testing.T, build maker) {
				w := build(t, steady, ticks)
				w.Start()
				for range 2 {
					leader := w.awaitLeader(t, w.Nodes...)
					w.awaitRuns(t, leaderJob, leader)
					change.away(leader)
					next := w.awaitLeader(t, w.others(leader)...)
					w.awaitRuns(t, leaderJob, next)
					change.back(leader)
					if now := w.awaitLeader(t, w.Nodes...); now != next {
						t.Errorf("%s leads, not %s any more", now.NodeName, next.NodeName)
					}
				}
				w.check(t)
			})
		})
	}
}

// The way between the leader and the store is cut. It hands its Leader jobs to another
// node and goes on with PreferLeader jobs.
func TestLeaderCutOff(t *testing.T) {
	onEach(t, false, func(t *testing.T, build maker) {
		w := build(t, fastest, ticks)
		w.Start()
		leader := w.awaitLeader(t, w.Nodes...)
		w.awaitRuns(t, leaderJob, leader)
		for _, link := range w.links[leader.NodeName] {
			link.Block()
		}
		next := w.awaitLeader(t, w.others(leader)...)
		w.awaitRuns(t, leaderJob, next)
		w.awaitRuns(t, preferJob, leader, next)
		for _, link := range w.links[leader.NodeName] {
			link.Heal()
		}
		w.awaitLeader(t, w.Nodes...)
		w.check(t)
	})
}

// The store is killed, then frozen. While it is away no Leader job runs and every node
// runs PreferLeader jobs; when it is back one node leads.
func TestStoreGoes(t *testing.T) {
	onEach(t, true, func(t *testing.T, build maker) {
		w := build(t, fastest, ticks)
		w.Start()
		for _, outage := range []struct{ begin, end func() }{{w.kill, w.start}, {w.pause, w.resume}} {
			leader := w.awaitLeader(t, w.Nodes...)
			w.awaitRuns(t, leaderJob, leader)
			outage.begin()
			for _, n := range w.Nodes {
				testcluster.Eventually(t, n.NodeName+" is without a store", func() error {
					v, err := n.Cluster()
					if err == nil && (v.IsLeader || v.Quorate) {
						err = fmt.Errorf("leads %t, quorate %t", v.IsLeader, v.Quorate)
					}
					return err
				})
			}
			w.awaitRuns(t, preferJob, w.Nodes...)
			outage.end()
			w.awaitRuns(t, leaderJob, w.awaitLeader(t, w.Nodes...))
		}
		w.check(t)
	})
}
