package agent

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yacron2/yacron2/agent/config"
)

// expiry is when a certificate in use ends.
type expiry struct {
	use string // cluster, cluster_ca or web
	at  time.Time
}

// expiries lists when the certificates end that this node uses, and the authority that ends
// first. That is not what the files tell once those can't be used: then the old ones stay in
// use, and come to their end. Only what nothing uses yet is read from the files.
func (a *Agent) expiries() []expiry {
	inUse := make(map[string]time.Time)
	inUse["cluster"], inUse["cluster_ca"] = a.coordination.CertificateExpiry()
	inUse["web"] = a.web.certificateExpiry()
	list := a.ends.of(a.config.Load())
	for use, at := range inUse {
		if at.IsZero() {
			continue
		}
		if i := slices.IndexFunc(list, func(e expiry) bool { return e.use == use }); i >= 0 {
			list[i].at = at
		} else {
			list = append(list, expiry{use, at})
		}
	}
	slices.SortFunc(list, func(a, b expiry) int { return strings.Compare(a.use, b.use) })
	return list
}

// expiries reads when the certificates of a configuration end: those of this node, and
// the authority that ends first. Files are read again when they have changed; what
// cannot be read is left out.
type expiries struct {
	mu    sync.Mutex
	known map[string]knownExpiry // by file
}

type knownExpiry struct {
	seen fileState
	at   time.Time
}

// of lists when the certificates of a configuration end.
func (e *expiries) of(cfg *config.Config) []expiry {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.known
	e.known = make(map[string]knownExpiry)
	var list []expiry
	add := func(use, file string, end func([]*x509.Certificate) time.Time) {
		if file == "" {
			return
		}
		seen := stateOf(file)
		known, ok := before[file]
		if !ok || known.seen != seen {
			data, err := os.ReadFile(file)
			if err != nil {
				return
			}
			known = knownExpiry{seen: seen, at: end(certificatesIn(data))}
		}
		e.known[file] = known
		if !known.at.IsZero() {
			list = append(list, expiry{use, known.at})
		}
	}
	if c := cfg.Cluster; c != nil && c.Gossip != nil {
		add("cluster", c.Gossip.CertFile, firstEnd)
		add("cluster_ca", c.Gossip.CAFile, earliestEnd)
	}
	if cfg.Web != nil {
		add("web", cfg.Web.CertFile, firstEnd)
	}
	return list
}

// certificatesIn returns the certificates of a PEM file, as far as they can be read.
func certificatesIn(data []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return list
		}
		data = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, cert)
		}
	}
}

// firstEnd is the end of the certificate that is shown to others.
func firstEnd(list []*x509.Certificate) (end time.Time) {
	if len(list) > 0 {
		end = list[0].NotAfter
	}
	return end
}

// earliestEnd is the first end of any.
func earliestEnd(list []*x509.Certificate) (end time.Time) {
	for _, cert := range list {
		if end.IsZero() || cert.NotAfter.Before(end) {
			end = cert.NotAfter
		}
	}
	return end
}
