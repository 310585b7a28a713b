package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yacron2/yacron2/lease"
)

// watchFor is after how long the server ends a watch, which is then begun anew.
const watchFor = 10 * time.Minute

// Watch tells of other holders as the API server streams the changes of the Lease, where
// the account may do that. Where it may not, the server is asked once and never again:
// then the reads of every period find the next holder, as without a watch.
//
// A program that gives credentials cannot be interrupted, so that with one there is no
// watch either.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	for {
		s.mu.Lock()
		c, no := s.client, s.unwatched
		s.mu.Unlock()
		if no || c.credentials.plugin {
			<-ctx.Done()
			return ctx.Err()
		}
		if err := s.await(ctx, watch); err != nil {
			return err
		}
		err := s.follow(ctx, c, changed)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.noWatch(err):
			return err
		}
	}
}

// follow is one watch until it ends.
func (s *Store) follow(ctx context.Context, c *client, changed func()) error {
	// A holder renews the Lease each period, and each time the server tells. Longer silence
	// means that nobody holds it, or that the connection is dead.
	silence := 2 * s.cfg.Duration
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(silence, func() { cancel(fmt.Errorf("it has told nothing for %s", silence)) })
	defer timer.Stop()
	events, err := c.watch(ctx)
	if err != nil {
		s.learn(answer{}, err)
		return err
	}
	defer events.Close()
	var last *coordination.Lease
	for {
		l, err := events.next()
		if err != nil {
			return fmt.Errorf("the watch of the API server %s has ended: %w", c.server(), cmp.Or(context.Cause(ctx), err))
		}
		timer.Reset(silence)
		if last != nil && l != nil && holderOf(l) == holderOf(last) && holdingOf(l) == holdingOf(last) {
			continue // renewed, or only annotations are new
		}
		last = l
		if holderOf(l) != s.id {
			changed()
		}
	}
}

// noWatch reports whether an error means that there is no watch to be had, and notes it.
func (s *Store) noWatch(err error) bool {
	switch code(err) {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
	default:
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwatched = true
	s.cfg.Logger.Info("this node may not watch the Lease, so that it notices a leader that stops by reading it; "+
		"with the verb watch in the Role's rule for the Lease it would notice at once", "every", s.cfg.RetryPeriod, "error", err)
	return true
}

// events is a watch under way.
type events struct {
	io.Closer
	bound   *io.LimitedReader
	decoder *json.Decoder
}

// watch begins a watch. An answer that is none is a *refusal.
func (c *client) watch(ctx context.Context) (*events, error) {
	u, err := url.Parse(c.url(watch))
	if err != nil {
		return nil, err
	}
	u.RawQuery = url.Values{"watch": {"true"}, "fieldSelector": {"metadata.name=" + c.name},
		"timeoutSeconds": {strconv.Itoa(int(watchFor / time.Second))}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	sent := time.Now()
	resp, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(ctx, watch, err, time.Since(sent), atServer)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return nil, err
		}
		return nil, c.refused(watch, reply{code: resp.StatusCode, header: resp.Header, body: body})
	}
	bound := &io.LimitedReader{R: resp.Body}
	return &events{Closer: resp.Body, bound: bound, decoder: json.NewDecoder(bound)}, nil
}

// next waits for the next change and returns the Lease as it is then; nil if it is gone.
func (e *events) next() (*coordination.Lease, error) {
	for {
		var got struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		e.bound.N = maxAnswer
		if err := e.decoder.Decode(&got); err != nil {
			return nil, err
		}
		switch got.Type {
		case "ADDED", "MODIFIED":
			l := new(coordination.Lease)
			if err := json.Unmarshal(got.Object, l); err != nil {
				return nil, err
			}
			return l, nil
		case "DELETED":
			return nil, nil
		case "ERROR":
			var status meta.Status
			if err := json.Unmarshal(got.Object, &status); err != nil {
				return nil, err
			}
			return nil, errors.New(lease.OneLine(status.Message, mostText))
		}
	}
}
