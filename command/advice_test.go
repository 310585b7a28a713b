package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/api"
)

// peered is the healthy cluster of three with one change to it, and to its second peer.
func peered(change func(c *api.Cluster, p *api.Peer)) *api.Cluster {
	c := threeNodes()
	c.InstanceID = "i-a"
	for i := range c.Peers {
		c.Peers[i].Members = []api.ToldMember{{NodeName: "yacron-a", InstanceID: "i-a", Agreed: true}}
		c.Peers[i].ClusterSize, c.Peers[i].Distribution, c.Peers[i].ElectLeader = 3, api.SingleLeader, new(bool)
		*c.Peers[i].ElectLeader = true
	}
	change(&c, &c.Peers[1])
	return &c
}

// Whoever is woken at night is told which node to look at, and for what.
func TestAdvice(t *testing.T) {
	unreachable := func(text string) func(*api.Cluster, *api.Peer) {
		return func(_ *api.Cluster, p *api.Peer) { p.Status, p.LastError = api.PeerUnreachable, api.NullString(text) }
	}
	for _, test := range []struct {
		name   string
		change func(*api.Cluster, *api.Peer)
		want   []string // one for each advice; none: all is well
	}{
		{"healthy", func(*api.Cluster, *api.Peer) {}, nil},
		{"not started", unreachable("dial tcp 10.0.0.3:8443: connect: connection refused"), []string{"yacron-c (c.example:8443) can't be reached: dial tcp 10.0.0.3:8443: connect: connection refused. Nothing listens there"}},
		{"unknown name", unreachable("dial tcp: lookup c.example on 10.0.0.53:53: no such host"), []string{"leads nowhere from here: DNS"}},
		{"no way to a name server", unreachable("dial tcp: lookup c.example on 10.0.0.53:53: connect: network is unreachable"), []string{"leads nowhere from here: DNS"}},
		{"another port", unreachable("tls: first record does not look like a TLS handshake"), []string{"must have the port of cluster.listen"}},
		{"firewall", unreachable("timed out: context deadline exceeded"), []string{"a firewall in between"}},
		{"restarts", unreachable("the peer closed the session"), []string{"see its log"}},
		{"something else", unreachable(""), []string{"no reason is known. See its agent's log"}},
		{"never seen", func(_ *api.Cluster, p *api.Peer) {
			p.Status, p.NodeName, p.LastError = api.PeerUnreachable, "", "no such host"
		}, []string{"c.example:8443 can't be reached"}},
		{"stopped", func(_ *api.Cluster, p *api.Peer) { p.Status, p.Stopping = api.PeerUnreachable, true }, []string{"was stopped. Start its agent"}},
		{"untrusted", func(_ *api.Cluster, p *api.Peer) {
			p.Status, p.LastError = api.PeerUntrusted, "its certificate expired"
		}, []string{"its certificate expired. Look with `yacron2 tls inspect`"}},
		{"not counted there", func(_ *api.Cluster, p *api.Peer) { p.Members[0].Agreed = false }, []string{"yacron-c (c.example:8443) has the same jobs, but does not count this node"}},
		{"not known there", func(_ *api.Cluster, p *api.Peer) { p.Members[0].InstanceID = "i-c" }, []string{"does not count this node"}},
		{"tells nothing of others", func(_ *api.Cluster, p *api.Peer) { p.Members = nil }, nil},
		{"clock", func(_ *api.Cluster, p *api.Peer) { p.Clock = &api.Clock{Ahead: 5, Excessive: true} }, []string{"The clock of yacron-c (c.example:8443) differs from this node's by +5.000s"}},
		{"counts others", func(c *api.Cluster, p *api.Peer) { p.ClusterSize, c.SizeConflict = 5, true }, []string{"yacron-c (c.example:8443) counts 5 nodes, and this node 3"}},
		{"other rules", func(_ *api.Cluster, p *api.Peer) { p.Distribution, *p.ElectLeader = api.Spread, false }, []string{"has distribution: spread, and this node single-leader", "has electLeader: false, and this node true"}},
		{"other rules and other jobs", func(_ *api.Cluster, p *api.Peer) { p.Status, p.ClusterSize = api.PeerDrifted, 5 }, []string{"yacron-c (c.example:8443) has other jobs"}},
		{"one has other jobs", func(_ *api.Cluster, p *api.Peer) { p.Status, p.JobSetID = api.PeerSyncing, "v1:00ff" }, []string{"yacron-c (c.example:8443) has other jobs than this node"}},
		{"this one has other jobs", func(c *api.Cluster, _ *api.Peer) {
			for i := range c.Peers {
				c.Peers[i].Status, c.Peers[i].JobSetID = api.PeerDrifted, "v1:00ff00ff00ff00ff"
			}
			c.Quorate, c.Leader, c.IsLeader, c.Agreeing = false, "", false, 1
		}, []string{"This node has other jobs (2d27fbdf4e8c) than the 2 others that it reaches (00ff00ff00ff)", "stand down on this node until it agrees with 1 other node."}},
		{"all have other jobs", func(c *api.Cluster, p *api.Peer) {
			c.Peers[0].Status, p.Status, p.JobSetID = api.PeerSyncing, api.PeerSyncing, "v1:00ff"
		}, []string{"yacron-b (b.example:8443), yacron-c (c.example:8443) have other jobs"}},
		{"one name", func(c *api.Cluster, p *api.Peer) { p.NodeName, c.ConflictNames = "yacron-b", []string{"yacron-b"} }, []string{"calls itself yacron-b: b.example:8443, c.example:8443. Give each"}},
		{"this node's name", func(c *api.Cluster, p *api.Peer) {
			p.Status, p.NodeName, c.ConflictNames = api.PeerConflict, "yacron-a", []string{"yacron-a"}
		}, []string{"calls itself yacron-a: this node, c.example:8443."}},
		{"a name out of sight", func(c *api.Cluster, _ *api.Peer) { c.ConflictNames = []string{"yacron-x"} }, []string{"calls itself yacron-x. Give each"}},
		{"own troubles", func(c *api.Cluster, _ *api.Peer) { c.Troubles = []string{"votes can't be stored"} }, []string{"On this node: votes can't be stored."}},
		{"no store", func(c *api.Cluster, _ *api.Peer) {
			c.Peers, c.Lease, c.Quorate = nil, &api.Lease{}, false
		}, []string{"The store does not answer"}},
		{"no cluster", func(c *api.Cluster, _ *api.Peer) { *c = api.Cluster{Error: "listen"} }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := advice(peered(test.change))
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i, text := range got {
				if !strings.Contains(text, test.want[i]) {
					t.Errorf("got %q, want it to say %q", text, test.want[i])
				}
			}
		})
	}
}

