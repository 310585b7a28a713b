package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

// Store keeps the record of one cluster in a Lease. It is safe for concurrent use.
type Store struct {
	cfg     Config
	id      string // what this process writes as holder
	started time.Time
	turns   turns // to write

	mu     sync.Mutex
	client *client
	retire []*client // replaced by reloads
	closed bool
	// current is the newest state of the object that is known, nil if it is not known
	// whether it is still that, or that there is none. reads counts reads from their
	// begin, writes the answers of writes.
	current       *coordination.Lease
	reads, writes uint64
	memory        memory
	server        serverClock
	resume        time.Time // before that, the server wants no requests
	warned        map[string]bool
	unwatched     bool // the server does not let this node watch the Lease
}

var _ lease.Store = (*Store)(nil)

// New checks the configuration and reads the credentials. It sends nothing.
func New(cfg Config) (*Store, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	cr, err := cfg.load()
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	if cfg.LeaseNamespace == "" {
		if cr.namespace == "" {
			return nil, errors.New("kubernetes: the pod does not tell its namespace: set cluster.kubernetes.leaseNamespace")
		}
		cfg.LeaseNamespace = cr.namespace
	}
	c, err := cfg.dial(cr, cfg.LeaseNamespace)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	if cr.config.Insecure {
		cfg.Logger.Warn("the certificate of the API server is not verified: the kubeconfig says so", "server", c.server())
	}
	return &Store{cfg: cfg, id: holderID(cfg.HolderIdentity), started: time.Now(), client: c, warned: make(map[string]bool)}, nil
}

// now is the time since this store was made, by a clock that nobody sets.
func (s *Store) now() time.Duration { return time.Since(s.started) }

// Read reads the Lease.
func (s *Store) Read(ctx context.Context) (lease.Snapshot, error) {
	l, err := s.read(ctx)
	if err != nil {
		return lease.Snapshot{}, err
	}
	ran, err := ranOf(l)
	if err != nil {
		return lease.Snapshot{}, fmt.Errorf("the annotation %s of the Lease %s/%s: %w", ranKey, s.cfg.LeaseNamespace, s.cfg.LeaseName, err)
	}
	return lease.Snapshot{Record: s.recordOf(l), Ran: ran, Marks: marksOf(l)}, nil
}

// Reload takes over a kubeconfig, a token or certificates that have changed on disk. So
// does a request that the server refuses to hear.
func (s *Store) Reload() error {
	_, err := s.reload()
	return err
}

// reload reports whether there is anything new.
func (s *Store) reload() (changed bool, err error) {
	cr, err := s.cfg.load()
	if err != nil {
		return false, fmt.Errorf("kubernetes: the credentials in use stay: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || cr.print == s.client.credentials.print {
		return false, nil
	}
	c, err := s.cfg.dial(cr, s.cfg.LeaseNamespace)
	if err != nil {
		return false, fmt.Errorf("kubernetes: the credentials in use stay: %w", err)
	}
	s.client.transport.CloseIdleConnections() // those in use follow once they are not
	if s.client.credentials.plugin {
		s.retire = append(s.retire, s.client)
	}
	s.client = c
	s.cfg.Logger.Info("the credentials for the API server were read again", "server", c.server())
	return true, nil
}

// Close gives the connections back.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	clients := append(s.retire, s.client)
	s.retire = nil
	s.mu.Unlock()
	for _, c := range clients {
		c.close(s.cfg.ConnectTimeout)
	}
	return nil
}

// warnOnce logs a text for the first time only. mu is held.
func (s *Store) warnOnce(text string, args ...any) {
	if !s.warned[text] {
		s.warned[text] = true
		s.cfg.Logger.Warn(text, args...)
	}
}

// Tidy has nothing to do: every claim drops the watermarks that are too old.
func (s *Store) Tidy(context.Context, lease.Hold, time.Time, time.Duration) error { return nil }
