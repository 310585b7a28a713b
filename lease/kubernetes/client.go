package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	coordination "k8s.io/api/coordination/v1"
)

// maxAnswer bounds what is read of an answer: an object has 1.5 MiB at most.
const maxAnswer = 4 << 20

// maxRequests bounds the requests of a client whose credentials come from a plugin. One
// that hangs cannot be interrupted.
const maxRequests = 4

// client speaks with one API server about one Lease, with one state of the credentials.
type client struct {
	name, namespace string
	credentials     *credentials
	http            *http.Client
	transport       *http.Transport

	slots chan struct{} // of requests through a plugin
	// requests are those through a plugin, which may outlast their context.
	requests sync.WaitGroup
}

func (c *Config) dial(cr *credentials, namespace string) (*client, error) {
	h, transport, err := cr.httpClient(c.ConnectTimeout)
	if err != nil {
		return nil, err
	}
	return &client{name: c.LeaseName, namespace: namespace, credentials: cr, http: h, transport: transport,
		slots: make(chan struct{}, maxRequests)}, nil
}

// server names the API server to people.
func (c *client) server() string {
	u := url.URL{Scheme: c.credentials.base.Scheme, Host: c.credentials.base.Host, Path: c.credentials.base.Path}
	return u.String()
}

func (c *client) url(v verb) string {
	path := []string{"apis/coordination.k8s.io/v1/namespaces", c.namespace, "leases"}
	if v != create && v != watch { // which go to all of them
		path = append(path, c.name)
	}
	return c.credentials.base.JoinPath(path...).String()
}

// stage is how far a request got.
type stage int32

const (
	atPlugin     stage = iota // its credentials are being made
	atConnecting              // it waits for a connection
	atServer                  // it may have been sent
)

// answer is what a server said.
type answer struct {
	lease *coordination.Lease // nil if it is something else
	// date is the server's clock in whole seconds, zero if it does not tell; sent is
	// when it was asked.
	date, sent time.Time
}

// do sends one request. An answer that is not the Lease is a *refusal.
func (c *client) do(ctx context.Context, v verb, l *coordination.Lease) (answer, error) {
	var body []byte
	if l != nil {
		var err error
		if body, err = json.Marshal(l); err != nil {
			return answer{}, unsent{fmt.Errorf("encoding the Lease: %w", err)}
		}
	}
	var at atomic.Int32
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { at.Store(int32(atConnecting)) },
		GotConn: func(httptrace.GotConnInfo) { at.Store(int32(atServer)) },
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), v.method(), c.url(v), bytes.NewReader(body))
	if err != nil {
		return answer{}, unsent{err}
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	sent := time.Now()
	r, err := c.send(ctx, request)
	if err != nil {
		return answer{}, c.broken(ctx, v, err, time.Since(sent), stage(at.Load()))
	}
	a := answer{sent: sent}
	a.date, _ = http.ParseTime(r.header.Get("Date"))
	if r.code != http.StatusOK && r.code != http.StatusCreated {
		return a, c.refused(v, r)
	}
	lease := new(coordination.Lease)
	if err := json.Unmarshal(r.body, lease); err != nil {
		return a, fmt.Errorf("the answer of the API server %s is no Lease: %w", c.server(), err)
	}
	if lease.Name != c.name || lease.ResourceVersion == "" {
		return a, fmt.Errorf("the answer of the API server %s is not the Lease %s/%s", c.server(), c.namespace, c.name)
	}
	a.lease = lease
	return a, nil
}

// reply is an answer as it was received.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// send sends a request and reads the answer.
func (c *client) send(ctx context.Context, request *http.Request) (reply, error) {
	if !c.credentials.plugin {
		return c.exchange(request)
	}
	// A program that gives credentials knows no context, so that the request is left
	// behind when the context ends. There are few of them, and Close waits for them.
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
	type result struct {
		reply reply
		err   error
	}
	done := make(chan result, 1)
	c.requests.Go(func() {
		defer func() { <-c.slots }()
		r, err := c.exchange(request)
		done <- result{r, err}
	})
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

func (c *client) exchange(request *http.Request) (reply, error) {
	resp, err := c.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errors.New("its answer is too long")
	}
	return reply{code: resp.StatusCode, header: resp.Header, body: body}, err
}

// close gives the connections back. Requests that wait for a plugin end first, for which
// there is a limit.
func (c *client) close(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for range maxRequests {
		select {
		case c.slots <- struct{}{}: // for good: nothing is sent any more
		case <-timer.C:
			return
		}
	}
	c.requests.Wait()
	c.transport.CloseIdleConnections()
}
