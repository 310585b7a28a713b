package gossip

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/pki"
)

// shown returns the serial number of the certificate on a session that this node
// dialled.
func (n *testNode) shown(host string) string {
	for _, s := range n.registry.list(func(s *session) bool { return s.outgoing && n.table.hostOf(s.host) == host+testPort }) {
		return s.chain[0].SerialNumber.String()
	}
	return ""
}

// watchAgreement fails the test if the node ever stops agreeing with all others until
// the function returned is called.
func (n *testNode) watchAgreement(agreeing int) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-done:
				return
			case <-n.Updates():
				if got := 1 + len(n.View().MutualAgreeing()); got != agreeing {
					n.cluster.t.Errorf("%s agreed with %d nodes for a moment", n.host, got)
				}
			}
		}
	}()
	return func() { close(done); <-over }
}

// A renewed certificate is used without a restart, and without a moment in which the
// nodes do not agree.
func TestRotateLeaf(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, often)
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	b := c.nodes["b"]
	wait(t, "a and b are connected", func() bool { return c.nodes["a"].shown("b") != "" })
	old := c.nodes["a"].shown("b")

	for _, n := range c.nodes {
		defer n.watchAgreement(3)()
	}
	c.issue(c.ca, "b", pki.CertOptions{CommonName: "b", DNSNames: []string{"b"}})
	// b's own sessions are renewed by b; those that others dialled when they connect
	// next, or when the old certificate is about to expire.
	inbound := func() []*session {
		return c.nodes["a"].registry.list(func(s *session) bool {
			return !s.outgoing && s.instance == b.InstanceID() && s.chain[0].SerialNumber.String() != old
		})
	}
	wait(t, "a sees b's new certificate", func() bool { return len(inbound()) == 1 })
}

// usable is for how long a certificate is good that expires within a test. Until then the
// nodes have to agree, on a busy machine too.
const usable = 12 * time.Second

