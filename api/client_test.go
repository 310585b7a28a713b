package api

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// serve starts a server for h and returns a client for it.
func serve(t *testing.T, h http.Handler, token string) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return client(t, ClientConfig{Address: server.URL, Token: token})
}

func client(t *testing.T, cfg ClientConfig) *Client {
	t.Helper()
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func answer(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestClientRequests(t *testing.T) {
	ctx := t.Context()
	type request struct{ method, uri, accept, auth string }
	var got request
	reply := ""
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = request{r.Method, r.RequestURI, r.Header.Get("Accept"), r.Header.Get("Authorization")}
		_, _ = io.WriteString(w, reply)
	}), "s3 cret")
	const asJSON, auth = "application/json", "Bearer s3 cret"
	for _, test := range []struct {
		name  string
		reply string
		want  request
		call  func() (any, error)
	}{
		{"version", "1.2.3", request{"GET", "/version", "text/plain", auth}, func() (any, error) { return c.Version(ctx) }},
		{"job set", "{}", request{"GET", "/job-set-id", asJSON, auth}, func() (any, error) { return c.JobSetID(ctx) }},
		{"status", "[]", request{"GET", "/status", asJSON, auth}, func() (any, error) { return c.Status(ctx) }},
		{"jobs", "[]", request{"GET", "/jobs", asJSON, auth}, func() (any, error) { return c.Jobs(ctx) }},
		{"runs", "{}", request{"GET", "/jobs/a%2Fb%20c%3F%25/runs", asJSON, auth}, func() (any, error) { return c.Runs(ctx, "a/b c?%") }},
		{"dots", "{}", request{"GET", "/jobs/%2E%2E/runs", asJSON, auth}, func() (any, error) { return c.Runs(ctx, "..") }},
		{"start", "", request{"POST", "/jobs/n%C3%A4cht/start", "", auth}, func() (any, error) { return nil, c.Start(ctx, "nächt") }},
		{"cancel", "", request{"POST", "/jobs/a/cancel", "", auth}, func() (any, error) { return nil, c.Cancel(ctx, "a") }},
		{"cluster", "{}", request{"GET", "/cluster", asJSON, auth}, func() (any, error) { return c.Cluster(ctx) }},
		{"config", "{}", request{"GET", "/config/status", asJSON, auth}, func() (any, error) { return c.ConfigStatus(ctx) }},
		{"reload", "{}", request{"POST", "/reload", asJSON, auth}, func() (any, error) { return c.Reload(ctx) }},
		{"job", "{}", request{"GET", "/jobs/a%2Fb", asJSON, auth}, func() (any, error) { return c.Job(ctx, "a/b") }},
		{"next", "{}", request{"GET", "/jobs/a/next?n=3", asJSON, auth}, func() (any, error) { return c.Next(ctx, "a", 3, time.Time{}) }},
		{"schedule", "{}", request{"GET", "/schedule/next?n=12&schedule=%2A%2F5+%2A+%2A+%2A+%2A", asJSON, auth}, func() (any, error) {
			return c.SchedulePreview(ctx, url.Values{"schedule": {"*/5 * * * *"}, "n": {"12"}})
		}},
		{"next after", "{}", request{"GET", "/jobs/a/next?from=2026-03-01T12%3A00%3A00.00025Z&n=3", asJSON, auth}, func() (any, error) { return c.Next(ctx, "a", 3, noon) }},
		{"why", "{}", request{"GET", "/jobs/a/why", asJSON, auth}, func() (any, error) { return c.Why(ctx, "a", time.Time{}) }},
		{"pause", "{}", request{"POST", "/jobs/a/pause", asJSON, auth}, func() (any, error) { return c.Pause(ctx, "a", PauseRequest{}) }},
		{"resume", "", request{"POST", "/jobs/a/resume", "", auth}, func() (any, error) { return nil, c.Resume(ctx, "a") }},
		{"ready", "{}", request{"GET", "/ready", asJSON, auth}, func() (any, error) { return c.Ready(ctx) }},
		{"fleet", "{}", request{"GET", "/fleet", asJSON, auth}, func() (any, error) { return c.Fleet(ctx) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply = test.reply
			if _, err := test.call(); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("sent %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestClientReads(t *testing.T) {
	want := Runs{Name: "a", Runs: []Run{sampleRun()}}
	data, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := serve(t, answer(string(data)), "").Runs(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Runs) != 1 || !got.Runs[0].StartedAt.Equal(noon) || got.Name != "a" {
		t.Errorf("got %+v", got)
	}
	if version, err := serve(t, answer("1.2.3\n"), "").Version(t.Context()); err != nil || version != "1.2.3" {
		t.Errorf("version %q (%v)", version, err)
	}
}

func TestClientAnswersWithError(t *testing.T) {
	for _, test := range []struct {
		code          int
		body, message string
	}{
		{404, "404: Not Found", "Not Found"},
		{401, "401: Unauthorized", "Unauthorized"},
		{409, "job 'a' is disabled", "job 'a' is disabled"},
		{409, `{"error": "job 'a' is disabled", "job": "a"}`, "job 'a' is disabled"},
		{500, "", "Internal Server Error"},
		{503, "stopping\n\x1b next", "stopping \x1b next"},
		{502, "<html>" + strings.Repeat("x", maxErrorSize), "<html>" + strings.Repeat("x", maxErrorSize-len("<html>"))},
	} {
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.code)
			_, _ = io.WriteString(w, test.body)
		}), "")
		err := c.Start(t.Context(), "a")
		var answer *Error
		if !errors.As(err, &answer) {
			t.Fatalf("%d gave %v", test.code, err)
		}
		if answer.StatusCode != test.code || answer.Message() != test.message || StatusOf(err) != test.code {
			t.Errorf("%d %.40q gave %d %.40q", test.code, test.body, answer.StatusCode, answer.Message())
		}
		if text := err.Error(); !strings.HasPrefix(text, "POST /jobs/a/start: ") {
			t.Errorf("the error reads %.80q", text)
		}
	}
	if code := StatusOf(errors.New("other")); code != 0 {
		t.Errorf("another error has status %d", code)
	}
}

