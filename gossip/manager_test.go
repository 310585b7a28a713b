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
	b, other := c.nodes["b"], c.nodes["c"]
	wait(t, "b is granted the firing", func() bool {
		return b.Claim(context.Background(), firing)[0].Outcome == election.Granted
	})
	if v := other.Claim(context.Background(), firing)[0]; v.Outcome == election.Granted {
		t.Fatalf("granted to c too: %+v", v)
	}
	if v := b.Claim(context.Background(), firing)[0]; v.Outcome != election.Granted {
		t.Fatalf("a repeated claim of the holder: %+v", v)
	}
}
