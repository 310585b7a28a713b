package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// fuzzAgent is an agent whose handlers are called without a connection.
func fuzzAgent(f *testing.F) *Agent {
	f.Helper()
	file := filepath.Join(f.TempDir(), "agent.yaml")
	text := "web: {listen: [], tokens: [{name: t, scope: operate, value: secret}]}\n" + contractJobs
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	log := &lockedBuffer{}
	a, err := New(Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: log, Stderr: log})
	if err != nil {
		f.Fatal(err)
	}
	if err := a.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		a.CancelRunning()
		if err := a.Stop(ctx); err != nil {
			f.Error(err)
		}
	})
	return a
}

// Whatever a request holds, the answer is one that is described.
func FuzzRequest(f *testing.F) {
	for _, op := range theContract(f).operations() {
		f.Add(op.method, operationPath(op), "", "application/json", "", `{"seconds": 5}`)
	}
	f.Add("GET", "/jobs/boot/next", "n=5&from=2026-03-01T00:00:00Z", "", "", "")
	f.Add("GET", "/schedule/next", "schedule=*/5+8-18+*+*+mon-fri&timezone=Europe/Berlin&n=12", "application/json", "", "")
	f.Add("GET", "/schedule/next", "minute=30&hour=2&dayOfMonth=L&dayMatch=or&utc=off&from=2026-03-01T00:00:00Z", "", "", "")
	f.Add("GET", "/schedule/next", "schedule=61+*+*+*+*&schedule=x&timezone=Europa/Berlin", "application/json", "", "")
	f.Add("GET", "/jobs/boot/why", "at=2026-03-01T00:00:00%2B01:00", "*/*", "", "")
	f.Add("GET", "/jobs/boot/logs", "follow=false", "text/event-stream", "x-5", "")
	f.Add("GET", "/events", "kind=role,missed&job=boot", "text/event-stream", "0123-7", "")
	f.Add("GET", "/monitor", "level=TRACE&last=7", "text/event-stream", "0123-7", "")
	f.Add("GET", "/monitor", "level=critical&last=+1e3", "application/json", "-", "")
	f.Add("GET", "/metrics", "", "application/openmetrics-text", "", "")
	f.Add("HEAD", "/jobs/a%2Fb%20%C3%BC", "%zz;=&&", "application/json;q=0", "\xff", "")
	a, c := fuzzAgent(f), theContract(f)
	handler := a.web.guard.Load()
	f.Fuzz(func(t *testing.T, method, path, query, accept, lastEvent, body string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return // the server answers that itself
		}
		u.RawQuery = query
		// Streams end with their reader, which has nothing to wait for.
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header = http.Header{"Authorization": {"Bearer secret"}, "Accept": {accept}, "Last-Event-Id": {lastEvent}}
		if op := c.find(method, u.EscapedPath()); op != nil && (strings.HasSuffix(op.path, "/logs") || slices.Contains([]string{"/events", "/monitor"}, op.path)) {
			cancel()
		}
		defer cancel()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if err := c.check(method, u.EscapedPath(), w.Code, w.Header(), w.Body.Bytes()); err != nil {
			t.Errorf("%s %s?%s: %v", method, path, query, err)
		}
	})
}

// FuzzAuthorization looks for a header that opens what it should not.
func FuzzAuthorization(f *testing.F) {
	f.Add("Bearer secret", "/jobs")
	f.Add("bearer secret ", "/health")
	f.Add("Bearer\tsecret", "/health/../jobs")
	f.Add("Bearer caf\xe9", "/ready?x")
	g := newGuard([]token{newToken("t", "secret", scopeRead)}, nil, []string{pathHealth, pathReady}, nil, served)
	f.Fuzz(func(t *testing.T, header, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = u
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		scheme, secret, _ := strings.Cut(header, " ")
		right := strings.EqualFold(scheme, "bearer") && secret == "secret"
		open := u.EscapedPath() == "/health" || u.EscapedPath() == "/ready"
		if (w.Code == http.StatusNoContent) != (right || open) {
			t.Errorf("%q for %q: %d", header, path, w.Code)
		}
	})
}

// FuzzPause reads any body into a pause within the bounds, or says what is wrong.
func FuzzPause(f *testing.F) {
	f.Add(`{"seconds": 5, "note": "x", "by": "y"}`)
	f.Add(`{"seconds": 1e999}`)
	f.Add(`{} `)
	f.Fuzz(func(t *testing.T, body string) {
		request, problem := pauseRequest(strings.NewReader(body))
		if problem != "" {
			return
		}
		if request.Seconds != nil && !(*request.Seconds >= 1 && *request.Seconds <= longestPause.Seconds()) {
			t.Errorf("%q: %v seconds", body, *request.Seconds)
		}
		if _, err := api.Marshal(request); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	})
}
