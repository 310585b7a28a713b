package kubernetes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/lease"
)

// Whatever a server answers that is no Lease, people are told what it was and what it
// means, and nobody takes it for the end of a hold.
func TestAnswersThatAreNoLease(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"because\n of  this","reason":"X"}`
	answers := map[string]struct {
		code int
		body string
		want string
	}{
		"gone":              {410, status, "has given up the version of the Lease jobs/yacron2-leader that was asked for: because of this"},
		"not valid":         {422, status, "finds the Lease jobs/yacron2-leader not valid: because of this"},
		"bad request":       {400, status, "not valid: because of this"},
		"too big":           {413, "no Status at all", "finds the Lease jobs/yacron2-leader too big"},
		"too many":          {429, status, "has too many requests"},
		"error":             {500, status, "answered 500 Internal Server Error when asked to get the Lease jobs/yacron2-leader: because of this"},
		"unavailable":       {503, "<html>", "answered 503 Service Unavailable when asked to get the Lease jobs/yacron2-leader"},
		"gateway":           {504, status, "answered 504 Gateway Timeout"},
		"not authorized":    {401, status, "does not accept the credentials of this node"},
		"forbidden":         {403, "", "does not allow this node to get the Lease jobs/yacron2-leader: its account needs a Role in the namespace jobs"},
		"elsewhere":         {302, "", "answered 302 Found"},
		"no JSON":           {200, "hello", "is no Lease: invalid character"},
		"nothing":           {200, "", "is no Lease: unexpected end"},
		"another object":    {200, `{"kind":"Pod","metadata":{"name":"p","resourceVersion":"1"}}`, "is not the Lease jobs/yacron2-leader"},
		"without a version": {200, `{"metadata":{"name":"yacron2-leader"}}`, "is not the Lease"},
		"no end":            {200, strings.Repeat(" ", maxAnswer+1), "its answer is too long"},
	}
	for name, row := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if row.code == http.StatusFound {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(row.code)
				_, _ = io.WriteString(w, row.body) // the client may have gone
			}))
			defer server.Close()
			n := openBare(t, server.URL, io.Discard)
			_, err := n.Read(n.ctx())
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want it to say %q in one line", err, row.want)
			}
			if errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld) {
				t.Errorf("%v counts as the end of a hold", err)
			}
		})
	}
}

func TestNamespaceThatIsNone(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	r.Name = "default" // where the account has no rights
	n := r.connect(t, "node-a", nil)
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "needs a Role in the namespace default") {
		t.Errorf("a namespace without a Role: %v", err)
	}
}

func TestUserAgentAndProtocol(t *testing.T) {
	var agent, proto string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		agent, proto = q.UserAgent(), q.Proto
		http.NotFound(w, q)
	}))
	defer server.Close()
	n := openBare(t, server.URL, io.Discard)
	if s, err := n.Read(n.ctx()); err != nil || s.Record.Holder != "" || s.Record.Version != "" {
		t.Errorf("no Lease reads %+v, %v", s, err)
	}
	if !strings.HasPrefix(agent, "yacron2/") || proto != "HTTP/1.1" {
		t.Errorf("the server is asked by %q in %s", agent, proto)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": -1, "7": 7 * time.Second, "0": 0, "-1": -1, "x": -1, "99999999999": -1, "1.5": -1, "2x": -1,
		"Mon, 30 Nov 2026 04:00:09 GMT": 9 * time.Second, "Mon, 30 Nov 2026 03:00:00 GMT": 0} {
		got, ok := retryAfter(text, now)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q means %v, want %v", text, got, want)
		}
	}
}

// A server that wants no requests for an hour is asked again after one lease duration.
func TestRetryAfterIsBounded(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	n := openBare(t, server.URL, io.Discard)
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "(it asks to wait 1h0m0s)") {
		t.Errorf("the first read: %v", err)
	}
	if _, err := n.Read(limited(t, time.Second)); err == nil || asked != 1 {
		t.Errorf("a read within the pause: %v, asked %d times", err, asked)
	}
	n.mu.Lock()
	pause := time.Until(n.resume)
	n.mu.Unlock()
	if pause > shortDuration {
		t.Errorf("nothing is asked for %s, want at most %s", pause, shortDuration)
	}
}

func TestAmbiguousErrors(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want bool
	}{
		"none":            {nil, false},
		"cut off":         {io.ErrUnexpectedEOF, true},
		"no answer":       {context.DeadlineExceeded, true},
		"not sent":        {unsent{context.DeadlineExceeded}, false},
		"conflict":        {&refusal{code: 409}, false},
		"too many":        {&refusal{code: 429}, false},
		"gateway timeout": {&refusal{code: 504}, true},
	} {
		if got := ambiguous(row.err); got != row.want {
			t.Errorf("%s: %t, want %t", name, got, row.want)
		}
	}
	if err := (unsent{context.DeadlineExceeded}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errNotSent) {
		t.Error("an unsent error hides its cause")
	}
}
