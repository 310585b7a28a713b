package nettest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/pki"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// Peers are names, which mean something else from time to time.
func TestAddressesMove(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{})
	w := c.Watch(leaderJob)
	defer w.Stop()
	from := testcluster.NextSecond()
	second := c.Nodes[1]

	w.Terminate(second)
	second.AwaitExit()
	c.Net.Move(second.NodeName, "10.77.0.102", true)
	w.Start(second)
	mustLeadAgain(t, c)

	// While it runs, its connections break without a word.
	c.Net.Move(second.NodeName, "10.77.0.112", true)
	testcluster.Eventually(t, "the loss of the old address", c.Nodes[0].SeesPeer(second, "unreachable"))
	mustLeadAgain(t, c)

	// The leader too, and everybody at once.
	for i, n := range c.Nodes {
		w.Terminate(n)
		n.AwaitExit()
		c.Net.Move(n.NodeName, []string{"10.77.0.201", "10.77.0.202", "10.77.0.203"}[i], true)
	}
	for _, n := range c.Nodes {
		w.Start(n)
	}
	mustLeadAgain(t, c)
	mustBalance(t, w, from)
}

// An agent that starts before the names of the others mean anything finds them later.
func TestNamesComeLate(t *testing.T) {
	t.Parallel()
	c := netcluster.NewCluster(t, testcluster.Options{Jobs: ticks})
	first := c.Nodes[0]
	for _, other := range c.Nodes[1:] {
		c.Net.SetName(first.NodeName, other.NodeName, netip.Addr{})
	}
	// The others do not reach the first one either, and so can't be found by being called.
	for _, other := range c.Nodes[1:] {
		c.Net.SetName(other.NodeName, first.NodeName, netip.Addr{})
	}
	c.Start()
	testcluster.Eventually(t, "names that mean nothing", logs(first, c.Nodes[1].PeerAddress(), "unreachable", "lookup"))
	testcluster.Eventually(t, "the others", leads(c.Nodes[1], true))
	mustStandDown(t, c, first, 5)
	for _, other := range c.Nodes[1:] {
		c.Net.SetName(first.NodeName, other.NodeName, c.Net.Host(other.NodeName).Addr)
		c.Net.SetName(other.NodeName, first.NodeName, c.Net.Host(first.NodeName).Addr)
	}
	mustLeadAgain(t, c)
}

// While no name means anything, those who had met find each other, and one that starts is
// found by the others and finds them by that.
func TestNamesGetLost(t *testing.T) {
	t.Parallel()
	c := netcluster.NewCluster(t, testcluster.Options{Jobs: ticks})
	c.Start()
	mustLeadAgain(t, c)
	for _, n := range c.Nodes {
		for _, other := range c.Nodes {
			if n != other {
				c.Net.SetName(n.NodeName, other.NodeName, netip.Addr{})
			}
		}
	}
	first := c.Nodes[0]
	c.Net.Isolate(first.NodeName)
	testcluster.Eventually(t, "another leader", leads(c.Nodes[1], true))
	mustStandDown(t, c, first, 3)
	c.Net.Heal()
	mustLeadAgain(t, c)
	testcluster.Eventually(t, "the address that was used", logs(first, "[WARN]", c.Nodes[1].PeerAddress(), "last known address", "lookup"))

	first.Kill()
	testcluster.Eventually(t, "another leader", leads(c.Nodes[1], true))
	first.Start()
	mustLeadAgain(t, c)
}

// Without a private address, or any peer, an agent starts and leads itself.
func TestOnlyAPublicAddress(t *testing.T) {
	t.Parallel()
	c := netcluster.NewCluster(t, testcluster.Options{Names: netcluster.Names(1), Jobs: ticks})
	only := c.Nodes[0]
	only.Alone = false
	only.WriteConfig()
	c.Net.Move(only.NodeName, "198.51.100.7", true)
	c.Start()
	mustLeadAgain(t, c)
}

// Certificates have the names of the peers and no addresses, although all traffic goes
// to addresses. One of another authority, for another name or from the past is refused,
// in words that say which it was, and its node counts for nothing.
func TestCertificatesByName(t *testing.T) {
	t.Parallel()
	byName := func(name string) pki.CertOptions {
		o := testcluster.GoodCertificate(name)
		o.DNSNames, o.IPs = []string{name}, nil
		return o
	}
	c := netcluster.NewCluster(t, testcluster.Options{Jobs: ticks})
	for _, n := range c.Nodes {
		n.WriteCertificate(c.CA, byName(n.NodeName))
	}
	c.Start()
	mustLeadAgain(t, c)

	last := c.Nodes[2]
	for _, bad := range []struct {
		ca    *pki.CA
		certs func(o *pki.CertOptions)
		says  string
	}{
		{testcluster.NewCA(t), func(*pki.CertOptions) {}, "not signed by a CA"},
		{c.CA, func(o *pki.CertOptions) { o.DNSNames = []string{"somewhere-else"} }, "somewhere-else"},
		{c.CA, func(o *pki.CertOptions) { o.NotAfter = time.Now().Add(-time.Second) }, "expired"},
	} {
		last.Stop()
		o := byName(last.NodeName)
		bad.certs(&o)
		last.WriteCertificate(bad.ca, o)
		last.Start()
		for _, n := range c.Nodes[:2] {
			testcluster.Eventually(t, "the refusal", testcluster.All(
				n.SeesPeer(last, "untrusted"),
				logs(n, "[WARN]", last.PeerAddress(), "untrusted", bad.says),
				n.Sees(3, 2, c.Nodes[0].NodeName),
			))
		}
		mustStandDown(t, c, last, 2)
	}
	last.Stop()
	last.WriteCertificate(c.CA, byName(last.NodeName))
	last.Start()
	mustLeadAgain(t, c)
	if doubled := c.Entries().Of(leaderJob).Duplicates(); len(doubled) > 0 {
		t.Errorf("firings ran more than once: %v", doubled)
	}
}
