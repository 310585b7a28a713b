package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"
)

// certificates is the certificate of the https listeners, read again when its files
// change. Files that do not fit together, as in the middle of a renewal, leave the old
// one in use.
type certificates struct {
	mu                sync.Mutex
	certFile, keyFile string
	seen              [2]fileState // of current
	current           *tls.Certificate
}

func (c *certificates) setFiles(certFile, keyFile string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certFile != certFile || c.keyFile != keyFile {
		c.certFile, c.keyFile, c.current = certFile, keyFile, nil
	}
}

// get returns the certificate; it has the form of tls.Config.GetCertificate.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certFile == "" || c.keyFile == "" {
		return nil, errors.New("https needs web.tls.cert and web.tls.key")
	}
	// Before they are read: what changes meanwhile is seen the next time.
	seen := [2]fileState{stateOf(c.certFile), stateOf(c.keyFile)}
	if c.current != nil && seen == c.seen {
		return c.current, nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	switch {
	case err == nil:
		c.current, c.seen = &pair, seen
	case c.current == nil:
		return nil, fmt.Errorf("web.tls: %w", err)
	}
	return c.current, nil
}

// expiry returns when the certificate ends with which a client would be met now; zero if
// there is none.
func (c *certificates) expiry() time.Time {
	c.mu.Lock()
	configured := c.certFile != ""
	c.mu.Unlock()
	if !configured {
		return time.Time{}
	}
	pair, err := c.get(nil)
	if err != nil || pair.Leaf == nil {
		return time.Time{}
	}
	return pair.Leaf.NotAfter
}

// certificateExpiry returns when the certificate of the https listeners ends; zero without
// one.
func (s *webServer) certificateExpiry() time.Time { return s.certs.expiry() }
