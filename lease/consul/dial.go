package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/yacron2/yacron2/lease"
)

// dialer makes the client, and anew when what it was made with has changed.
type dialer struct {
	cfg *Config

	mu        sync.Mutex
	current   *api.Client
	transport *http.Transport
	used      lease.Material
}

// client returns the client. Nothing is sent.
func (d *dialer) client() (*api.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		return d.current, nil
	}
	m, err := d.cfg.credentials().Read()
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	secure, err := m.TLS()
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: d.cfg.ConnectTimeout}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: d.cfg.ConnectTimeout,
		MaxIdleConnsPerHost: 4,
	}
	// An empty configuration, not the default one: what an operator has in the
	// environment for other programs must not decide here.
	c, err := api.NewClient(&api.Config{
		Address:    strings.TrimPrefix(strings.TrimPrefix(d.cfg.Address, "https://"), "http://"),
		Scheme:     scheme(d.cfg.Address),
		Datacenter: d.cfg.Datacenter,
		Namespace:  d.cfg.Namespace,
		Partition:  d.cfg.Partition,
		Token:      m.Secret,
		HttpClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	d.current, d.transport, d.used = c, transport, m
	return c, nil
}

func scheme(address string) string {
	if strings.HasPrefix(address, "https://") {
		return "https"
	}
	return "http"
}

// reload makes the next call use a new client if what the present one was made with has
// changed. New material that makes no sense leaves it as it is.
func (d *dialer) reload() error {
	m, err := d.cfg.credentials().Read()
	if err == nil {
		_, err = m.TLS()
	}
	if err != nil {
		return fmt.Errorf("consul: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil && !m.Equal(d.used) {
		d.transport.CloseIdleConnections()
		d.current = nil
	}
	return nil
}

func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
}

// failure puts an error into words: what happened, where, and what would help.
func (s *Store) failure(err error) error {
	var status api.StatusError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time from Consul at %s: %w", s.cfg.Address, context.DeadlineExceeded)
	case !errors.As(err, &status):
		return fmt.Errorf("consul at %s cannot be reached: %w", s.cfg.Address, err)
	case status.Code == http.StatusForbidden:
		return fmt.Errorf("consul refuses this node's token: its policy needs key_prefix %q and session_prefix \"\" with write: %w", s.key, err)
	case strings.Contains(status.Body, "No cluster leader"):
		return fmt.Errorf("consul has no cluster leader at the moment: %w", err)
	}
	return fmt.Errorf("consul: %w", err)
}
