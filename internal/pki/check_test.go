package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"slices"
	"strings"
	"testing"
	"time"
)

// signed makes a certificate of the template; what is missing is filled in.
func signed(t *testing.T, ca *CA, template x509.Certificate) *x509.Certificate {
	t.Helper()
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = epoch, epoch.AddDate(1, 0, 0)
	}
	if template.Subject.CommonName == "" {
		template.Subject = pkix.Name{CommonName: "a"}
	}
	pair, err := sign(&template, ca)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate
}

func TestCheck(t *testing.T) {
	ca := newCA(t, "ours")
	names := []string{"a.example"}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, test := range []struct {
		name string
		cert *x509.Certificate
		use  Use
		now  time.Time
		want []string
	}{
		{"a node's", issue(t, ca, CertOptions{CommonName: "a", DNSNames: names}).Certificate, NodeUse, epoch, nil},
		{"not restricted", signed(t, ca, x509.Certificate{DNSNames: names}), NodeUse, epoch, nil},
		{"for anything", signed(t, ca, x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}), NodeUse, epoch, nil},
		{"for something else", signed(t, ca, x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}}), ServerUse, epoch,
			[]string{"its issuer did not allow it for the server's end of a connection"}},
		{"a server's", signed(t, ca, x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{server}}), ServerUse, epoch, nil},
		{"a server's for a node", signed(t, ca, x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{server}}), NodeUse, epoch,
			[]string{"its issuer did not allow it for the client's end of a connection"}},
		{"a client's", signed(t, ca, x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{client}}), NodeUse, epoch,
			[]string{"its issuer did not allow it for the server's end of a connection"}},
		{"without names", signed(t, ca, x509.Certificate{}), NodeUse, epoch, []string{"it is valid for no host"}},
		{"expired", issue(t, ca, CertOptions{DNSNames: names}).Certificate, NodeUse, epoch.AddDate(1, 0, 1), []string{"it expired on 2027-01-01T00:00:00Z"}},
		{"too early", issue(t, ca, CertOptions{DNSNames: names}).Certificate, NodeUse, epoch.Add(-time.Second), []string{"it is not valid before 2026-01-01T00:00:00Z"}},
		{"an authority", ca.Certificate, NodeUse, epoch, nil},
		{"an old authority", ca.Certificate, NodeUse, epoch.AddDate(20, 0, 0), []string{"it expired on"}},
		{"an authority that may not sign", signed(t, nil, x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCRLSign}), NodeUse, epoch,
			[]string{"it is an authority that may not sign certificates"}},
	} {
		expectProblems(t, test.name, Check(test.cert, test.use, test.now), test.want)
	}
}

// expectProblems compares problems with how each of them begins.
func expectProblems(t *testing.T, name string, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

func TestVerifyInWords(t *testing.T) {
	ca, other, same := newCA(t, "ours"), newCA(t, "theirs"), newCA(t, "ours")
	leaf := issue(t, ca, CertOptions{CommonName: "a", DNSNames: []string{"a"}}).Certificate
	outlives := issue(t, ca, CertOptions{CommonName: "a", NotBefore: epoch, NotAfter: epoch.AddDate(30, 0, 0)}).Certificate
	serverOnly, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "servers"}, NotBefore: epoch, NotAfter: epoch.AddDate(5, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := signed(t, &CA{*serverOnly}, x509.Certificate{DNSNames: []string{"a"}})
	root, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "root"}, NotBefore: epoch, NotAfter: epoch.AddDate(5, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	middle, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "middle"}, NotBefore: epoch, NotAfter: epoch.AddDate(5, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, &CA{*root})
	if err != nil {
		t.Fatal(err)
	}
	below := signed(t, &CA{*middle}, x509.Certificate{DNSNames: []string{"a"}})
	list := func(certs ...*x509.Certificate) []*x509.Certificate { return certs }
	for _, test := range []struct {
		name               string
		cert               *x509.Certificate
		chain, authorities []*x509.Certificate
		use                Use
		now                time.Time
		want               []string
	}{
		{"ours", leaf, nil, list(other.Certificate, ca.Certificate), NodeUse, epoch, nil},
		{"expired itself", leaf, nil, list(ca.Certificate), NodeUse, epoch.AddDate(2, 0, 0), nil},
		{"theirs", leaf, nil, list(other.Certificate), NodeUse, epoch, []string{"none of the authorities issued it"}},
		{"of the same name", leaf, nil, list(same.Certificate), NodeUse, epoch, []string{"none of the authorities issued it"}},
		{"outlives its authority", outlives, nil, list(ca.Certificate), NodeUse, epoch.AddDate(11, 0, 0), []string{"its authority ours is not valid now"}},
		{"restricted from above", restricted, nil, list(serverOnly.Certificate), NodeUse, epoch, []string{"an authority above it does not allow the client's end"}},
		{"restricted, but enough", restricted, nil, list(serverOnly.Certificate), ServerUse, epoch, nil},
		{"with its chain", below, list(middle.Certificate), list(root.Certificate), NodeUse, epoch, nil},
		{"without its chain", below, nil, list(root.Certificate), NodeUse, epoch, []string{"none of the authorities issued it"}},
	} {
		expectProblems(t, test.name, Verify(test.cert, test.chain, test.authorities, test.use, test.now), test.want)
	}
}

func TestName(t *testing.T) {
	ca := newCA(t, "ours")
	if got := Name(ca.Certificate); got != "ours" {
		t.Errorf("got %q", got)
	}
	if got := Name(issue(t, ca, CertOptions{DNSNames: []string{"a.example", "b"}}).Certificate); got != "a.example" {
		t.Errorf("got %q", got)
	}
	if got := Name(&x509.Certificate{SerialNumber: ca.Certificate.SerialNumber}); !strings.HasPrefix(got, "number ") {
		t.Errorf("got %q", got)
	}
}
