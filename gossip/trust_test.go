package gossip

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/pki"
)

// A peer whose certificate fails a check is untrusted on the side that checks, with a
// text that says which check, and so is the side whose certificate was refused.
func TestUntrusted(t *testing.T) {
	now := time.Now()
	names := pki.CertOptions{CommonName: "b", DNSNames: []string{"b"}, NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(time.Hour)}
	expired, early, wrong, addressed := names, names, names, names
	expired.NotAfter = now.Add(-time.Hour)
	early.NotBefore = now.Add(30 * time.Minute)
	wrong.DNSNames = []string{"elsewhere.example"}
	addressed.DNSNames, addressed.IPs = nil, []net.IP{net.IPv4(10, 1, 2, 3)}
	for _, test := range []struct {
		name     string
		otherCA  bool
		cert     pki.CertOptions
		want     string // in a's last_error about b
		refused  string // in b's last_error about a; "" if a lets b in as a client
		wantLink bool   // b's own row about a is agreed
	}{
		{name: "another CA", otherCA: true, cert: names, want: "not signed by a CA that this node trusts", refused: "refused this node's certificate"},
		{name: "expired", cert: expired, want: "its certificate expired at", refused: "refused this node's certificate: expired certificate"},
		{name: "not yet valid", cert: early, want: "its certificate is not valid before", refused: "refused this node's certificate"},
		{name: "wrong name", cert: wrong, want: "not valid for the host b; it names elsewhere.example", wantLink: true},
		{name: "wrong address", cert: addressed, want: "not valid for the host b; it names 10.1.2.3", wantLink: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newTestCluster(t)
			a, b := c.node("a", often), c.node("b", often)
			third := c.node("c", often)
			ca := c.ca
			if test.otherCA {
				ca = newTestCA(t, "another CA")
			}
			b.config.CertFile, b.config.KeyFile = c.issue(ca, "b-bad", test.cert)
			c.startAll()
			c.settled(2, "a", "a", "c")
			for _, n := range []*testNode{a, third} {
				p := n.sees("b", election.StatusUntrusted)
				wait(t, "the reason is shown", func() bool { p = n.row("b"); return strings.Contains(p.LastError, test.want) })
				if p.NodeName != "" || p.JobSetID != "" || !p.LastSeen.IsZero() || p.InstanceID != "" {
					t.Errorf("something of an untrusted peer counts: %+v", p)
				}
			}
			if test.wantLink {
				// b trusts a; it is a that does not accept b's word.
				b.sees("a", election.StatusAgreed)
				if v := b.View(); len(v.MutualAgreeing()) != 0 {
					t.Errorf("the untrusted node agrees mutually with %v", v.MutualAgreeing())
				}
				return
			}
			b.sees("a", election.StatusUntrusted)
			wait(t, "the refusal is shown", func() bool { return strings.Contains(b.row("a").LastError, test.refused) })
		})
	}
}

// Addresses work as names, of both families.
func TestAddressAsName(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			c := newTestCluster(t)
			a, b := c.node("a", rarely), c.node("b", rarely)
			if err := b.fix(host); err != nil {
				t.Logf("this machine has no %s", host)
				return
			}
			b.config.CertFile, b.config.KeyFile = c.issue(c.ca, "b", pki.CertOptions{CommonName: "b", DNSNames: []string{"unused"}, IPs: []net.IP{net.ParseIP(host)}})
			b.config.Peers = []string{"a" + testPort}
			a.config.Peers = []string{b.address}
			c.wires.addrs[b.address] = b.address
			c.startAll()
			wait(t, "a agrees with the peer at an address", func() bool {
				return a.View().Peers()[0].Status == election.StatusAgreed
			})
		})
	}
}

// With verified peer names, a client of the right CA but of no configured peer is not
// let in.
func TestVerifyPeerNames(t *testing.T) {
	c := newTestCluster(t)
	a, b := c.node("a", often, func(c *Config) { c.VerifyPeerNames = true }), c.node("b", often)
	c.startAll()
	c.settled(2, "a", "a", "b")
	stranger := dialRogue(t, c, a, "stranger", newInstanceID())
	if stranger.err == nil {
		t.Fatal("a certificate that names no peer was let in")
	}
	if text, ok := refusalText(stranger.err); !ok {
		t.Errorf("the refusal reads %q (%v)", text, stranger.err)
	}
	_ = b
}

func TestFailureOf(t *testing.T) {
	leaf := &x509.Certificate{DNSNames: []string{"x\x1b[31m.example"}}
	for _, test := range []struct {
		err       error
		untrusted bool
		want      string
	}{
		{&trustError{"not who it should be"}, true, "not who it should be"},
		{fmt.Errorf("dial: %w", &trustError{"inner"}), true, "inner"},
		{x509.HostnameError{Certificate: leaf, Host: "b"}, true, "it names x?[31m.example"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, true, "refused this node's certificate: bad certificate"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: no application protocol")}, false, "no application protocol"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, false, "connection refused"},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true, Name: "b"}, false, "timed out"},
		{fmt.Errorf("hello: %w", context.DeadlineExceeded), false, "timed out: no answer"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 9443}, Err: os.ErrDeadlineExceeded}, false, "timed out: dial tcp :9443"},
		{errors.New("\x00\u202e" + strings.Repeat("x", 2*maxErrorLen)), false, "??xxx"},
	} {
		f := failureOf(test.err)
		if f.Untrusted != test.untrusted || !strings.Contains(f.Text, test.want) {
			t.Errorf("%v gives %+v, want untrusted %v and %q", test.err, f, test.untrusted, test.want)
		}
		if n := len([]rune(f.Text)); n > maxErrorLen+1 {
			t.Errorf("a text of %d characters", n)
		}
	}
}