// Files with errors are an answer, not a failure to reload.
func TestClientReloadRefused(t *testing.T) {
	code, text := http.StatusUnprocessableEntity, `{"state": "failed", "errors": [{"message": "no"}]}`
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}), "")
	if s, err := c.Reload(t.Context()); err != nil || s.State != ConfigFailed || len(s.Errors) != 1 || s.Errors[0].Message != "no" {
		t.Errorf("got %+v, %v", s, err)
	}
	text = "no JSON"
	if s, err := c.Reload(t.Context()); !errors.Is(err, ErrNotAgent) {
		t.Errorf("got %+v, %v", s, err)
	}
	code, text = http.StatusServiceUnavailable, "stopping"
	if s, err := c.Reload(t.Context()); StatusOf(err) != code {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestClientAnswersOfOthers(t *testing.T) {
	for _, text := range []string{"", "<html>hello</html>", "[]", `{"peers": 5}`} {
		if got, err := serve(t, answer(text), "").Cluster(t.Context()); !errors.Is(err, ErrNotAgent) {
			t.Errorf("%q read as %+v, %v", text, got, err)
		}
	}
}

func TestClientUnreachable(t *testing.T) {
	const free = "127.0.0.1:1" // that of a service that nobody runs: any other port may be taken
	for _, address := range []string{"http://" + free, free, "unix://" + filepath.Join(t.TempDir(), "none.sock"), "https://" + free} {
		_, err := client(t, ClientConfig{Address: address}).Version(t.Context())
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Address != address {
			t.Fatalf("%s: got %v", address, err)
		}
		if !strings.HasPrefix(err.Error(), "no agent answers at "+address+": ") {
			t.Errorf("%s: the error reads %q", address, err)
		}
		var op *net.OpError
		if !errors.As(err, &op) {
			t.Errorf("%s: the cause is lost: %v", address, err)
		}
	}
}

func TestClientContext(t *testing.T) {
	inside := make(chan struct{}, 1)
	c := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-r.Context().Done()
	}), "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-inside
		cancel()
	}()
	err := c.Cancel(ctx, "a")
	var unreachable *UnreachableError
	if !errors.Is(err, context.Canceled) || errors.As(err, &unreachable) {
		t.Errorf("got %v", err)
	}
}

// The kernel takes connections for a process that does nothing any more.
func TestClientOfFrozenAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // until it is closed
		c := client(t, ClientConfig{})
		c.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
		start := time.Now()
		err := c.Cancel(t.Context(), "a")
		var unreachable *UnreachableError
		if waited := time.Since(start); !errors.As(err, &unreachable) || waited != answerTimeout {
			t.Errorf("after %v: %v", waited, err)
		}
	})
}

func TestClientUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer("1.0"), ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	c := client(t, ClientConfig{Address: "unix://" + path})
	if version, err := c.Version(t.Context()); err != nil || version != "1.0" {
		t.Errorf("got %q, %v", version, err)
	}
}

func TestClientTLS(t *testing.T) {
	server := httptest.NewTLSServer(answer("1.0"))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o644); err != nil {
		t.Fatal(err)
	}
	c := client(t, ClientConfig{Address: server.URL, CAFile: file})
	if version, err := c.Version(t.Context()); err != nil || version != "1.0" {
		t.Errorf("with the CA: %q, %v", version, err)
	}
	_, err := client(t, ClientConfig{Address: server.URL}).Version(t.Context())
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
}

// A proxy may serve the agent below a path.
func TestClientBelowPath(t *testing.T) {
	server := httptest.NewServer(http.StripPrefix("/cron", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	})))
	t.Cleanup(server.Close)
	for _, suffix := range []string{"/cron", "/cron/"} {
		c := client(t, ClientConfig{Address: server.URL + suffix})
		if got, err := c.Version(t.Context()); err != nil || got != "/version" {
			t.Errorf("%s: got %q, %v", suffix, got, err)
		}
	}
}

func TestClientConfigErrors(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		cfg  ClientConfig
		want string
	}{
		{ClientConfig{Address: "ftp://host"}, `scheme "ftp" is not supported`},
		{ClientConfig{Address: "http://"}, "the host is missing"},
		{ClientConfig{Address: ":8080"}, "the host is missing"},
		{ClientConfig{Address: "http://a b"}, "invalid character"},
		{ClientConfig{Address: "http://a?x=1"}, "only a scheme"},
		{ClientConfig{Address: "http://u:p@a"}, "only a scheme"},
		{ClientConfig{Address: "unix://run/x.sock"}, "absolute path"},
		{ClientConfig{Address: "unix://"}, "absolute path"},
		{ClientConfig{CAFile: notPEM}, "no certificate"},
		{ClientConfig{CAFile: notPEM + ".none"}, "no such file"},
	} {
		if _, err := NewClient(test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error with %q", test.cfg, err, test.want)
		}
	}
	if c := client(t, ClientConfig{}); c.Address() != DefaultAddress {
		t.Errorf("the default address is %q", c.Address())
	}
}
