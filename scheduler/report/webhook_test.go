package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

const secretPath = "/services/T000/B000/secretsecret"

func hookTo(base string) *Webhook {
	return &Webhook{URL: Secret{Value: base + secretPath}, Method: "POST", ContentType: "application/json", Timeout: waitLimit}
}

// sink is a server that keeps what it got.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	got  []request
	hits atomic.Int32
}

type request struct {
	method, path, body string
	header             http.Header
	host               string
}

func newSink(t *testing.T, handle func(w http.ResponseWriter, n int)) *sink {
	t.Helper()
	s := new(sink)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got = append(s.got, request{r.Method, r.URL.Path, string(body), r.Header, r.Host})
		s.mu.Unlock()
		n := int(s.hits.Add(1))
		if handle != nil {
			handle(w, n)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.got...)
}

func TestWebhook(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	b.send(&Hooks{Webhook: hookTo(s.URL)}, failed("j\"x"))
	b.wantNoFailure(t)
	r := s.requests()[0]
	if r.method != "POST" || r.path != secretPath || r.header.Get("Content-Type") != "application/json" || r.header.Get("User-Agent") != "yacron2/1.2.3" {
		t.Errorf("request %+v", r)
	}
	var body struct{ Text string }
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Fatalf("%v in %q", err, r.body)
	}
	if !strings.HasPrefix(body.Text, "Job j\"x failed\nThe job failed: failsWhen=nonzeroReturn and retcode=3\n") || !strings.Contains(body.Text, "\nout 1\nout 2\n") || !strings.Contains(body.Text, "err ü\n") {
		t.Errorf("text %q", body.Text)
	}
}

func TestWebhookAsConfigured(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("  "+s.URL+"/x?y=z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &Webhook{
		URL: Secret{FromFile: file}, Method: "PUT", ContentType: "text/plain", Timeout: waitLimit,
		Headers: []Header{{"Authorization", "Bearer hunter2-visible"}, {"content-type", "text/x-own"}, {"Host", "other.example"}},
		Body:    text("{{ name }} {{ stdout|tojson }} {{ duration }} {{ firing }} {{ attempt }} {{ node }}"),
	}
	b.send(&Hooks{Webhook: w}, failed("j"))
	b.wantNoFailure(t)
	r := s.requests()[0]
	if r.method != "PUT" || r.path != "/x" || r.host != "other.example" || r.header.Get("Content-Type") != "text/x-own" || r.header.Get("Authorization") != "Bearer hunter2-visible" {
		t.Errorf("request %+v", r)
	}
	if r.body != `j "out 1\nout 2\n" 2.0 2031-03-01T03:00:00Z 1 node-a` {
		t.Errorf("body %q", r.body)
	}
}

func TestWebhookOfASuccessAndOfAMissedFiring(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	quiet := succeeded("j")
	quiet.Stdout, quiet.Stderr = Output{}, Output{Captured: true}
	b.send(&Hooks{Webhook: hookTo(s.URL)}, quiet)
	missed := &Report{Hook: OnMiss, Job: "j", FailReason: "no quorum", Firing: quiet.Firing}
	b.send(&Hooks{Webhook: hookTo(s.URL)}, missed)
	b.wantNoFailure(t)
	want := []string{
		`{"text": "Job j completed\n(no output was captured)\n"}`,
		`{"text": "Job j did not run\nThe firing of 2031-03-01T03:00:00Z did not run: no quorum\n"}`,
	}
	for i, r := range s.requests() {
		if r.body != want[i] {
			t.Errorf("body %q, want %q", r.body, want[i])
		}
	}
}

