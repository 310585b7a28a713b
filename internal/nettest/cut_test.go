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
			from := testcluster.NextSecond()
			for range 3 {
				took, down := cutOff(t, c)
				t.Logf("a new leader after %v, the old one stood down after %v", took, down)
				testcluster.Eventually(t, "the new leader's runs", c.Journal.RanOn(leaderJob, next.NodeName, testcluster.NextSecond()))
				mustStandDown(t, c, old, 5)
				c.Net.Heal()
				mustLeadAgain(t, c)
			}
			mustBalance(t, w, from)
		})
	}
}

// cutOff cuts the leader off, and returns after what time the next one led and the old
// one did not any more.
func cutOff(t testing.TB, c *netcluster.Cluster) (took, down time.Duration) {
	t.Helper()
	cut := time.Now()
	c.Net.Isolate(c.Nodes[0].NodeName)
	for took == 0 || down == 0 {
		testcluster.Measure(t, "the new leader, and the end of the old one", func() error {
			if took == 0 && leads(c.Nodes[1], true)() == nil {
				took = time.Since(cut)
				return nil
			}
			if down == 0 && leads(c.Nodes[0], false)() == nil {
				down = time.Since(cut)
				return nil
			}
			return fmt.Errorf("a new leader after %v, the old one's end after %v", took, down)
		})
	}
	return took, down
}

// mustStandDown fails the test if one of the node's Leader jobs runs in the seconds that
// its other jobs go on for.
func mustStandDown(t testing.TB, c *netcluster.Cluster, n *testcluster.Node, seconds int) {
	t.Helper()
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "the node's other jobs", c.Journal.RanOn(everyJob, n.NodeName, from.Add(time.Duration(seconds)*time.Second)))
	if ran := c.Entries().Of(leaderJob).On(n.NodeName).Between(from, time.Now()); len(ran) > 0 {
		t.Errorf("Leader jobs ran on %s, which may not run them: %v", n.NodeName, ran)
	}
}

// mustLeadAgain waits until all agree that the first node leads, and it does.
func mustLeadAgain(t testing.TB, c *netcluster.Cluster) {
	t.Helper()
	first := c.Nodes[0].NodeName
	c.AwaitAgreement(first)
	testcluster.Eventually(t, "its runs", c.Journal.RanOn(leaderJob, first, testcluster.NextSecond()))
	if all := leaders(c); len(all) != 1 || all[0] != first {
		t.Errorf("leaders are %v, want %s alone", all, first)
	}
}

// Packets that pass in one direction only, or not between two of the nodes: whatever
// each node then believes, no firing runs twice, most run, and what does not is on record.
func TestHalfCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		cut  func(c *netcluster.Cluster, n *netcluster.Net)
	}{
		{"leader hears nobody", func(c *netcluster.Cluster, n *netcluster.Net) {
			for _, other := range c.Nodes[1:] {
				n.CutOneWay(other.NodeName, c.Nodes[0].NodeName)
			}
		}},
		{"nobody hears the leader", func(c *netcluster.Cluster, n *netcluster.Net) {
			for _, other := range c.Nodes[1:] {
				n.CutOneWay(c.Nodes[0].NodeName, other.NodeName)
			}
		}},
		{"leader does not hear the next one", func(c *netcluster.Cluster, n *netcluster.Net) {
			n.CutOneWay(c.Nodes[1].NodeName, c.Nodes[0].NodeName)
		}},
		{"leader and the next one meet only through a third", func(c *netcluster.Cluster, n *netcluster.Net) {
			n.Cut(c.Nodes[0].NodeName, c.Nodes[1].NodeName)
		}},
		{"two pairs that meet only through a fifth", func(c *netcluster.Cluster, n *netcluster.Net) {
			for _, a := range c.Nodes[:2] {
				for _, b := range c.Nodes[2:4] {
					n.Cut(a.NodeName, b.NodeName)
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, testcluster.Options{Names: netcluster.Names(5)})
			w := c.Watch(leaderJob)
			defer w.Stop()
			from := testcluster.NextSecond()
			test.cut(c, c.Net)
			testcluster.Eventually(t, "half a minute of firings", func() error {
				return hasPassed(from.Add(25 * time.Second))
			})
			testcluster.Eventually(t, "Leader firings that go on", func() error {
				if len(c.Entries().Of(leaderJob).Between(time.Now().Add(-5*time.Second), time.Now())) == 0 {
					return fmt.Errorf("none in 5 s; leaders are %v", leaders(c))
				}
				return nil
			})
			c.Net.Heal()
			mustLeadAgain(t, c)
			mustBalance(t, w, from)
		})
	}
}

