package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// A peer whose certificate does not hold counts for nothing, and its row says which
// check failed.
func TestUntrusted(t *testing.T) {
	for _, test := range []struct {
		name  string
		certs func(*testing.T, *testcluster.Cluster) (*pki.CA, pki.CertOptions)
		says  string // part of last_error
	}{
		{"another CA", func(t *testing.T, _ *testcluster.Cluster) (*pki.CA, pki.CertOptions) {
			return testcluster.NewCA(t), testcluster.GoodCertificate("yacron-0")
		}, "not signed by a CA"},
		{"expired", func(_ *testing.T, c *testcluster.Cluster) (*pki.CA, pki.CertOptions) {
			o := testcluster.GoodCertificate("yacron-0")
			o.NotAfter = time.Now().Add(-time.Hour)
			return c.CA, o
		}, "expired"},
		{"wrong name", func(_ *testing.T, c *testcluster.Cluster) (*pki.CA, pki.CertOptions) {
			o := testcluster.GoodCertificate("yacron-0")
			o.DNSNames, o.IPs = []string{"elsewhere.example"}, nil
			return c.CA, o
		}, "127.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// It would lead if it counted: it has the lowest name.
			c := testcluster.New(t, testcluster.Options{
				Names: []string{"yacron-0", "yacron-a", "yacron-b"}, Jobs: ticks,
			})
			bad, a, b := c.Nodes[0], c.Nodes[1], c.Nodes[2]
			bad.WriteCertificate(test.certs(t, c))
			c.Start()
			for _, n := range []*testcluster.Node{a, b} {
				testcluster.Eventually(t, "the bad peer's row", testcluster.All(
					n.SeesPeer(bad, "untrusted"),
					func() error { return lastErrorSays(n, bad, test.says) },
				))
				testcluster.Eventually(t, "the others go on", n.Sees(3, 2, "yacron-a"))
			}
			awaitLeaderRun(t, c)
			testcluster.Eventually(t, "no quorum with a bad certificate", isQuorate(bad, false))
			if ran := c.Entries().Of(leaderJob).On("yacron-0"); len(ran) > 0 {
				t.Errorf("the untrusted node ran Leader jobs: %v", ran)
			}

			// With a good certificate it is a member like the others, without a restart.
			bad.WriteCertificate(c.CA, testcluster.GoodCertificate("yacron-0"))
			bad.Reload()
			c.AwaitAgreement("yacron-0")
			mustNotDouble(t, c, leaderJob)
		})
	}
}

// lastErrorSays returns an error unless the last_error of the peer's row has the phrase.
func lastErrorSays(n, peer *testcluster.Node, phrase string) error {
	p, err := n.Peer(peer)
	if err != nil {
		return err
	}
	return contains(n.NodeName+": last_error", string(p.LastError), phrase)
}

// contains returns an error unless text has the phrase in it.
func contains(what, text, phrase string) error {
	if strings.Contains(text, phrase) {
		return nil
	}
	return fmt.Errorf("%s is %q, which does not say %q", what, text, phrase)
}
