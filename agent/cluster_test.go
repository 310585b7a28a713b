package agent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/pki"
)

// startCluster runs agents with the same jobs as a gossip cluster; more is added to
// their cluster sections. change may replace the options of the agents that it is given
// the number of.
func startCluster(t *testing.T, nodes int, jobs, more string, change ...func(i int, o *Options)) []*testAgent {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "test CA", NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	tls := t.TempDir()
	if err := os.WriteFile(filepath.Join(tls, "ca.pem"), ca.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.CertOptions{CommonName: "nodes", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 3, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Write(filepath.Join(tls, "node.pem"), filepath.Join(tls, "node-key.pem"), false); err != nil {
		t.Fatal(err)
	}
	// All are held until each has its own. Should one be taken before the agent binds
	// it, the agent goes on trying.
	addresses, held := make([]string, nodes), make([]net.Listener, nodes)
	for i := range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held[i], addresses[i] = l, l.Addr().String()
	}
	for _, l := range held {
		_ = l.Close()
	}
	agents := make([]*testAgent, nodes)
	for i := range agents {
		name := "node-" + string(rune('a'+i))
		text := fmt.Sprintf("cluster:\n  nodeName: %s\n  listen: %s\n  electLeader: true\n  interval: 1\n%s  tls: {ca: %[4]s/ca.pem, cert: %[4]s/node.pem, key: %[4]s/node-key.pem}\n  peers:\n",
			name, addresses[i], more, tls)
		if nodes == 1 {
			text = strings.TrimSuffix(text, "\n") + " []\n"
		}
		for j, address := range addresses {
			if j != i {
				text += "    - host: " + address + "\n"
			}
		}
		agents[i] = startNode(t, name, jobs, "", map[string]string{"cluster.yaml": text}, func(o *Options) {
			for _, f := range change {
				f(i, o)
			}
		})
	}
	return agents
}

// awaitLeader waits until every agent sees the same leader, and returns its name.
func awaitLeader(t *testing.T, agents []*testAgent) string {
	t.Helper()
	var leader api.NullString
	eventually(t, "all agents see one leader", func() bool {
		for i, a := range agents {
			c, err := a.client.Cluster(t.Context())
			if err != nil || c.Leader == "" || c.Agreeing != len(agents) || i > 0 && c.Leader != leader {
				return false
			}
			leader = c.Leader
		}
		return true
	})
	return string(leader)
}
