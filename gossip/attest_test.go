package gossip

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/yacron2/yacron2/election"
)

// rarely makes scheduled rounds so rare that whatever a test sees between two of them
// must come from elsewhere.
func rarely(c *Config) { c.Interval = time.Hour }

func often(c *Config) { c.Interval = 30 * time.Millisecond }

// Nodes that start at the same moment agree on all members and on the leader, without
// a second scheduled round.
func TestColdStart(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := newTestCluster(t)
			for _, h := range []string{"a", "b", "c"} {
				c.node(h, rarely)
			}
			c.startAll()
			c.settled(3, "a", "a", "b", "c")
		})
	}
}

// Both survivors know at once that a peer has died; it comes back as another instance
// and leads again, and nothing is left of the former one.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	old := a.InstanceID()
	a.kill()
	for _, h := range []string{"b", "c"} {
		p := c.nodes[h].sees("a", election.StatusUnreachable)
		if p.InstanceID != old || p.NodeName != "a" || p.LastSeen.IsZero() || p.LastError == "" {
			t.Errorf("%s forgot who the dead peer was: %+v", h, p)
		}
		if p.Members != nil || p.MutualAgreeing != nil {
			t.Errorf("%s keeps what the dead peer told: %+v", h, p)
		}
		if n := c.nodes[h].View().Size(); n != 3 {
			t.Errorf("%s counts %d nodes after a death", h, n)
		}
	}
	a.start()
	c.settled(3, "a", "a", "b", "c")
	for _, h := range []string{"b", "c"} {
		n := c.nodes[h]
		if p := n.row("a"); p.InstanceID == old {
			t.Errorf("%s still binds the host to the dead instance", h)
		}
		wait(t, h+" buries the ghost of the dead instance", func() bool {
			names := memberNames(n)
			return !slices.Contains(names, old) && slices.Contains(names, a.InstanceID()) && len(names) == 3
		})
		if s := n.registry.route(old); s != nil {
			t.Errorf("%s still has a route to the dead instance", h)
		}
		_, err := n.transport.WriteToAddress([]byte{msgPing}, memberlist.Address{Addr: "0.0.0.0:1", Name: old})
		if err == nil || !strings.Contains(err.Error(), "write tcp") {
			t.Errorf("a packet to the dead instance: %v", err)
		}
	}
}

func memberNames(n *testNode) []string {
	var names []string
	for _, m := range n.members.Load().Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// A peer that comes up is found without waiting for the next round.
func TestLateStart(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.startAll("b", "c")
	c.settled(2, "b", "b", "c")
	c.nodes["b"].sees("a", election.StatusUnreachable)
	c.nodes["a"].start()
	c.settled(3, "a", "a", "b", "c")
}

// When b can't reach a, a still sees b as agreed, but they do not agree mutually; c
// bridges them. Packets of memberlist go back over the session that a dialled.
func TestOneWayFailure(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.wires.set("b", "a", cutRefuse)
	c.startAll()
	a, b := c.nodes["a"], c.nodes["b"]
	a.sees("b", election.StatusAgreed)
	b.sees("a", election.StatusUnreachable)
	for _, h := range []string{"a", "b"} {
		wait(t, h+" agrees with c alone and follows a over the bridge", func() bool {
			v := c.nodes[h].View()
			return slices.Equal(v.MutualAgreeing(), []string{"c"}) && v.Leader() == "a"
		})
	}
	c.settled(3, "a", "c")
	if a.registry.route(b.InstanceID()) == nil {
		t.Error("a has no way to b")
	}

	c.wires.set("b", "a", 0)
	c.settled(3, "a", "a", "b", "c")
}

// A link that swallows everything is noticed by its silence, in both directions.
func TestSilentLink(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely, func(c *Config) { c.ConnectTimeout = time.Second })
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	for _, other := range []string{"b", "c"} {
		c.wires.set("a", other, cutSilent)
		c.wires.set(other, "a", cutSilent)
	}
	began := time.Now()
	c.settled(2, "b", "b", "c")
	c.settled(1, "", "a")
	t.Logf("both sides of the partition know after %v", time.Since(began))
	p := c.nodes["a"].row("b")
	if p.Status != election.StatusUnreachable || p.LastError == "" {
		t.Errorf("the cut peer: %+v", p)
	}
	for _, other := range []string{"b", "c"} {
		c.wires.set("a", other, 0)
		c.wires.set(other, "a", 0)
	}
	c.settled(3, "a", "a", "b", "c")
}

