package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificates is the certificate of the https listeners, read again when its files
// change. Files that do not fit together, as in the middle of a renewal, leave the old
// one in use.
type certificates struct {
	mu                sync.Mutex
	certFile, keyFile string
	stamp             [2]fileStamp
	current           *tls.Certificate
}

// fileStamp tells one content of a file from the next without reading it.
type fileStamp struct {
	modified time.Time
	size     int64
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
	stamp, err := stampOf(c.certFile, c.keyFile)
	if err == nil && c.current != nil && stamp == c.stamp {
		return c.current, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
			c.current, c.stamp = &pair, stamp
			return c.current, nil
		}
	}
	if c.current != nil {
		return c.current, nil
	}
	return nil, fmt.Errorf("web.tls: %w", err)
}

func stampOf(files ...string) (stamp [2]fileStamp, err error) {
	for i, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return stamp, nil
}
