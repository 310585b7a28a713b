package testcluster

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// Validity of the certificates made here, before and after now. None of them is about to
// expire, which agents and the dashboard would say.
const (
	validBefore = 24 * time.Hour
	validAfter  = 90 * 24 * time.Hour
)

// NewCA returns a fresh authority, of which no other knows.
func NewCA(tb testing.TB) *pki.CA {
	tb.Helper()
	now := time.Now()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "yacron2 test", NotBefore: now.Add(-validBefore), NotAfter: now.Add(validAfter)})
	if err != nil {
		tb.Fatal(err)
	}
	return ca
}

// GoodCertificate describes a certificate that is valid now and good for a node
// reached at 127.0.0.1 or localhost.
func GoodCertificate(nodeName string) pki.CertOptions {
	now := time.Now()
	return pki.CertOptions{
		CommonName: nodeName,
		DNSNames:   []string{"localhost", nodeName},
		IPs:        []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:  now.Add(-validBefore),
		NotAfter:   now.Add(validAfter),
	}
}

// WriteCertificate gives the node a certificate of ca. What the node itself trusts
// stays as it is.
func (n *Node) WriteCertificate(ca *pki.CA, o pki.CertOptions) {
	n.tb.Helper()
	pair, err := ca.Issue(o)
	if err != nil {
		n.tb.Fatal(err)
	}
	if err := pair.Write(n.CertFile(), n.KeyFile(), true); err != nil {
		n.tb.Fatal(err)
	}
}

// WriteCA lets the node trust ca alone.
func (n *Node) WriteCA(ca *pki.CA) {
	n.tb.Helper()
	n.write(n.CAFile(), string(ca.CertPEM()))
}

// CAFile is the file of the authority that the node trusts.
func (n *Node) CAFile() string { return filepath.Join(n.tlsDir(), "ca.pem") }

// CertFile is the file of the node's certificate.
func (n *Node) CertFile() string { return filepath.Join(n.tlsDir(), "node.pem") }

// KeyFile is the file of the node's private key.
func (n *Node) KeyFile() string { return filepath.Join(n.tlsDir(), "node-key.pem") }

func (n *Node) tlsDir() string { return filepath.Join(n.dir, "tls") }
