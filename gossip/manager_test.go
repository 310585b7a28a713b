package gossip

import (
	"context"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Three nodes started at the same moment agree; when the leader dies, the next takes
// over, and no firing is granted twice.
func TestThreeNodes(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h)
	}
	began := time.Now()
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	t.Logf("agreed after %v", time.Since(began))

	began = time.Now()
	c.nodes["a"].kill()
	c.settled(2, "b", "b", "c")
	t.Logf("new leader after %v", time.Since(began))
	for _, h := range []string{"b", "c"} {
		c.nodes[h].sees("a", election.StatusUnreachable)
	}

	// After the fence that every voter puts up at its start.
	at := time.Now().Add(4 * time.Second).Truncate(time.Second)
	firing := []election.Firing{{Job: "job", At: at}}
	var granted []string
	for _, h := range []string{"b", "c"} {
		wait(t, "the claim is decided", func() bool {
			v := c.nodes[h].Claim(context.Background(), firing)[0]
			if v.Outcome == election.Granted {
				granted = append(granted, h)
			}
			return v.Outcome != election.Pending
		})
	}
	if len(granted) != 1 {
		t.Fatalf("granted to %v, want one of b and c", granted)
	}
}
