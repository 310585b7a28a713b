package agent

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "time/tzdata"

	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testAgent is an agent in this process, with its API on a unix socket.
type testAgent struct {
	*Agent
	t      *testing.T
	dir    string
	socket string
	log    *lockedBuffer
	client *api.Client
	begun  atomic.Int64 // event streams
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// launch starts an agent that is stopped when the test ends.
func launch(tb testing.TB, o Options) *Agent {
	tb.Helper()
	a, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if err := a.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return a
}

// startAgain stops the agent and starts another one in its place.
func (a *testAgent) startAgain() {
	a.t.Helper()
	if err := a.Stop(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	again, err := New(Options{ConfigDirs: []string{a.dir}, NodeName: a.node, Stdout: a.log, Stderr: a.log})
	if err != nil {
		a.t.Fatal(err)
	}
	a.Agent = again
	if err := again.Start(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

// startAgent runs an agent with the jobs; web is added to its web section.
func startAgent(t *testing.T, jobs, web string) *testAgent {
	t.Helper()
	return startNode(t, "node-a", jobs, web, nil)
}

// startNode is startAgent with a node's name and further files.
func startNode(t *testing.T, name, jobs, web string, files map[string]string, change ...func(*Options)) *testAgent {
	t.Helper()
	a := &testAgent{t: t, dir: t.TempDir(), log: &lockedBuffer{}}
	// Socket paths are short: the test's own folder may not be.
	short, err := os.MkdirTemp("", "y2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	a.socket = filepath.Join(short, "s")
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n"+web)
	a.write("jobs.yaml", jobs)
	for file, text := range files {
		a.write(file, text)
	}
	o := Options{ConfigDirs: []string{a.dir}, NodeName: name, Stdout: a.log, Stderr: a.log}
	for _, f := range change {
		f(&o)
	}
	a.Agent, err = New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		a.client.Close()
		if t.Failed() {
			t.Logf("log of the agent:\n%s", a.log)
		}
	})
	if a.client, err = api.NewClient(api.ClientConfig{Address: "unix://" + a.socket, Token: "secret"}); err != nil {
		t.Fatal(err)
	}
	a.watch()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// write replaces a file of the configuration at once: the file watch may read it at any
// moment.
func (a *testAgent) write(name, text string) {
	a.t.Helper()
	fresh := filepath.Join(a.dir, ".fresh")
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(a.dir, name)); err != nil {
		a.t.Fatal(err)
	}
}

// request sends one raw request over the socket.
func (a *testAgent) request(method, path string, header http.Header) (*http.Response, string) {
	a.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(a.t.Context(), method, "http://agent"+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		a.t.Fatal(err)
	}
	return resp, body.String()
}

// open sends a request over the socket and leaves the answer's body open.
func (a *testAgent) open(ctx context.Context, path string) *http.Response {
	a.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := a.transport().RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp
}

// transport leads every request to the socket.
func (a *testAgent) transport() *http.Transport {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.socket)
	}}
	a.t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// eventually waits up to 30 s for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("still not so after 30 s: %s", what)
		}
	}
}

const someJobs = `
jobs:
  - name: daily job
    command: ["echo", "a b", "c"]
    schedule: "@daily"
    captureStdout: true
  - name: off
    command: "true"
    schedule: "* * * * *"
    enabled: false
  - name: never
    command: "true"
    schedule: "0 0 30 2 *"
  - name: boot
    command: "true"
    schedule: "@reboot"
  - name: long
    command: exec sleep 600
    schedule: "0 0 1 1 *"
  - name: "no/such program"
    command: ["/nonexistent/prögram"]
    schedule: "@yearly"
`

