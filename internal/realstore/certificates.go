package realstore

import (
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
)

// Certificates is an authority for a store and its clients.
type Certificates struct {
	CA  *pki.CA
	dir string
	n   atomic.Int64 // written so far
}

// Files are the paths of a certificate, its key, and the certificate of the authority.
type Files struct {
	Cert, Key, CA string
}

// NewCertificates makes an authority whose files lie in the test's folder.
func NewCertificates(tb testing.TB) *Certificates {
	tb.Helper()
	c, err := newCertificates(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func newCertificates(dir string) (*Certificates, error) {
	now := time.Now()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "store", NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)})
	if err != nil {
		return nil, err
	}
	c := &Certificates{CA: ca, dir: dir}
	return c, ca.Write(c.caFile(), filepath.Join(dir, "ca-key.pem"), false)
}

func (c *Certificates) caFile() string { return filepath.Join(c.dir, "ca.pem") }

// Server issues a certificate for 127.0.0.1.
func (c *Certificates) Server(tb testing.TB) Files {
	tb.Helper()
	return c.write(tb, c.issue(tb, "store"))
}

// Client issues a certificate for a client, whose name is its common name.
func (c *Certificates) Client(tb testing.TB, name string) Files {
	tb.Helper()
	return c.write(tb, c.issue(tb, name))
}

func (c *Certificates) write(tb testing.TB, pair *pki.Pair) Files {
	tb.Helper()
	files, err := c.writeFiles(pair)
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

func (c *Certificates) writeFiles(pair *pki.Pair) (Files, error) {
	name := filepath.Join(c.dir, strconv.FormatInt(c.n.Add(1), 10))
	files := Files{Cert: name + ".pem", Key: name + "-key.pem", CA: c.caFile()}
	return files, pair.Write(files.Cert, files.Key, false)
}

func (c *Certificates) issue(tb testing.TB, name string) *pki.Pair {
	tb.Helper()
	pair, err := c.issuePair(name)
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

func (c *Certificates) issuePair(name string) (*pki.Pair, error) {
	now := time.Now()
	return c.CA.Issue(pki.CertOptions{CommonName: name, IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)})
}
