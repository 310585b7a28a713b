package e2e

import (
	"net"
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// An agent whose cluster listener can't start stays up: Leader jobs stay idle, the
// others run, the reason can be read, and it recovers by itself.
func TestBrokenListener(t *testing.T) {
	for _, test := range []struct {
		name string
		// breakIt is called before the first start and returns how to mend it.
		breakIt func(*testing.T, *testcluster.Cluster, *testcluster.Node) (mend func())
		says    string // part of the reason
	}{
		{"port in use", func(t *testing.T, _ *testcluster.Cluster, n *testcluster.Node) func() {
			l, err := net.Listen("tcp", n.Listen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return func() {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}, "address already in use"},
		{"bad certificate", func(t *testing.T, c *testcluster.Cluster, n *testcluster.Node) func() {
			if err := os.WriteFile(n.CertFile(), []byte("-----BEGIN CERTIFICATE-----\nnot one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { n.WriteCertificate(c.CA, testcluster.GoodCertificate(n.NodeName)) }
		}, "node.pem"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := testcluster.New(t, testcluster.Options{Jobs: ticks})
			a := c.Nodes[0]
			mend := test.breakIt(t, c, a)
			c.Start()
			testcluster.Eventually(t, "the others elect without it", testcluster.All(
				leaderIs(c.Nodes[1], "yacron-b"), leaderIs(c.Nodes[2], "yacron-b")))
			testcluster.Eventually(t, "the reason in /cluster", func() error {
				v, err := a.Cluster()
				if err != nil {
					return err
				}
				return testcluster.All(
					func() error { return testcluster.Expect("enabled", v.Enabled, false) },
					func() error { return contains("error", v.Error, test.says) },
				)()
			})
			testcluster.Eventually(t, "the reason in the log", logs(a, 0, "[ERROR]", test.says))
			from := testcluster.NextSecond()
			testcluster.Eventually(t, "jobs that need no cluster", testcluster.All(
				c.Journal.RanOn(preferJob, "yacron-a", from), c.Journal.RanOn(everyJob, "yacron-a", from)))
			if ran := c.Entries().Of(leaderJob).On("yacron-a"); len(ran) > 0 {
				t.Errorf("Leader jobs ran without a cluster: %v", ran)
			}

			mend()
			c.AwaitAgreement("yacron-a")
			testcluster.Eventually(t, "Leader jobs", c.Journal.RanOn(leaderJob, "yacron-a", testcluster.NextSecond()))
			mustNotDouble(t, c, leaderJob)
		})
	}
}