// The list comes with the answers for people and for programs, and not without need.
func TestAdviceIsShown(t *testing.T) {
	const heading, stopped = "What is wrong, and what to do:", "yacron-c (c.example:8443) was stopped"
	well := serveCluster(t, *peered(func(*api.Cluster, *api.Peer) {}))
	ill := serveCluster(t, *peered(func(c *api.Cluster, p *api.Peer) {
		p.Status, p.Stopping = api.PeerUnreachable, true
		c.Agreeing = 2
	}))
	headless := serveCluster(t, *peered(func(c *api.Cluster, p *api.Peer) {
		p.Status, p.Stopping = api.PeerUnreachable, true
		c.Quorate, c.Leader, c.IsLeader, c.Agreeing = false, "", false, 1
	}))
	for _, test := range []struct {
		command, address string
		code             int
		told             bool
	}{
		{"members", well, exitOK, false}, {"members", ill, exitOK, true}, {"members", headless, exitOK, true},
		{"leader", well, exitOK, false}, {"leader", ill, exitOK, false}, {"leader", headless, exitNo, true},
	} {
		for _, form := range []string{"table", "json"} {
			r := run(t, nil, test.command, "-format="+form, "-address", test.address)
			r.expect(t, test.code, []string{""}, nil)
			words := []string{stopped}
			if form == "table" {
				words = append(words, heading)
			}
			if told := !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.out, w) }); told != test.told {
				t.Errorf("%s as %s: told is %v:\n%s", test.command, form, told, r.out)
			}
		}
	}
}