// hasPassed returns an error until an instant has passed.
func hasPassed(at time.Time) error {
	if left := time.Until(at); left > 0 {
		return fmt.Errorf("%v to go", left)
	}
	return nil
}

// A leader that is frozen for ten seconds and wakes up in the belief that it leads runs
// nothing that others ran meanwhile.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	leader, next := c.Nodes[0], c.Nodes[1]
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	for range 2 {
		thaw := time.Now().Add(10 * time.Second)
		w.Freeze(leader)
		t.Logf("a new leader after %v", testcluster.Measure(t, "the next leader", leads(next, true)))
		testcluster.Eventually(t, "its runs", c.Journal.RanOn(leaderJob, next.NodeName, testcluster.NextSecond()))
		testcluster.Eventually(t, "ten seconds", func() error { return hasPassed(thaw) })
		w.Thaw(leader)
		mustLeadAgain(t, c)
	}
	mustBalance(t, w, from)
}

// A third of all packets gets lost. Then only one thing is asked for: that nothing runs
// twice; and that all is well again when the packets are back.
func TestLostPackets(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	for _, n := range c.Nodes {
		c.Net.Lose(n.NodeName, 30)
	}
	testcluster.Eventually(t, "some time", func() error { return hasPassed(from.Add(25 * time.Second)) })
	c.Net.Heal()
	mustLeadAgain(t, c)
	balance(t, w, from)
}

// Cables as thin as a modem's slow everything down and break nothing.
func TestThinCables(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	for _, n := range c.Nodes {
		if !c.Net.Thin(n.NodeName, 64) {
			t.Skip("this kernel makes no thin cables (no tbf)")
		}
	}
	testcluster.Eventually(t, "some time", func() error { return hasPassed(from.Add(20 * time.Second)) })
	testcluster.Eventually(t, "firings over thin cables", c.Journal.RanOn(leaderJob, c.Nodes[0].NodeName, testcluster.NextSecond()))
	for _, n := range c.Nodes {
		c.Net.Widen(n.NodeName)
	}
	mustLeadAgain(t, c)
	mustBalance(t, w, from)
}

// A leader that dies right before a firing costs nothing: the next one runs it late. Nor
// does its return.
func TestLeaderKilledBeforeAFiring(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	leader, next := c.Nodes[0], c.Nodes[1]
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	for range 5 {
		testcluster.Eventually(t, "the moment before a firing", func() error {
			if left := time.Until(testcluster.NextSecond()); left > 150*time.Millisecond || left < 50*time.Millisecond {
				return fmt.Errorf("%v to go", left)
			}
			return nil
		})
		killed := time.Now()
		w.Kill(leader)
		testcluster.Measure(t, "the next leader", leads(next, true))
		t.Logf("a new leader after %v", time.Since(killed))
		testcluster.Eventually(t, "its runs", c.Journal.RanOn(leaderJob, next.NodeName, testcluster.NextSecond()))
		w.Start(leader)
		mustLeadAgain(t, c)
	}
	// If this machine was so busy that the leader was killed after the instant, what it
	// had been granted may be lost, and is then explained by that.
	mustBalance(t, w, from)
}

// A cut that lasts longer than anything remembers a member ends like a short one, and
// the many lives of an agent that crashes and crashes leave no ghosts behind.
func TestLongCutAndCrashLoop(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	last := c.Nodes[2]
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	c.Net.Isolate(last.NodeName)
	until := time.Now().Add(45 * time.Second)
	testcluster.Eventually(t, "the loss of the peer", c.Nodes[0].SeesPeer(last, "unreachable"))
	mustStandDown(t, c, last, 10)
	testcluster.EventuallyWithin(t, 2*testcluster.Patience, "the end of a long cut", func() error { return hasPassed(until) })
	c.Net.Heal()
	mustLeadAgain(t, c)

	for range 20 {
		w.Kill(last)
		w.Start(last)
		testcluster.Eventually(t, "its return", c.Nodes[0].SeesPeer(last, "agreed"))
	}
	for _, n := range c.Nodes {
		testcluster.Eventually(t, "three members and no more", n.Sees(3, 3, c.Nodes[0].NodeName))
	}
	mustBalance(t, w, from)
}

// How long it takes until a cut-off leader has stood down and another one leads.
func BenchmarkCutOff(b *testing.B) {
	for _, size := range []int{3, 5} {
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			c := start(b, testcluster.Options{Names: netcluster.Names(size)})
			var took, down time.Duration
			for b.Loop() {
				t, d := cutOff(b, c)
				took, down = took+t, down+d
				c.Net.Heal()
				mustLeadAgain(b, c)
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s-to-new-leader")
			b.ReportMetric(down.Seconds()/float64(b.N), "s-to-stand-down")
			b.ReportMetric(0, "ns/op")
		})
	}
}
