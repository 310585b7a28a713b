package gossip

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// The application protocols of the one listener.
const (
	protoGossip = "yacron2-gossip/1"
	protoHTTP   = "http/1.1"
)

// maxPEM bounds each file in bytes.
const maxPEM = 4 << 20

// material is one set of TLS files as read at one moment. It is immutable.
type material struct {
	cert tls.Certificate
	pool *x509.CertPool
	sum  [sha256.Size]byte // over the three files
	// poolEnds is when the first of the authorities ends.
	poolEnds time.Time
}

// credentials holds the newest good material of three files. Files that are half
// written, or that do not belong together yet, never replace it.
type credentials struct {
	caFile, certFile, keyFile string

	mu      sync.Mutex // one refresh at a time
	badSum  [sha256.Size]byte
	current atomic.Pointer[material]
	problem atomic.Pointer[error] // why the files as they are can't be used; nil: they are in use
}

// load reads the files for the first time.
func (c *credentials) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	files, err := c.read()
	if err != nil {
		return err
	}
	m, err := files.parse()
	if err != nil {
		return err
	}
	c.current.Store(m)
	return nil
}

// get returns the newest good material.
func (c *credentials) get() *material { return c.current.Load() }

// expiry returns when this node's own certificate ends, and when the first of the
// authorities that it trusts does; zero if none is loaded.
func (c *credentials) expiry() (own, authority time.Time) {
	m := c.get()
	if m == nil || m.cert.Leaf == nil {
		return time.Time{}, time.Time{}
	}
	return m.cert.Leaf.NotAfter, m.poolEnds
}

// refresh looks at the files again and reports whether new material is in place. An
// error says why the files as they are now can't be used; the old material stays. The
// same bad files are reported once.
func (c *credentials) refresh() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, news, problem := c.look()
	if problem == nil {
		c.problem.Store(nil)
		return changed, nil
	}
	c.problem.Store(&problem)
	if !news {
		return changed, nil
	}
	return changed, problem
}

// unused returns why the files as they were last seen can't be used; nil if they are in
// use.
func (c *credentials) unused() error {
	if err := c.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// look does the work of refresh. An error that was told before is no news. mu is held.
func (c *credentials) look() (changed, news bool, err error) {
	files, err := c.read()
	if err != nil {
		// Files that can't be read have no content to compare: their message stands
		// for it, so that it too is reported once.
		return false, c.first(sha256.Sum256([]byte(err.Error()))), err
	}
	sum := files.sum()
	if sum == c.get().sum {
		c.badSum = [sha256.Size]byte{}
		return false, false, nil
	}
	m, err := files.parse()
	if err != nil {
		return false, c.first(sum), err
	}
	c.badSum = [sha256.Size]byte{}
	c.current.Store(m)
	return true, true, nil
}

// first reports whether the newest failure had another cause than this one.
func (c *credentials) first(sum [sha256.Size]byte) bool {
	if c.badSum == sum {
		return false
	}
	c.badSum = sum
	return true
}

// pemFiles is the content of the three files.
type pemFiles struct {
	paths         *credentials
	ca, cert, key []byte
}

// read reads the files until two readings in a row are the same: a bundle that is
// being written piece by piece must not count as whole when a piece happens to end at
// the end of a certificate.
func (c *credentials) read() (*pemFiles, error) {
	read := func() (*pemFiles, error) {
		f := &pemFiles{paths: c}
		for _, x := range []struct {
			path string
			into *[]byte
		}{{c.caFile, &f.ca}, {c.certFile, &f.cert}, {c.keyFile, &f.key}} {
			info, err := os.Stat(x.path)
			if err != nil {
				return nil, err
			}
			if info.Size() > maxPEM {
				return nil, fmt.Errorf("%s: %d bytes are too many for a PEM file", x.path, info.Size())
			}
			if *x.into, err = os.ReadFile(x.path); err != nil {
				return nil, err
			}
		}
		return f, nil
	}
	files, err := read()
	if err != nil {
		return nil, err
	}
	if m := c.get(); m == nil || files.sum() == m.sum {
		return files, nil // nothing to replace it with, or nothing to replace
	}
	ticker := time.NewTicker(settleTime)
	defer ticker.Stop()
	for range settleTries {
		<-ticker.C
		next, err := read()
		if err != nil {
			return nil, err
		}
		if next.sum() == files.sum() {
			return files, nil
		}
		files = next
	}
	return nil, fmt.Errorf("%s, %s or %s is still being written", c.caFile, c.certFile, c.keyFile)
}

// Changed files must stay the same for settleTime; this often they may change before
// that is an error.
const (
	settleTime  = 50 * time.Millisecond
	settleTries = 10
)

// sum returns a digest of all three files.
func (f *pemFiles) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, b := range [][]byte{f.ca, f.cert, f.key} {
		fmt.Fprintf(h, "%d:", len(b))
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// parse checks the files as far as that is possible without a peer.
func (f *pemFiles) parse() (*material, error) {
	cert, err := tls.X509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", f.paths.certFile, f.paths.keyFile, err)
	}
	pool, ends, err := parsePool(f.ca)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.paths.caFile, err)
	}
	return &material{cert: cert, pool: pool, sum: f.sum(), poolEnds: ends}, nil
}

// parsePool is strict where x509.CertPool.AppendCertsFromPEM is not: a block cut off
// in the middle is an error. It also tells when the first certificate ends.
func parsePool(data []byte) (pool *x509.CertPool, ends time.Time, err error) {
	pool = x509.NewCertPool()
	n := 0
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, time.Time{}, err
		}
		pool.AddCert(cert)
		if n == 0 || cert.NotAfter.Before(ends) {
			ends = cert.NotAfter
		}
		n++
	}
	if bytes.Contains(data, []byte("-----BEGIN")) {
		return nil, time.Time{}, fmt.Errorf("a PEM block is not whole")
	}
	if n == 0 {
		return nil, time.Time{}, fmt.Errorf("no certificate in PEM form")
	}
	return pool, ends, nil
}

// serverConfig returns the TLS configuration of the listener. It asks for the material
// anew at every handshake, so that a rotation needs no restart. Sessions are not
// resumed: a resumed one would skip the check against the current CA.
func (c *credentials) serverConfig(verify func(tls.ConnectionState) error) *tls.Config {
	base := func(m *material) *tls.Config {
		return &tls.Config{
			MinVersion:             tls.VersionTLS13,
			Certificates:           []tls.Certificate{m.cert},
			ClientAuth:             tls.RequireAndVerifyClientCert,
			ClientCAs:              m.pool,
			NextProtos:             []string{protoGossip, protoHTTP},
			SessionTicketsDisabled: true,
			VerifyConnection:       verify,
		}
	}
	config := base(c.get())
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return base(c.get()), nil }
	return config
}

// clientConfig returns the TLS configuration of one dial to a peer whose certificate
// must name server.
func (c *credentials) clientConfig(server string) *tls.Config {
	m := c.get()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Not Certificates: those are withheld from a peer that trusts another CA,
		// which could then only complain that there is none.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &m.cert, nil },
		RootCAs:              m.pool,
		ServerName:           server,
		NextProtos:           []string{protoGossip},
	}
}