// TestWebhooksThatFail checks how often each is tried, that it is logged once, and
// that the address is not.
func TestWebhooksThatFail(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) {
			w.WriteHeader(code)
			fmt.Fprintf(w, "no %s for you", secretPath)
		}
	}
	hang := make(chan struct{})
	for name, c := range map[string]struct {
		handle func(http.ResponseWriter, int)
		hits   int
		want   []string // of the log; nil is delivered
	}{
		"400":           {status(400), 1, []string{"400 Bad Request", "no (hidden) for you"}},
		"404":           {status(404), 1, []string{"404"}},
		"500":           {status(500), 3, []string{"500", "attempts=3"}},
		"503, then 200": {func(w http.ResponseWriter, n int) { w.WriteHeader([]int{503, 503, 200}[n-1]) }, 3, nil},
		"429":           {status(429), 3, []string{"429", "attempts=3"}},
		"429, for too long": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, 1, []string{"429"}},
		"hangs": {func(http.ResponseWriter, int) { <-hang }, 1, []string{"deadline exceeded"}},
		"reset": {func(w http.ResponseWriter, _ int) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}, 1, []string{"reset"}},
		"long answer": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(400)
			io.WriteString(w, strings.Repeat("ä", 5000))
		}, 1, []string{strings.Repeat("ä", maxAnswer) + "\""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink(t, c.handle)
			b := newBench(t, Config{})
			w := hookTo(s.URL)
			if name == "hangs" {
				w.Timeout = 100 * time.Millisecond
				defer close(hang)
			}
			b.send(&Hooks{Webhook: w}, failed("j"))
			for s.hits.Load() == 0 { // the time was too short for the request to arrive
				limit := 4 * w.Timeout
				s, b = newSink(t, c.handle), newBench(t, Config{})
				w = hookTo(s.URL)
				w.Timeout = limit
				b.send(&Hooks{Webhook: w}, failed("j"))
			}
			if c.want == nil {
				b.wantNoFailure(t)
			} else {
				b.wantFailure(t, append(c.want, "reporter=webhook", "job=j", "run=r1")...)
			}
			if n := int(s.hits.Load()); n != c.hits {
				t.Errorf("%d requests, want %d", n, c.hits)
			}
			for _, secret := range []string{"secretsecret", "T000"} {
				if strings.Contains(b.log.String(), secret) {
					t.Errorf("%q is in the log: %s", secret, b.log)
				}
			}
		})
	}
}

func TestWebhookConnections(t *testing.T) {
	ca := newAuthority(t)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	secure.TLS = ca.server(t)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for name, c := range map[string]struct {
		base  string
		trust bool
		want  []string
	}{
		"closed":       {fmt.Sprint("http://127.0.0.1:", closedPort), false, []string{"refused", "attempts=3"}},
		"self-signed":  {secure.URL, false, []string{"certificate"}},
		"trusted":      {secure.URL, true, nil},
		"no address":   {"://", false, []string{"not valid"}},
		"other scheme": {"gopher://127.0.0.1", false, []string{"unsupported protocol scheme"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{}
			if c.trust {
				cfg.RootCAs = ca.pool
			}
			b := newBench(t, cfg)
			b.send(&Hooks{Webhook: hookTo(c.base)}, failed("j"))
			if c.want == nil {
				b.wantNoFailure(t)
				return
			}
			b.wantFailure(t, c.want...)
			if strings.Contains(b.log.String(), "secretsecret") {
				t.Errorf("the address is in the log: %s", b.log)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999999999999": 0,
		"Wed, 01 Jan 2031 00:01:00 GMT": time.Minute, "Tue, 31 Dec 2030 00:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	r := New(Config{})
	defer r.Stop(t.Context())
	for _, c := range []struct {
		err  error
		n    int
		want time.Duration
		ok   bool
	}{
		{io.EOF, 1, 0, false},
		{&temporary{err: io.EOF}, 1, time.Second, true},
		{&temporary{err: io.EOF}, 2, 5 * time.Second, true},
		{&temporary{err: io.EOF}, 3, 0, false},
		{fmt.Errorf("wrapped: %w", &temporary{err: io.EOF, after: 7 * time.Second}), 1, 7 * time.Second, true},
		{&temporary{err: io.EOF, after: 61 * time.Second}, 1, 0, false},
	} {
		if got, ok := r.pause(c.err, c.n); got != c.want || ok != c.ok {
			t.Errorf("%v, attempt %d: got %s %v, want %s %v", c.err, c.n, got, ok, c.want, c.ok)
		}
	}
}
