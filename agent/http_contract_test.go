package agent

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// contractRun exchanges requests with agents, holds the answers to the description, and
// remembers which of its answers came up.
type contractRun struct {
	t    *testing.T
	c    *contract
	seen map[string]bool // operation and status
}

// answer is one answer, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// exchange sends a request; the body of a stream is read up to its first event.
func (x *contractRun) exchange(transport *http.Transport, method, path string, header http.Header, content string) answer {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, strings.NewReader(content))
	if err != nil {
		x.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		x.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || strings.Contains(path, "follow=false") {
		if _, err := body.ReadFrom(resp.Body); err != nil {
			x.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	escaped := req.URL.EscapedPath()
	if err := x.c.check(method, escaped, resp.StatusCode, resp.Header, body.Bytes()); err != nil && method != http.MethodHead {
		x.t.Errorf("%s %s: %v", method, path, err)
	}
	if op := x.c.find(method, escaped); op != nil {
		x.seen[op.String()+" "+strconv.Itoa(resp.StatusCode)] = true
	}
	return answer{resp.StatusCode, resp.Header, body.String()}
}

const contractJobs = `
jobs:
  - name: "a/b ü"
    command: echo one
    schedule: "@yearly"
    captureStdout: true
  - name: off
    command: "true"
    schedule: "@daily"
    enabled: false
  - name: long
    command: exec sleep 600
    schedule: "@yearly"
  - name: boot
    command: "true"
    schedule: "@reboot"
`

var asJSON = http.Header{"Accept": {"application/json"}}

// TestContract asks every route for every answer that is described.
func TestContract(t *testing.T) {
	x := &contractRun{t: t, c: theContract(t), seen: map[string]bool{}}
	x.answers()
	x.withTokens()
	x.byAnotherName()
	x.withoutRoom()
	x.whileStopping()
	for _, op := range x.c.operations() {
		for status := range at(op.spec, "responses").(map[string]any) {
			if !x.seen[op.String()+" "+status] {
				t.Errorf("%s never answers %s", op, status)
			}
		}
	}
}

// answers are those of an agent that works.
func (x *contractRun) answers() {
	t := x.t
	a := startAgent(t, contractJobs, "  headers: {X-Extra: yes}\n")
	transport := a.transport()
	eventually(t, "the @reboot job ran", func() bool {
		runs, err := a.client.Runs(t.Context(), "boot")
		return err == nil && runs.Stats.Total == 1
	})
	const slash = "/jobs/a%2Fb%20%C3%BC"
	notFound := "404: Not Found"
	for _, step := range []struct {
		method, path string
		header       http.Header
		content      string
		status       int
		media        string
		body         string // begins with
	}{
		{"GET", "/version", nil, "", 200, "text/plain; charset=utf-8", ""},
		{"GET", "/health", nil, "", 200, "text/plain; charset=utf-8", "ok"},
		{"GET", "/ready", asJSON, "", 200, contentTypeJSON, `{"ok":true}`},
		{"GET", "/job-set-id", nil, "", 200, "text/plain; charset=utf-8", "v1:"},
		{"GET", "/job-set-id", asJSON, "", 200, contentTypeJSON, `{"job_set_id":"v1:`},
		{"GET", "/job-set-id", http.Header{"Accept": {"text/html, application/json;q=0.1"}}, "", 200, contentTypeJSON, `{`},
		{"GET", "/job-set-id", http.Header{"Accept": {"application/*, */*"}}, "", 200, "text/plain; charset=utf-8", "v1:"},
		{"GET", "/status", nil, "", 200, "text/plain; charset=utf-8", "a/b ü: scheduled (in "},
		{"GET", "/status", asJSON, "", 200, contentTypeJSON, `[{"job":"a/b \u00fc","status":"scheduled","scheduled_in":`},
		{"GET", "/jobs", nil, "", 200, contentTypeJSON, `[{"name":"a/b \u00fc","enabled":true,`},
		{"GET", slash, nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc",`},
		{"GET", "/jobs/%61%2Fb%20%c3%bc?x=y", nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc",`},
		{"GET", "/jobs/a/b%20%C3%BC", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/jobs/none", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/jobs/none", asJSON, "", 404, contentTypeJSON, `{"error":"Not Found"}`},
		{"GET", slash + "/next", nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc","enabled":true,"schedule":"@yearly","timezone":"UTC","firings":[{"at":"`},
		{"GET", slash + "/next?n=0", asJSON, "", 400, contentTypeJSON, `{"error":"n must be`},
		{"GET", "/jobs/none/next", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/schedule/next?schedule=@daily&timezone=Europe/Berlin&n=2", nil, "", 200, contentTypeJSON, `{"schedule":"@daily","canonical":"0 0 0 * * * *","timezone":"Europe/Berlin","firings":[{"at":"`},
		{"GET", "/schedule/next?schedule=@reboot", nil, "", 200, contentTypeJSON, `{"schedule":"@reboot","canonical":"@reboot","timezone":"UTC","firings":[],"warnings":[],"jobs":["boot"],"jobs_total":1}`},
		{"GET", "/schedule/next?schedule=61+*+*+*+*", nil, "", 400, "text/plain; charset=utf-8", `the schedule "61 * * * *" cannot be read: minute "61": `},
		{"GET", "/schedule/next?minute=61", asJSON, "", 400, contentTypeJSON, `{"error":"the schedule \"61 * * * *\" cannot be read: minute \"61\": `},
		{"GET", "/schedule/next?schedule=@daily&n=0", asJSON, "", 400, contentTypeJSON, `{"error":"n must be`},
		{"GET", "/schedule/next?schedule=%zz", nil, "", 400, "text/plain; charset=utf-8", "the query is not encoded as it must be"},
		{"GET", slash + "/runs", nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc","runs":[],"stats":{"total":0,"success":0,"failure":0,"cancelled":0,"success_rate":null,`},
		{"GET", "/jobs/boot/runs", nil, "", 200, contentTypeJSON, `{"name":"boot","runs":[{"outcome":"success","exit_code":0,`},
		{"GET", "/jobs/none/runs", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", slash + "/why", nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc","node":"node-a","now":{`},
		{"GET", slash + "/why?at=2026-01-01T00:00:00Z", nil, "", 200, contentTypeJSON, `{"name":"a/b \u00fc","node":"node-a","decisions":[],"missed":[],"runs":[]}`},
		{"GET", slash + "/why?at=x", nil, "", 400, "text/plain; charset=utf-8", "at must be an instant"},
		{"GET", "/jobs/none/why", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", slash + "/logs?follow=false", nil, "", 200, "text/event-stream", "event: end\ndata: {\"reason\":\"no-output\"}\n\n"},
		{"GET", slash + "/logs?follow=maybe", nil, "", 400, "text/plain; charset=utf-8", "follow must be"},
		{"GET", "/jobs/none/logs", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/events", nil, "", 200, "text/event-stream", ""},
		{"GET", "/events?kind=x", nil, "", 400, "text/plain; charset=utf-8", "there is no kind"},
		{"GET", "/monitor", nil, "", 200, "text/event-stream", ""},
		{"GET", "/monitor?level=Debug&last=5", asJSON, "", 200, "text/event-stream", ""},
		{"GET", "/monitor?level=high", asJSON, "", 400, contentTypeJSON, `{"error":"there is no level 'high': the levels are trace,`},
		{"GET", "/monitor?level=off", nil, "", 400, "text/plain; charset=utf-8", "there is no level 'off'"},
		{"GET", "/monitor?last=1025", nil, "", 400, "text/plain; charset=utf-8", "last must be a number from 0 to 1024, not '1025'"},
		{"GET", "/metrics", nil, "", 200, "text/plain; version=0.0.4; charset=utf-8", "# HELP "},
		{"GET", "/openapi.yaml", nil, "", 200, "application/yaml", "openapi: 3.1.0\n"},
		{"GET", "/cluster", nil, "", 200, contentTypeJSON, `{"enabled":false,"peers":[]}`},
		{"GET", "/fleet", nil, "", 200, contentTypeJSON, `{"enabled":false,"nodes":[]}`},
		{"GET", "/config/status", nil, "", 200, contentTypeJSON, `{"state":"loaded","trigger":"start",`},
		{"POST", slash + "/start", nil, "ignored", 200, "application/octet-stream", ""},
		{"POST", "/jobs/off/start", nil, "", 409, "text/plain; charset=utf-8", "job 'off' is disabled"},
		{"POST", "/jobs/none/start", asJSON, "", 404, contentTypeJSON, `{"error":"Not Found"}`},
		{"POST", "/jobs/long/cancel", asJSON, "", 409, contentTypeJSON, `{"error":"job 'long' is not running"}`},
		{"POST", "/jobs/long/start", nil, "", 200, "application/octet-stream", ""},
		{"POST", "/jobs/long/cancel", nil, "", 200, "application/octet-stream", ""},
		{"POST", "/jobs/none/cancel", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"POST", "/jobs/off/pause", nil, "", 200, contentTypeJSON, `{"since":"`},
		{"POST", "/jobs/off/pause", nil, `{"seconds":5,"note":"\u00fc","by":"x"}`, 200, contentTypeJSON, `{"since":"`},
		{"POST", "/jobs/off/pause", nil, `{`, 400, "text/plain; charset=utf-8", "the body must be JSON"},
		{"POST", "/jobs/none/pause", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/jobs/off", nil, "", 200, contentTypeJSON, `{"name":"off",`},
		{"GET", "/status", asJSON, "", 200, contentTypeJSON, `[{"job":"a/b`},
		{"POST", "/jobs/off/resume", nil, "", 200, "application/octet-stream", ""},
		{"POST", "/jobs/off/resume", nil, "", 409, "text/plain; charset=utf-8", "job 'off' is not paused"},
		{"POST", "/jobs/none/resume", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"POST", "/reload", nil, "", 200, contentTypeJSON, `{"state":"loaded","trigger":"api",`},
		{"GET", "/", nil, "", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"GET", "/", http.Header{"If-None-Match": {"*"}}, "", 304, "", ""},
		{"GET", "/ui/index.html", nil, "", 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"GET", "/ui/store.js", nil, "", 200, "text/javascript; charset=utf-8", ""},
		{"GET", "/ui/theme.css", nil, "", 200, "text/css; charset=utf-8", ""},
		{"GET", "/ui/icon.svg", nil, "", 200, "image/svg+xml; charset=utf-8", "<svg "},
		{"GET", "/ui/icon.svg", http.Header{"If-None-Match": {"*"}}, "", 304, "", ""},
		{"GET", "/ui/none.js", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/ui/ui.go", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/ui/", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/nowhere", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"GET", "/jobs/", nil, "", 404, "text/plain; charset=utf-8", notFound},
		{"DELETE", "/jobs", nil, "", 405, "text/plain; charset=utf-8", "405: Method Not Allowed"},
		{"PUT", "/jobs/off/start", asJSON, "", 405, contentTypeJSON, `{"error":"Method Not Allowed"}`},
	} {
		got := x.exchange(transport, step.method, step.path, step.header, step.content)
		if got.status != step.status || got.header.Get("Content-Type") != step.media || !strings.HasPrefix(got.body, step.body) {
			t.Errorf("%s %s: %d %s %.200q, want %d %s %q", step.method, step.path, got.status, got.header.Get("Content-Type"), got.body, step.status, step.media, step.body)
		}
		// The configured headers are on what succeeds, and on what is refused with a
		// reason of its own.
		extra := got.header.Get("X-Extra") == "yes"
		if want := !slices.Contains([]int{404, 405}, step.status); extra != want {
			t.Errorf("%s %s: %d, X-Extra %v", step.method, step.path, step.status, extra)
		}
		// What a request has named may come back: no browser is to take it for a page.
		if got.body != "" && step.media != "text/event-stream" && got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d may be sniffed", step.method, step.path, step.status)
		}
		if step.status == 200 && step.method == "POST" && step.body == "" && got.header.Get("Content-Length") != "0" {
			t.Errorf("%s %s: Content-Length %q", step.method, step.path, got.header.Get("Content-Length"))
		}
		if step.method != "GET" || step.media == "text/event-stream" && !strings.Contains(step.path, "follow=") {
			continue
		}
		head := x.exchange(transport, "HEAD", step.path, step.header, "")
		if head.status != step.status || head.header.Get("Content-Type") != step.media || head.body != "" {
			t.Errorf("HEAD %s: %d %s %q", step.path, head.status, head.header.Get("Content-Type"), head.body)
		}
	}
	a.write("jobs.yaml", "jobs: 5\n")
	if got := x.exchange(transport, "POST", "/reload", nil, ""); got.status != 422 || !strings.HasPrefix(got.body, `{"state":"failed"`) {
		t.Errorf("a reload with errors: %d %s", got.status, got.body)
	}
	off := startAgent(t, someJobs, "  metrics: false\n  ui: false\n")
	for _, path := range []string{"/", "/ui/app.js"} {
		if got := x.exchange(off.transport(), "GET", path, nil, ""); got.status != 404 || got.body != notFound {
			t.Errorf("%s of a dashboard that is off: %d %s", path, got.status, got.body)
		}
	}
	if got := x.exchange(off.transport(), "GET", "/metrics", nil, ""); got.status != 404 || got.body != notFound {
		t.Errorf("metrics that are off: %d %s", got.status, got.body)
	}
}

// operationPath returns a path of an operation.
func operationPath(op operation) string {
	path := strings.NewReplacer("{name}", "long", "{file}", "index.html").Replace(op.path)
	if path == "/schedule/next" {
		path += "?schedule=@daily"
	}
	return path
}

// withTokens asks without one, with one that may only read, from another site, and with
// too many wrong ones.
func (x *contractRun) withTokens() {
	t := x.t
	a := startAgent(t, contractJobs, "    - http://127.0.0.1:0\n  tokens:\n    - {name: look, scope: read, value: reading}\n    - {name: work, scope: operate, value: secret}\n")
	unix, tcp := a.transport(), &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", a.tcpAddress())
	}}
	t.Cleanup(tcp.CloseIdleConnections)
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	for range failuresAtOnce {
		if got := x.exchange(tcp, "GET", "/version", bearer("wrong"), ""); got.status != 401 && got.status != 429 {
			t.Fatalf("a wrong token: %d", got.status)
		}
	}
	for _, op := range x.c.operations() {
		path := operationPath(op)
		if at(op.spec, "security") != nil {
			if got := x.exchange(unix, op.method, path, nil, ""); got.status != 200 {
				t.Errorf("%s without a token: %d", op, got.status)
			}
			continue
		}
		if got := x.exchange(unix, op.method, path, nil, ""); got.status != 401 || got.body != "401: Unauthorized" || got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s without a token: %d %q %v", op, got.status, got.body, got.header)
		}
		eventually(t, op.String()+" is refused for a while", func() bool {
			got := x.exchange(tcp, op.method, path, bearer("wrong"), "")
			return got.status == 429 && got.header.Get("Retry-After") != ""
		})
		if op.method == "GET" && !operating[op.path] {
			continue
		}
		if got := x.exchange(unix, op.method, path, bearer("reading"), ""); got.status != 403 || got.body != "403: this token may only read" {
			t.Errorf("%s with a token that may only read: %d %q", op, got.status, got.body)
		}
		if op.method == "GET" {
			continue
		}
		foreign := bearer("secret")
		foreign.Set("Origin", "https://evil.example")
		if got := x.exchange(unix, op.method, path, foreign, ""); got.status != 403 {
			t.Errorf("%s from another site: %d", op, got.status)
		}
	}
	if job, err := a.client.Job(t.Context(), "long"); err != nil || job.Running || job.Paused != nil {
		t.Errorf("something was done all the same: %+v, %v", job, err)
	}
	if got := x.exchange(unix, "POST", "/nowhere?token=secret", nil, ""); got.status != 401 {
		t.Errorf("a token in the query: %d", got.status)
	}
}

// byAnotherName asks an agent without tokens by a name that is not its own.
func (x *contractRun) byAnotherName() {
	a := startAgent(x.t, contractJobs, "    - http://127.0.0.1:0\n")
	tcp := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", a.tcpAddress())
	}}
	x.t.Cleanup(tcp.CloseIdleConnections)
	for _, op := range x.c.operations() {
		want := 421
		if at(op.spec, "security") != nil {
			want = 200
		}
		got := x.exchange(tcp, op.method, operationPath(op), asJSON, "")
		if got.status != want || want == 421 && !strings.Contains(got.body, "does not answer to the name 'agent'") {
			x.t.Errorf("%s by another name: %d %s", op, got.status, got.body)
		}
	}
	if job, err := a.client.Job(x.t.Context(), "long"); err != nil || job.Running || job.Paused != nil {
		x.t.Errorf("something was done all the same: %+v, %v", job, err)
	}
}

// withoutRoom asks for streams where there are too many.
func (x *contractRun) withoutRoom() {
	a := startAgent(x.t, contractJobs, "")
	a.streams.limit = 0
	for _, path := range []string{"/events", "/monitor", "/jobs/long/logs"} {
		if got := x.exchange(a.transport(), "GET", path, asJSON, ""); got.status != 503 || got.header.Get("Retry-After") == "" {
			x.t.Errorf("%s without room: %d", path, got.status)
		}
	}
	a.streams.limit = 1
	if got := x.exchange(a.transport(), "GET", "/jobs/long/logs", nil, ""); got.status != 200 {
		x.t.Errorf("logs: %d", got.status)
	}
}

// whileStopping asks an agent that waits for its last run.
func (x *contractRun) whileStopping() {
	t := x.t
	pipe := filepath.Join(t.TempDir(), "pipe")
	makeFIFO(t, pipe)
	// Of the other one as many may start as come before the stop: they end by themselves.
	a := startAgent(t, "jobs:\n  - name: long\n    command: read x < "+pipe+"\n    schedule: '@yearly'\n"+
		"  - name: other\n    command: 'true'\n    schedule: '@yearly'\n", "")
	if err := a.client.Start(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(context.Background()) }()
	transport := a.transport()
	for _, route := range []string{"GET /ready", "POST /jobs/other/start", "POST /reload"} {
		method, path, _ := strings.Cut(route, " ")
		eventually(t, route+" is refused", func() bool {
			got := x.exchange(transport, method, path, nil, "")
			return got.status == 503 && strings.HasPrefix(got.body, "the agent is stopping")
		})
	}
	if got := x.exchange(transport, "GET", "/jobs", nil, ""); got.status != 200 {
		t.Errorf("looking at an agent that stops: %d", got.status)
	}
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Requests that are not what they should be harm nobody.
func TestOddRequests(t *testing.T) {
	a := startAgent(t, contractJobs, "")
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"no HTTP":            {"hello\r\n\r\n", 400},
		"a broken escape":    {"GET /jobs/%zz/runs HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"half an escape":     {"GET /jobs/%f HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"no host":            {"GET /version HTTP/1.1\r\n\r\n", 400},
		"an old protocol":    {"GET /version HTTP/1.0\r\n\r\n", 200},
		"another protocol":   {"GET /version HTTP/3.0\r\nHost: a\r\n\r\n", 505},
		"an absolute URL":    {"GET http://elsewhere/version HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		"a star":             {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		"another star":       {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"a tunnel":           {"CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n", 404},
		"a long path":        {"GET /" + strings.Repeat("x", 32<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"a long name":        {"GET /jobs/" + strings.Repeat("%C3", 10<<10) + "/runs HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"huge headers":       {"GET /version HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
		"two lengths":        {"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
		"an odd encoding":    {"POST /reload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"a NUL":              {"GET /jobs/%00/runs HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"invalid UTF-8":      {"GET /jobs/%ff%fe HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"dots":               {"GET /jobs/../version HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"encoded dots":       {"GET /jobs/%2e%2e HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"two slashes":        {"GET //version HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		"a semicolon query":  {"GET /jobs/off/next?n=1;x HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		"an unknown method":  {"BREW /version HTTP/1.1\r\nHost: a\r\n\r\n", 405},
		"a lower case route": {"GET /Version HTTP/1.1\r\nHost: a\r\n\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", a.socket)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, len("HTTP/1.1 200"))
			if _, err := io.ReadFull(conn, line); err != nil {
				t.Fatal(err)
			}
			if got := string(line[len("HTTP/1.1 "):]); got != strconv.Itoa(tt.status) {
				t.Errorf("got %s, want %d", got, tt.status)
			}
		})
	}
	if _, err := a.client.Version(t.Context()); err != nil {
		t.Error(err)
	}
}

// A job that is named like anything can be asked for.
func TestOddNames(t *testing.T) {
	names := []string{"..", ".", "a/b", "%2F", "ü", "a b+c", "?x=1#y", "-", "{name}", "runs", strings.Repeat("x", 128), `"'\`}
	var text strings.Builder
	text.WriteString("jobs:\n")
	for _, name := range names {
		text.WriteString("  - name: '" + strings.ReplaceAll(name, "'", "''") + "'\n    command: 'true'\n    schedule: '@yearly'\n")
	}
	a := startAgent(t, text.String(), "")
	for _, name := range names {
		job, err := a.client.Job(t.Context(), name)
		if err != nil || job.Name != name {
			t.Errorf("%q: %q, %v", name, job.Name, err)
		}
		if runs, err := a.client.Runs(t.Context(), name); err != nil || runs.Name != name {
			t.Errorf("%q: %q, %v", name, runs.Name, err)
		}
		if _, err := a.client.Pause(t.Context(), name, api.PauseRequest{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	fleet := map[string]bool{}
	for name := range a.dispatcher.Summaries() {
		fleet[name] = true
	}
	if got := slices.Sorted(maps.Keys(fleet)); len(got) != len(names) {
		t.Errorf("%d jobs are told", len(got))
	}
}
