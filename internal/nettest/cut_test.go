package nettest

import (
	"fmt"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// A leader that is cut off stops running Leader jobs, the majority goes on without it,
// and when the cut is mended there is one leader again. Nothing runs twice, and what did
// not run is on record.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprintf("nodes=%d", size), func(t *testing.T) {
			t.Parallel()
			c := start(t, testcluster.Options{Names: netcluster.Names(size)})
			old, next := c.Nodes[0], c.Nodes[1]
			w := c.Watch(leaderJob)
			defer w.Stop()
			from := nextSecond()
			for range 3 {
				cut := time.Now()
				c.Net.Isolate(old.NodeName)
				testcluster.Eventually(t, "the new leader", leads(next, true))
				took := time.Since(cut)
				testcluster.Eventually(t, "the old leader's end", leads(old, false))
				t.Logf("a new leader after %v, the old one stood down after %v", took, time.Since(cut))
				testcluster.Eventually(t, "the new leader's runs", ranOn(c, leaderJob, next.NodeName, nextSecond()))
				down := nextSecond()
				testcluster.Eventually(t, "the cut-off node's other jobs", ranOn(c, everyJob, old.NodeName, down.Add(5*time.Second)))
				if ran := c.Entries().Of(leaderJob).On(old.NodeName).Between(down, time.Now()); len(ran) > 0 {
					t.Errorf("Leader jobs ran on a node that was cut off: %v", ran)
				}
				c.Net.Heal()
				c.AwaitAgreement(old.NodeName)
				testcluster.Eventually(t, "one leader", func() error {
					return testcluster.Expect("leaders", fmt.Sprint(leaders(c)), fmt.Sprint([]string{old.NodeName}))
				})
				testcluster.Eventually(t, "its runs", ranOn(c, leaderJob, old.NodeName, nextSecond()))
			}
			mustBalance(t, w, from)
		})
	}
}
