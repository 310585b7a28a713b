package gossip

import (
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// apart breaks what two nodes have with each other, until together is called.
func (c *testCluster) apart(a, b string) (together func()) {
	c.wires.set(a, b, cutRefuse)
	c.wires.set(b, a, cutRefuse)
	return func() {
		c.wires.set(a, b, 0)
		c.wires.set(b, a, 0)
	}
}

// While no name can be resolved, peers are found where they were.
func TestNamesCannotBeResolved(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		if err := c.node(h, often).fix("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	c.wires.lose("a", "b", "c")

	together := c.apart("a", "b")
	c.nodes["a"].sees("b", election.StatusUnreachable)
	c.nodes["b"].sees("a", election.StatusUnreachable)
	if p := c.nodes["a"].row("b"); strings.Contains(p.LastError, "before") {
		t.Errorf("the row is about something else than the name: %s", p.LastError)
	}
	together()
	c.settled(3, "a", "a", "b", "c")

	// A new process at the old address is the peer, since its certificate is that peer's alone.
	c.nodes["b"].kill()
	c.nodes["a"].sees("b", election.StatusUnreachable)
	before := c.nodes["a"].row("b").InstanceID
	c.nodes["b"].start()
	if p := c.nodes["a"].sees("b", election.StatusAgreed); p.InstanceID == before {
		t.Errorf("still instance %s", before)
	}
}

// A node that has never been able to resolve a name meets those who call it.
func TestCallersAreCalledBack(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		n := c.node(h, often)
		if err := n.fix("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	// All have the port by which they are known: that is not told by a call.
	host := func(n *testNode) string {
		_, port, _ := net.SplitHostPort(n.address)
		return net.JoinHostPort(n.host, port)
	}
	for _, n := range c.nodes {
		c.wires.addrs[host(n)] = n.address
		for _, other := range c.nodes {
			if other != n {
				n.config.Peers = append(n.config.Peers, host(other))
			}
		}
	}
	c.wires.lose("b")
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
}

// Where all nodes have the same certificate, it does not tell who has a peer's address now.
func TestAnotherNodeAtThePeersAddress(t *testing.T) {
	c := newTestCluster(t)
	certFile, keyFile := c.issueNames("all", "a", "b", "c")
	for _, h := range []string{"a", "b", "c"} {
		n := c.node(h, often, func(c *Config) { c.CertFile, c.KeyFile = certFile, keyFile })
		if err := n.fix("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	a, b := c.nodes["a"], c.nodes["b"]
	var heard lockedBuffer
	a.logger = hclog.New(&hclog.LoggerOptions{Output: &heard, Level: hclog.Debug})
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	c.wires.lose("a", "b", "c")

	// The same instance is known all the same.
	together := c.apart("a", "b")
	a.sees("b", election.StatusUnreachable)
	b.sees("a", election.StatusUnreachable)
	together()
	c.settled(3, "a", "a", "b", "c")

	b.kill()
	c.nodes["c"].kill()
	a.sees("b", election.StatusUnreachable)
	a.sees("c", election.StatusUnreachable)
	moved := c.nodes["c"]
	moved.address = b.address
	moved.start()
	wait(t, "a finds another node at the address of b", func() bool { return strings.Contains(heard.String(), "it may be c"+testPort) })
	if p := a.row("b"); p.Status != election.StatusUnreachable || !strings.Contains(p.LastError, "no such host") {
		t.Errorf("%+v", p)
	}
	if v := a.View(); v.Size() != 3 || v.Quorate() {
		t.Errorf("size %d, quorate %v", v.Size(), v.Quorate())
	}
}
