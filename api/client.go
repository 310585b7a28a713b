package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// DefaultAddress is where a client looks for an agent if it is told nothing else.
const DefaultAddress = "http://127.0.0.1:8080"

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = time.Minute // until an answer begins: an agent may be frozen
	maxAnswerSize = 256 << 20   // far beyond the answer of ten thousand jobs
	maxErrorSize  = 64 << 10
)

// ClientConfig says where an agent is and how to talk to it.
type ClientConfig struct {
	// Address is http://HOST:PORT, https://HOST:PORT or unix:///PATH; HOST:PORT alone
	// means http. The first two may go on with the path under which a proxy serves
	// the agent. "" means DefaultAddress.
	Address string
	// Token is sent as bearer token, unless it is empty.
	Token string
	// CAFile names a PEM file of the authorities to trust for https instead of those
	// of the system; "" for the latter.
	CAFile string
}

// Client talks to one agent. It is safe for concurrent use.
type Client struct {
	address string // as configured, for people
	base    string // URL without a final slash
	token   string
	http    *http.Client
}

// NewClient returns a client for the agent of cfg, without contacting it.
func NewClient(cfg ClientConfig) (*Client, error) {
	address := cfg.Address
	if address == "" {
		address = DefaultAddress
	}
	full := address
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, errors.Unwrap(err))
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		ForceAttemptHTTP2:     true,
	}
	c := &Client{address: address, token: cfg.Token, http: &http.Client{Transport: transport}}
	switch u.Scheme {
	case "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return nil, fmt.Errorf("address %q: a socket needs an absolute path, as in unix:///run/yacron2.sock", address)
		}
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", u.Path)
		}
		c.base = "http://localhost"
	case "http", "https":
		switch {
		case u.Hostname() == "":
			return nil, fmt.Errorf("address %q: the host is missing", address)
		case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
			return nil, fmt.Errorf("address %q: only a scheme, a host, a port and a path may be given", address)
		}
		c.base = strings.TrimRight(u.String(), "/")
	default:
		return nil, fmt.Errorf("address %q: scheme %q is not supported: use http, https or unix", address, u.Scheme)
	}
	if cfg.CAFile != "" {
		pool, err := loadPool(cfg.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return c, nil
}

func loadPool(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("CA file %s holds no certificate in PEM form", file)
	}
	return pool, nil
}

// Address returns the address as it was configured.
func (c *Client) Address() string { return c.address }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Version returns the agent's version.
func (c *Client) Version(ctx context.Context) (string, error) {
	body, err := c.do(ctx, http.MethodGet, "/version", "text/plain")
	return strings.TrimSpace(string(body)), err
}

// JobSetID returns the id of the agent's job set.
func (c *Client) JobSetID(ctx context.Context) (JobSetID, error) {
	return get[JobSetID](ctx, c, "/job-set-id")
}

// Status returns the state of each job in configuration order.
func (c *Client) Status(ctx context.Context) ([]JobStatus, error) {
	return get[[]JobStatus](ctx, c, "/status")
}

// Jobs returns all jobs in configuration order.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	return get[[]Job](ctx, c, "/jobs")
}

// Job returns one job.
func (c *Client) Job(ctx context.Context, job string) (Job, error) {
	return get[Job](ctx, c, jobPath(job, ""))
}

// Runs returns the retained runs of one job.
func (c *Client) Runs(ctx context.Context, job string) (Runs, error) {
	return get[Runs](ctx, c, jobPath(job, "runs"))
}

// Start runs one job now on the agent asked. The run may be refused by the job's
// concurrency policy without an error.
func (c *Client) Start(ctx context.Context, job string) error {
	_, err := c.do(ctx, http.MethodPost, jobPath(job, "start"), "")
	return err
}

// Cancel ends the running instances of one job on the agent asked, and returns when
// they have ended.
func (c *Client) Cancel(ctx context.Context, job string) error {
	_, err := c.do(ctx, http.MethodPost, jobPath(job, "cancel"), "")
	return err
}

// Cluster returns the cluster as the agent sees it.
func (c *Client) Cluster(ctx context.Context) (Cluster, error) {
	return get[Cluster](ctx, c, "/cluster")
}

// Fleet returns the jobs of all nodes as far as the agent was told of them.
func (c *Client) Fleet(ctx context.Context) (Fleet, error) {
	return get[Fleet](ctx, c, "/fleet")
}

// jobPath returns the path of one job's resource, or of the job itself. Dots are escaped as well where they
// are all of the name, since a path segment of dots means a folder.
func jobPath(job, resource string) string {
	name := url.PathEscape(job)
	if job == "." || job == ".." {
		name = strings.ReplaceAll(job, ".", "%2E")
	}
	if resource == "" {
		return "/jobs/" + name
	}
	return "/jobs/" + name + "/" + resource
}

// get reads a JSON answer.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var answer T
	body, err := c.do(ctx, http.MethodGet, path, "application/json")
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s%s: %w: %w", c.address, path, ErrNotAgent, err)
	}
	return answer, nil
}

// do sends a request and returns the body of a successful answer. Other answers are
// an *Error, no answer is an *UnreachableError.
func (c *Client) do(ctx context.Context, method, path, accept string) ([]byte, error) {
	return c.send(ctx, method, path, accept, nil)
}

// send is do with a JSON body, nil for none.
func (c *Client) send(ctx context.Context, method, path, accept string, content []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	limit := int64(maxAnswerSize)
	failed := resp.StatusCode < 200 || resp.StatusCode > 299
	if failed {
		limit = maxErrorSize
	}
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case failed:
		return nil, &Error{Method: method, Path: path, StatusCode: resp.StatusCode, Body: string(body.Bytes()[:min(n, limit)])}
	case n > limit:
		return nil, fmt.Errorf("%s%s: %w: longer than %d bytes", c.address, path, ErrNotAgent, limit)
	}
	return body.Bytes(), nil
}

// unreachable strips the request from err: the address says all of it that matters.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.address, context.Cause(ctx))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &UnreachableError{Address: c.address, Err: err}
}