func TestAPIShowsAndRunsJobs(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx := t.Context()

	jobs, err := a.client.Jobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 6 || jobs[0].Name != "daily job" || jobs[0].Command != "echo a b c" || jobs[0].Schedule != "@daily" ||
		jobs[0].ScheduledIn == nil || *jobs[0].ScheduledIn > 86400 || jobs[0].Timezone != "UTC" || jobs[0].ClusterPolicy != "" {
		t.Fatalf("unexpected jobs: %+v", jobs)
	}
	if jobs[1].Enabled || jobs[1].ScheduledIn != nil || jobs[2].ScheduledIn != nil || jobs[3].ScheduledIn != nil {
		t.Errorf("jobs without a next firing have one: %+v", jobs[1:4])
	}
	eventually(t, "the @reboot job ran once", func() bool {
		runs, err := a.client.Runs(ctx, "boot")
		return err == nil && runs.Stats.Success == 1 && runs.Runs[0].Trigger == "reboot"
	})

	_, text := a.request("GET", "/status", nil)
	for _, line := range []string{"off: disabled", "never: scheduled (never fires)", "boot: scheduled (@reboot)", "daily job: scheduled (in "} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in:\n%s", line, text)
		}
	}

	if err := a.client.Start(ctx, "daily job"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manual run is recorded", func() bool {
		runs, err := a.client.Runs(ctx, "daily job")
		return err == nil && runs.Stats.Success == 1 && runs.Runs[0].Trigger == "manual" && runs.Runs[0].Node == "node-a"
	})

	if err := a.client.Start(ctx, "no/such program"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a program that is not there is a failure with code 127", func() bool {
		runs, err := a.client.Runs(ctx, "no/such program")
		return err == nil && runs.Stats.Failure == 1 && *runs.Runs[0].ExitCode == 127
	})
}

func TestAPICancelsJobs(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx := t.Context()
	if err := a.client.Start(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job runs with a pid", func() bool {
		jobs, err := a.client.Jobs(ctx)
		return err == nil && jobs[4].Running && len(jobs[4].PIDs) == 1
	})
	if err := a.client.Cancel(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	runs, err := a.client.Runs(ctx, "long")
	if err != nil {
		t.Fatal(err)
	}
	if runs.Stats.Cancelled != 1 || *runs.Runs[0].ExitCode != -15 || runs.Runs[0].FailReason != "cancelled via web UI" {
		t.Errorf("after cancel: %+v", runs)
	}
	resp, body := a.request("POST", "/jobs/long/cancel", nil)
	if resp.StatusCode != 409 || body != "job 'long' is not running" {
		t.Errorf("cancel of an idle job: %d %q", resp.StatusCode, body)
	}
	resp, body = a.request("POST", "/jobs/off/start", nil)
	if resp.StatusCode != 409 || body != "job 'off' is disabled" {
		t.Errorf("start of a disabled job: %d %q", resp.StatusCode, body)
	}
	resp, body = a.request("POST", "/jobs/off/start", http.Header{"Accept": {"application/json"}})
	if resp.StatusCode != 409 || body != `{"error":"job 'off' is disabled"}` {
		t.Errorf("start of a disabled job, as JSON: %d %q", resp.StatusCode, body)
	}
	for _, path := range []string{"/jobs/nobody/start", "/jobs/nobody/cancel"} {
		if resp, body := a.request("POST", path, nil); resp.StatusCode != 404 || body != "404: Not Found" {
			t.Errorf("%s: %d %q", path, resp.StatusCode, body)
		}
	}
}

func TestAPIWithoutACluster(t *testing.T) {
	a := startAgent(t, someJobs, "  headers:\n    X-Frame-Options: DENY\n    content-type: text/evil\n")
	resp, body := a.request("GET", "/cluster", nil)
	if body != `{"enabled":false,"peers":[]}` {
		t.Errorf("cluster: %s", body)
	}
	if got := resp.Header.Values("X-Frame-Options"); len(got) != 1 || resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("headers: %v", resp.Header)
	}
	if resp, _ := a.request("GET", "/nowhere", nil); resp.Header.Get("X-Frame-Options") != "" {
		t.Error("the extra headers are on a 404")
	}
	id, err := a.client.JobSetID(t.Context())
	if err != nil || id.Jobs != 6 || !strings.HasPrefix(id.JobSetID, "v1:") || len(id.JobSetID) != 67 {
		t.Errorf("job-set id: %+v, %v", id, err)
	}
	if _, text := a.request("GET", "/job-set-id", http.Header{"Accept": {"*/*"}}); text != id.JobSetID {
		t.Errorf("as text: %q", text)
	}
}