// A peer with another job set is syncing, then drifted after driftAfter scheduled
// rounds; extra exchanges don't count. It is agreed again as soon as it has the same.
func TestDrift(t *testing.T) {
	c := newTestCluster(t)
	a, b := c.node("a", often), c.node("b", often)
	c.node("c", rarely)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")

	a.SetJobSet("v1:other", []string{"job"})
	c.nodes["c"].sees("a", election.StatusSyncing)
	b.sees("a", election.StatusDrifted)
	a.sees("b", election.StatusDrifted)
	if p := b.row("a"); p.MismatchStreak < b.config.DriftAfter || p.JobSetID != "v1:other" {
		t.Errorf("the drifted row: %+v", p)
	}
	// However much the peer has to say between the rounds of c, it only syncs there.
	for i := range 2 * b.config.DriftAfter {
		id := fmt.Sprint("v1:other-", i)
		a.SetJobSet(id, nil)
		wait(t, "c has heard", func() bool { return c.nodes["c"].row("a").JobSetID == id })
	}
	if p := c.nodes["c"].row("a"); p.Status != election.StatusSyncing || p.MismatchStreak != 0 {
		t.Errorf("extra exchanges moved the streak: %+v", p)
	}
	c.settled(2, "b", "b", "c")

	began := time.Now()
	a.SetJobSet("v1:same", []string{"job"})
	c.settled(3, "a", "a", "b", "c")
	t.Logf("agreed again after %v", time.Since(began))
	if p := b.row("a"); p.MismatchStreak != 0 {
		t.Errorf("the streak outlived the agreement: %+v", p)
	}

	a.SetJobSet("v2:same", nil)
	for _, h := range []string{"b", "c"} {
		if p := c.nodes[h].sees("a", election.StatusDrifted); p.LastError == "" {
			t.Errorf("%s does not say why another scheme can't be compared", h)
		}
	}
}

// Two processes with one node name: each sees the other as a conflict, a third sees
// both, and it is over when one goes.
func TestDuplicateName(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	twin := c.nodes["b"]
	twin.config.NodeName = "a"
	c.startAll()
	c.nodes["a"].sees("b", election.StatusConflict)
	if p := twin.sees("a", election.StatusConflict); p.LastError == "" {
		t.Error("the conflict is not explained")
	}
	for h, n := range c.nodes {
		wait(t, h+" knows the name in conflict", func() bool {
			return slices.Equal(n.View().ConflictNames(), []string{"a"})
		})
	}
	if !c.nodes["c"].View().ConflictsWith(twin.InstanceID()) {
		t.Error("c would vote for one of two namesakes")
	}
	twin.kill()
	twin.config.NodeName = "b"
	twin.start()
	c.settled(3, "a", "a", "b", "c")
	for h, n := range c.nodes {
		wait(t, h+" sees the conflict end", func() bool { return !n.View().Conflict() })
	}
}

// A node that is in its own peer list recognises itself and does not count itself.
func TestSelfListed(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", often)
	c.node("b", often)
	c.node("c", often)
	a.config.Peers = []string{"a" + testPort, "b" + testPort, "c" + testPort}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	p := a.sees("a", election.StatusSelf)
	if p.MismatchStreak != 0 || p.NodeName != "a" || p.LastError != "" {
		t.Errorf("own row: %+v", p)
	}
	if v := a.View(); v.Size() != 3 || v.ClaimSize() != 3 || v.Conflict() {
		t.Errorf("size %d, for claims %d, conflict %v", v.Size(), v.ClaimSize(), v.Conflict())
	}
	rounds := a.View().State().Rounds
	wait(t, "more rounds", func() bool { return a.View().State().Rounds > rounds+2 })
	c.wires.set("a", "a", cutRefuse)
	rounds = a.View().State().Rounds
	wait(t, "more rounds", func() bool { return a.View().State().Rounds > rounds+2 })
	if p := a.row("a"); p.Status != election.StatusSelf {
		t.Errorf("the own row is not sticky: %+v", p)
	}
}

// One process at two configured addresses counts once, and never twice in a quorum of
// claims.
func TestTwoAddressesOfOneProcess(t *testing.T) {
	c := newTestCluster(t)
	a, b := c.node("a", often), c.node("b", often)
	alias := "b2"
	b.config.CertFile, b.config.KeyFile = c.issueNames("b", "b", alias)
	b.aliases = []string{alias}
	c.wires.listens("", alias)
	a.config.Peers = []string{"b" + testPort, alias + testPort}
	c.startAll()
	for _, host := range []string{"b", alias} {
		a.sees(host, election.StatusAgreed)
	}
	wait(t, "the two addresses are known to be one process", func() bool { return a.View().Size() == 2 })
	if n := a.View().ClaimSize(); n != 3 {
		t.Errorf("claims count %d nodes, want the configured 3", n)
	}
	if n := len(a.registry.voters()); n != 1 {
		t.Errorf("%d voters behind two addresses of one process", n)
	}
	// Both rows follow when it has news.
	b.SetJobSet("v1:other", nil)
	for _, host := range []string{"b", alias} {
		wait(t, host+" follows", func() bool { return a.row(host).JobSetID == "v1:other" })
	}
}