// A certificate that is about to expire is asked for again before it does.
func TestRenewBeforeExpiry(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	a, b := c.node("a", often), c.node("b", often)
	b.config.CertFile, b.config.KeyFile = c.issue(c.ca, "b", pki.CertOptions{
		CommonName: "b", DNSNames: []string{"b"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(usable)})
	c.startAll()
	c.settled(2, "a", "a", "b")
	stop := a.watchAgreement(2)
	c.issueNames("b", "b")
	expires := time.Now().Add(usable + time.Second)
	wait(t, "the former certificate has expired", func() bool { return time.Now().After(expires) })
	stop()
	c.settled(2, "a", "a", "b")
}

// A session does not outlive the certificate on which it rests.
func TestExpiryEndsSession(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	a, b := c.node("a", often), c.node("b", often)
	b.config.CertFile, b.config.KeyFile = c.issue(c.ca, "b", pki.CertOptions{
		CommonName: "b", DNSNames: []string{"b"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(usable)})
	c.startAll()
	c.settled(2, "a", "a", "b")
	if p := a.sees("b", election.StatusUntrusted); !strings.Contains(p.LastError, "expired at") {
		t.Errorf("%+v", p)
	}
	wait(t, "b is told that its certificate is not let in", func() bool {
		p := b.row("a")
		return p.Status == election.StatusUntrusted && strings.Contains(p.LastError, "refused this node's certificate")
	})
	c.issueNames("b", "b")
	c.settled(2, "a", "a", "b")
}

// The CA is changed with an overlap, node by node, and nobody notices; what the new CA
// does not trust loses its sessions.
func TestRotateCA(t *testing.T) {
	c := newTestCluster(t)
	hosts := []string{"a", "b", "c"}
	for _, h := range hosts {
		n := c.node(h, often)
		n.config.CAFile = filepath.Join(c.dir, h+"-ca.pem")
		writeFile(t, n.config.CAFile, c.ca.CertPEM())
	}
	c.startAll()
	c.settled(3, "a", hosts...)
	next := newTestCA(t, "the next CA")
	var stops []func()
	for _, h := range hosts {
		stops = append(stops, c.nodes[h].watchAgreement(3))
	}
	replace := func(h string, pem ...[]byte) {
		tmp := filepath.Join(c.dir, "tmp")
		var all []byte
		for _, p := range pem {
			all = append(all, p...)
		}
		writeFile(t, tmp, all)
		if err := os.Rename(tmp, c.nodes[h].config.CAFile); err != nil {
			t.Fatal(err)
		}
		if err := c.nodes[h].ReloadCertificates(); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range hosts { // both are trusted
		replace(h, c.ca.CertPEM(), next.CertPEM())
	}
	issued := map[string]string{}
	for _, h := range hosts { // all show certificates of the new one
		c.issue(next, h, pki.CertOptions{CommonName: h, DNSNames: []string{h}})
		if err := c.nodes[h].ReloadCertificates(); err != nil {
			t.Fatal(err)
		}
		issued[h] = c.nodes[h].creds.get().cert.Leaf.SerialNumber.String()
	}
	for _, h := range hosts {
		for _, other := range hosts {
			if other != h {
				wait(t, h+" sees the new certificate of "+other, func() bool {
					for _, s := range c.nodes[h].registry.list(func(s *session) bool { return !s.outgoing }) {
						if s.chain[0].SerialNumber.String() == issued[other] {
							return true
						}
					}
					return false
				})
			}
		}
	}
	for _, h := range []string{"a", "b", "c"} { // the old one goes
		replace(h, next.CertPEM())
	}
	for _, h := range hosts {
		for _, other := range hosts {
			if other != h {
				wait(t, h+" has a session under the new CA with "+other, func() bool { return c.nodes[h].shown(other) == issued[other] })
			}
		}
	}
	for _, stop := range stops {
		stop()
	}

	// A node that was left behind loses its sessions.
	replace("a", c.ca.CertPEM())
	c.nodes["b"].sees("a", election.StatusUntrusted)
	c.nodes["a"].sees("b", election.StatusUntrusted)
	c.settled(2, "b", "b", "c")
}

// Files that are half written, gone or do not belong together change nothing.
func TestHalfWritten(t *testing.T) {
	c := newTestCluster(t)
	n := c.node("a")
	creds := &credentials{caFile: n.config.CAFile, certFile: n.config.CertFile, keyFile: n.config.KeyFile}
	if err := creds.load(); err != nil {
		t.Fatal(err)
	}
	good := creds.get()
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ca, cert, key := read(creds.caFile), read(creds.certFile), read(creds.keyFile)
	_, otherKey := c.issue(c.ca, "other", pki.CertOptions{CommonName: "other"})
	for _, test := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"half a CA", creds.caFile, append(append([]byte(nil), ca...), ca[:len(ca)/2]...), "not whole"},
		{"no CA", creds.caFile, []byte("# comment\n"), "no certificate"},
		{"half a certificate", creds.certFile, cert[:len(cert)/2], "certificate"},
		{"another key", creds.keyFile, read(otherKey), "private key does not match"},
		{"empty key", creds.keyFile, nil, "key"},
		{"huge", creds.caFile, make([]byte, maxPEM+1), "too many"},
	} {
		writeFile(t, test.file, test.content)
		if changed, err := creds.refresh(); changed || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: changed %v, %v", test.name, changed, err)
		}
		if changed, err := creds.refresh(); changed || err != nil {
			t.Errorf("%s, looked at again: changed %v, %v", test.name, changed, err)
		}
		if err := creds.unused(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: not in use because of %v", test.name, err)
		}
		if creds.get() != good {
			t.Fatalf("%s: the good material is gone", test.name)
		}
		writeFile(t, creds.caFile, ca)
		writeFile(t, creds.certFile, cert)
		writeFile(t, creds.keyFile, key)
		if changed, err := creds.refresh(); changed || err != nil {
			t.Errorf("%s, put right: changed %v, %v", test.name, changed, err)
		}
		if err := creds.unused(); err != nil {
			t.Errorf("%s, put right, and not in use: %v", test.name, err)
		}
	}
	if err := os.Remove(creds.keyFile); err != nil {
		t.Fatal(err)
	}
	if changed, err := creds.refresh(); changed || err == nil {
		t.Errorf("without a key: changed %v, %v", changed, err)
	}
	// As a mounted secret changes: by one symbolic link.
	c.issue(c.ca, "a", pki.CertOptions{CommonName: "a", DNSNames: []string{"a"}})
	if changed, err := creds.refresh(); !changed || err != nil || creds.get() == good {
		t.Errorf("renewed: changed %v, %v", changed, err)
	}
	for _, missing := range []*credentials{
		{caFile: "nowhere", certFile: creds.certFile, keyFile: creds.keyFile},
		{caFile: creds.caFile, certFile: creds.keyFile, keyFile: creds.keyFile},
	} {
		if err := missing.load(); err == nil {
			t.Error("loaded what is not there")
		}
	}
}
