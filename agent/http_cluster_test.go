package agent

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// An agent tells who agrees with whom, as its peers told it, and when the certificates
// end, its own and those of its peers.
func TestClusterTellsOfLinksAndCertificates(t *testing.T) {
	agents := startCluster(t, 3, someJobs, "")
	awaitLeader(t, agents)
	a := agents[0]
	ask := func() api.Cluster {
		t.Helper()
		c, err := a.client.Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	eventually(t, "all agree with all", func() bool {
		for _, p := range ask().Peers {
			agreed := 0
			for _, m := range p.Members {
				if m.NodeName != "" && m.InstanceID != "" && m.Agreed {
					agreed++
				}
			}
			if agreed != len(agents) {
				return false
			}
		}
		return true
	})

	c := ask()
	soon := time.Now().AddDate(0, 3, 1) // the test's certificates are for three months
	for _, p := range c.Peers {
		if p.CertificateExpires.IsZero() || p.CertificateExpires.After(soon) {
			t.Errorf("the certificate of %s ends at %v", p.NodeName, p.CertificateExpires)
		}
	}
	uses := map[string]time.Time{}
	for _, certificate := range c.Certificates {
		uses[certificate.Use] = certificate.Expires.Time
	}
	if len(uses) != 2 || uses["cluster"].IsZero() || uses["cluster"].After(soon) || !uses["cluster_ca"].After(soon) {
		t.Errorf("the certificates of the agent: %v", uses)
	}

	// What a peer told is not repeated once it cannot be asked any more.
	if err := agents[2].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the peer is gone", func() bool {
		for _, p := range ask().Peers {
			if p.NodeName == "node-c" {
				return p.Status == api.PeerUnreachable && p.Members == nil && !p.CertificateExpires.IsZero()
			}
		}
		return false
	})
}