// Peers that count another number of nodes, or elect by another rule, are in conflict.
func TestSizeAndPolicyConflict(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.nodes["b"].config.Peers = []string{"a" + testPort, "c" + testPort, "d" + testPort, "e" + testPort}
	c.nodes["c"].config.Distribution = election.Spread
	c.startAll()
	a := c.nodes["a"]
	wait(t, "both conflicts show", func() bool {
		v := a.View()
		return slices.Equal(v.ConflictingSizes(), []int{5}) && len(v.ConflictingPolicies()) == 1
	})
	if v := a.View(); !v.ConflictsWith(c.nodes["b"].InstanceID()) || !v.ConflictsWith(c.nodes["c"].InstanceID()) {
		t.Error("no conflict with the instances that cause it")
	}
}

// Under spread each job has one owner, the same for every node.
func TestSpread(t *testing.T) {
	c := newTestCluster(t)
	hosts := []string{"yacron-a", "yacron-b", "yacron-c"}
	for _, h := range hosts {
		c.node(h, rarely, func(c *Config) { c.Distribution = election.Spread })
	}
	c.startAll()
	for _, h := range hosts {
		n := c.nodes[h]
		wait(t, h+" knows the owners", func() bool {
			v := n.View()
			return v.JobOwner("tick-leader-only") == "yacron-c" && v.AvailableOwner("tick-prefer-leader") == "yacron-b"
		})
		if l := n.View().IsLeader(); l != (h == "yacron-a") {
			t.Logf("%s: raw leader %v", h, l) // the gate of spread does not use it
		}
	}
}

// Without election the peers attest each other all the same.
func TestElectLeaderOff(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b"} {
		c.node(h, rarely, func(c *Config) { c.ElectLeader = false })
	}
	c.startAll()
	c.nodes["a"].sees("b", election.StatusAgreed)
	c.nodes["b"].sees("a", election.StatusAgreed)
	if c.nodes["a"].View().ElectLeader() {
		t.Error("election is on")
	}
}

// A stopping leader hands over at once, and still attests and votes until it leaves.
func TestHandOver(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	for h, n := range c.nodes {
		wait(t, h+" knows that the others have a quorum", func() bool { return len(n.View().Eligible()) == 2 })
	}
	a := c.nodes["a"]
	if err := a.Resign(context.Background()); err != nil {
		t.Fatal(err)
	}
	for h, n := range c.nodes { // without waiting: Resign returns when everybody knows
		if v := n.View(); v.Leader() != "b" || len(v.MutualAgreeing()) != 2 {
			t.Errorf("%s: leader %q, agreeing with %v", h, v.Leader(), v.MutualAgreeing())
		}
	}
	c.nodes["c"].kill()
	c.settled(2, "b", "a", "b")
	claimed(t, c.nodes["b"], "job") // with the vote of the stopping node

	began := time.Now()
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped after %v", time.Since(began))
	c.nodes["b"].sees("a", election.StatusUnreachable)
	if err := a.Start(context.Background()); err == nil {
		t.Error("a stopped manager started again")
	}
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: time.Now()}}); v[0].Outcome != election.Pending {
		t.Errorf("a claim after Stop: %+v", v)
	}
	if err := a.Stop(context.Background()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

// claimed waits until the node is granted a firing of the job that lies after
// everybody's fence, and returns it.
func claimed(t testing.TB, n *testNode, job string) election.Firing {
	t.Helper()
	f := election.Firing{Job: job, At: time.Now().Add(3 * time.Second).Truncate(time.Second)}
	var v election.Verdict
	wait(t, n.host+" is granted "+job, func() bool {
		v = n.Claim(context.Background(), []election.Firing{f})[0]
		return v.Outcome == election.Granted
	})
	return f
}

// A peer that only ever accepts, and never calls back, is still exchanged with.
func TestRoundsCount(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", often)
	a.config.Peers = []string{"nowhere" + testPort}
	a.start()
	wait(t, "rounds count although the peer can't be reached", func() bool { return a.View().State().Rounds >= 3 })
	if p := a.row("nowhere"); p.Status != election.StatusUnreachable || !strings.Contains(p.LastError, "no such host") {
		t.Errorf("row: %+v", p)
	}
	select {
	case <-a.Updates():
	default:
		t.Error("no update was signalled")
	}
}

// Alone in its list a node is its own quorum.
func TestAlone(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", often)
	a.config.Peers = []string{}
	before := election.Firing{Job: "job", At: time.Now().Truncate(time.Second)} // however long the start takes
	a.start()
	c.settled(1, "a", "a")
	if v := a.Claim(context.Background(), []election.Firing{before}); v[0].Code != string(election.RefusedFenced) {
		t.Errorf("what an earlier life may have run: %+v", v)
	}
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: unfenced(t)}}); v[0].Outcome != election.Granted {
		t.Errorf("claim: %+v", v)
	}
}
