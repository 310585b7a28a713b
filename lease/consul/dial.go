package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
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
	c, err := api.NewClient(&api.Config{
		Address:    strings.TrimSuffix(d.cfg.Address, "/"),
		Scheme:     scheme(d.cfg.Address), // else CONSUL_HTTP_SSL may decide
		Datacenter: d.cfg.Datacenter,
		Token:      "-", // else a file that the environment names is read
		HttpClient: &http.Client{Transport: &exact{cfg: d.cfg, token: m.Secret, next: transport}, CheckRedirect: noRedirect},
	})
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	d.current, d.transport, d.used = c, transport, m
	return c, nil
}

// exact makes requests say what the configuration says. Where that is silent, the client
// takes token, namespace and partition from the environment, in which an operator may
// have those of other programs.
type exact struct {
	cfg   *Config
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e *exact) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Consul-Token")
	if e.token != "" {
		r.Header.Set("X-Consul-Token", e.token)
	}
	query := r.URL.Query()
	for name, value := range map[string]string{"ns": e.cfg.Namespace, "partition": e.cfg.Partition} {
		if query.Del(name); value != "" {
			query.Set(name, value)
		}
	}
	r.URL.RawQuery = query.Encode()
	answer, err := e.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusOK && !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		_ = answer.Body.Close()
		return nil, errNotConsul
	}
	return answer, err
}

// errNotConsul: the client would take any page with the word true in it for a yes.
var errNotConsul = errors.New("something else than Consul answers there, with a page")

// noRedirect keeps the token from going where Consul's address does not point.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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

// The client tells of some answers only by these texts: of a transaction without the
// status, of a session without what Consul said.
const (
	failedRequest  = "Failed request:"
	unexpectedCode = "Unexpected response code: "
)

// refusal is what an error tells of an answer, 0 and false if there was none.
func refusal(err error) (code int, answered bool) {
	if status := (api.StatusError{}); errors.As(err, &status) {
		return status.Code, true
	}
	text := err.Error()
	if digits, ok := strings.CutPrefix(text, unexpectedCode); ok {
		code, _ = strconv.Atoi(strings.TrimSpace(digits)) // 0 is as good as any
		return code, true
	}
	return 0, strings.HasPrefix(text, failedRequest)
}

// failure puts an error into words: what happened, where, and what would help.
func (s *Store) failure(err error) error {
	code, answered := refusal(err)
	const mostText = 300
	text := lease.OneLine(strings.TrimPrefix(err.Error(), failedRequest), mostText)
	at := "consul at " + s.cfg.Address
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time from %s: %w", at, context.DeadlineExceeded)
	case errors.Is(err, errNotConsul):
		return fmt.Errorf("%s: %w", at, errNotConsul)
	case !answered:
		return fmt.Errorf("%s cannot be reached: %w", at, err)
	case code == http.StatusForbidden, strings.Contains(text, "Permission denied"), strings.Contains(text, "ACL not found"):
		return fmt.Errorf("%s refuses this node's token: its policy needs key_prefix %q and session_prefix \"\" with write: %s", at, s.key, text)
	case strings.Contains(text, "No cluster leader"):
		return fmt.Errorf("%s has no cluster leader at the moment: %s", at, text)
	case code == http.StatusTooManyRequests, strings.Contains(text, "rate limit exceeded"):
		return fmt.Errorf("%s limits its requests and has had too many: %s", at, text)
	}
	return fmt.Errorf("%s refused a request: %s", at, text)
}
