package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// endOf returns when a certificate of the agent ends.
func endOf(t *testing.T, a *Agent, use string) time.Time {
	t.Helper()
	list := a.expiries()
	i := slices.IndexFunc(list, func(e expiry) bool { return e.use == use })
	if i < 0 {
		t.Fatalf("no certificate %s in %+v", use, list)
	}
	return list[i].at
}

// Files that do not fit together are not in use, and so it is not their end that counts:
// a node that keeps an old certificate must not look as if it had the new one. What fits is
// taken without being asked.
func TestExpiriesAreOfWhatIsInUse(t *testing.T) {
	t.Parallel()
	members := startMembers(t, 3, oneJob)
	awaitAgreement(t, members)
	a := members[0]
	a.change(map[string]string{"interval": "3600"}) // no round looks at them
	before := endOf(t, a.Agent, "cluster")

	from := time.Now()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "next CA", NotBefore: from.Add(-time.Hour), NotAfter: from.Add(48 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.CertOptions{CommonName: "a", DNSNames: []string{"localhost"}, NotBefore: from.Add(-time.Hour), NotAfter: from.Add(36 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	fresh := t.TempDir()
	if err := pair.Write(filepath.Join(fresh, "cert.pem"), filepath.Join(fresh, "key.pem"), true); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(fresh, "cert.pem"), filepath.Join(a.tls, "node.pem"))
	unfit := func() bool {
		return slices.ContainsFunc(a.coordination.Troubles(), func(text string) bool { return strings.Contains(text, "private key does not match") })
	}
	eventually(t, "the file is told to be of no use", unfit)
	if got := endOf(t, a.Agent, "cluster"); !got.Equal(before) {
		t.Errorf("the certificate in use ends at %v, told is %v, that of a file that is not in use", before, got)
	}
	copyFile(t, filepath.Join(fresh, "key.pem"), filepath.Join(a.tls, "node-key.pem"))
	eventually(t, "the pair is taken up, and told", func() bool {
		return endOf(t, a.Agent, "cluster").After(before) && !unfit()
	})
}

// An authority that is added to the file is trusted at once: on the next node, somebody
// waits for that.
func TestAuthoritiesAreTakenUpAtOnce(t *testing.T) {
	t.Parallel()
	members := startMembers(t, 3, oneJob)
	awaitAgreement(t, members)
	a := members[0]
	a.change(map[string]string{"interval": "3600"}) // no round looks at them
	before := endOf(t, a.Agent, "cluster_ca")
	from := time.Now().Add(-time.Hour)
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "short CA", NotBefore: from, NotAfter: from.Add(3 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	both, err := os.ReadFile(filepath.Join(a.tls, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.tls, "ca.pem"), append(both, ca.CertPEM()...), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second authority is trusted", func() bool { return endOf(t, a.Agent, "cluster_ca").Before(before) })
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