func TestAPINeedsTheToken(t *testing.T) {
	a := startAgent(t, someJobs, "  authToken:\n    value: secret\n")
	if resp, body := a.request("GET", "/version", nil); resp.StatusCode != 401 || body != "401: Unauthorized" {
		t.Errorf("without a token: %d %q", resp.StatusCode, body)
	}
	if resp, _ := a.request("POST", "/nowhere", nil); resp.StatusCode != 401 {
		t.Errorf("an unknown path tells strangers that it is unknown: %d", resp.StatusCode)
	}
	if _, err := a.client.Version(t.Context()); err != nil {
		t.Errorf("with the token: %v", err)
	}
}

func TestAPIStaysDownWithoutItsToken(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	file := filepath.Join(dir, "agent.yaml")
	text := "web:\n  listen:\n    - unix://" + socket + "\n  authToken:\n    fromEnvVar: YACRON2_TEST_NO_SUCH_VARIABLE\n" + someJobs
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(context.Background()) }()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the API is open to everybody: %v", err)
	}
	if !strings.Contains(log.String(), "the HTTP API stays down") {
		t.Errorf("not said in the log:\n%s", log)
	}
}

func TestReloadIsAllOrNothing(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx := t.Context()
	before, err := a.client.JobSetID(ctx)
	if err != nil {
		t.Fatal(err)
	}

	a.write("jobs.yaml", someJobs+"  - name: broken\n    command: x\n    shedule: '* * * * *'\n")
	if err := a.Reload(ctx); err == nil || !strings.Contains(err.Error(), "shedule") {
		t.Fatalf("a broken file was taken: %v", err)
	}
	if now, _ := a.client.JobSetID(ctx); now != before {
		t.Errorf("a failed reload changed the job set: %+v", now)
	}

	a.write("jobs.yaml", "jobs:\n  - name: only\n    command: 'true'\n    schedule: '@daily'\n")
	if err := a.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if now, _ := a.client.JobSetID(ctx); now.Jobs != 1 || now.JobSetID == before.JobSetID {
		t.Errorf("after the reload: %+v", now)
	}
	if resp, _ := a.request("GET", "/jobs/boot/runs", nil); resp.StatusCode != 404 {
		t.Errorf("a removed job is still there: %d", resp.StatusCode)
	}
}

func TestReloadMovesTheAPI(t *testing.T) {
	a := startAgent(t, someJobs, "")
	second := a.socket + "2"
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n    - unix://"+second+"\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.client.Version(t.Context()); err != nil {
		t.Errorf("the old address: %v", err)
	}
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+second+"\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.socket = second
	if resp, _ := a.request("GET", "/version", nil); resp.StatusCode != 200 {
		t.Errorf("the new address: %d", resp.StatusCode)
	}
}

// TestReloadChangesTheSocketsMode: a socket that stays gets another mode without being
// closed.
func TestReloadChangesTheSocketsMode(t *testing.T) {
	a := startAgent(t, someJobs, "")
	for _, step := range []struct {
		line string
		want os.FileMode
	}{{"  socketMode: \"0600\"\n", 0o600}, {"  socketMode: \"0666\"\n", 0o666}, {"", 0o660}} {
		a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n"+step.line)
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(a.socket)
		if err != nil || info.Mode().Perm() != step.want {
			t.Errorf("mode %v, %v; want %v", info.Mode().Perm(), err, step.want)
		}
		if _, err := a.client.Version(t.Context()); err != nil {
			t.Errorf("the socket does not serve: %v", err)
		}
	}
}

func TestStopWaitsForRunningJobs(t *testing.T) {
	dir := t.TempDir()
	a := startAgent(t, "jobs:\n  - name: slow\n    command: read x < "+dir+"/pipe; echo done > "+dir+"/out\n    schedule: '@yearly'\n"+
		"  - name: other\n    command: 'true'\n    schedule: '@yearly'\n", "")
	pipe := filepath.Join(dir, "pipe")
	makeFIFO(t, pipe)
	if err := a.client.Start(t.Context(), "slow"); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(context.Background()) }()

	// Of a job that ends by itself: the stop may come after the first attempts, and what
	// these start is waited for.
	eventually(t, "a start is refused while stopping", func() bool {
		return api.StatusOf(a.client.Start(t.Context(), "other")) == http.StatusServiceUnavailable
	})
	select {
	case err := <-stopped:
		t.Fatalf("stopped while a job ran: %v", err)
	default:
	}
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if out, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(out) != "done\n" {
		t.Errorf("the job did not end in peace: %q, %v", out, err)
	}
}
