package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/exposition"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// TestCaseDoorsLeftOpen: no route forgets the token, a token that is odd or in the wrong
// place opens nothing and breaks nothing, and it is nowhere to be read.
func TestCaseDoorsLeftOpen(t *testing.T) {
	const secret = "correct-horse"
	a := startAgent(t, "dataDir: "+t.TempDir()+"\n"+strings.TrimPrefix(someJobs, "\n"), "  authToken: {value: "+secret+"}\n")
	paths := []string{"/api/v1/jobs", "/debug/pprof/", "/debug/vars", "/jobs/", "/JOBS", "/jobs/long/../off", "//jobs", "/%6aobs", "/metrics/"}
	for _, r := range (&httpAPI{}).routes() {
		if r.pattern != pathHealth && r.pattern != pathReady && r.pattern != pathPage && !strings.HasPrefix(r.pattern, pathFiles) {
			paths = append(paths, strings.ReplaceAll(r.pattern, "{name}", "long"))
		}
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
			if resp, _ := a.request(method, path+"?token="+secret, nil); resp.StatusCode != 401 {
				t.Errorf("%s %s without a token: %d", method, path, resp.StatusCode)
			}
		}
	}
	for header, want := range map[string]int{
		"Bearer " + secret: 200, "bearer " + secret: 200, "BEARER " + secret: 200,
		"Bearer " + secret + "x": 401, "Bearer ": 401, "Bearer": 401, "": 401, "Basic " + secret: 401, secret: 401,
		"Bearer  " + secret: 401, "Bearer caf\xe9": 401, "Bearer " + secret[:5]: 401,
	} {
		if resp, _ := a.request("GET", "/status", http.Header{"Authorization": {header}}); resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", header, resp.StatusCode, want)
		}
	}
	for _, r := range (&httpAPI{}).routes() {
		if r.method != http.MethodGet || strings.HasSuffix(r.pattern, "/logs") || r.pattern == "/events" || r.pattern == "/monitor" {
			continue
		}
		_, text := a.request("GET", strings.ReplaceAll(r.pattern, "{name}", "long"), http.Header{"Authorization": {"Bearer " + secret}})
		if strings.Contains(text, secret) {
			t.Errorf("%s tells the token", r.pattern)
		}
	}
	if strings.Contains(a.log.String(), secret) {
		t.Error("the log tells the token")
	}
	if job, err := a.client.Job(t.Context(), "long"); api.StatusOf(err) != 401 || job.Running {
		t.Errorf("a client with another token: %+v, %v", job, err)
	}
}

// TestCaseEmptyToken: a token that is configured and empty keeps the API down; the jobs run.
func TestCaseEmptyToken(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	text := strings.Replace(caseText(t, "API-01-empty.yaml", false), "http://127.0.0.1:8080", "unix://"+socket, 1)
	text = strings.Replace(text, `"@daily"`, secondly, 1)
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	a := launch(t, Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: log, Stderr: log})
	eventually(t, "the job runs", func() bool { return len(a.history.Runs("j")) > 0 })
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) || len(a.Addresses()) != 0 {
		t.Errorf("the API listens: %v, %v", a.Addresses(), err)
	}
	if !strings.Contains(log.String(), "the HTTP API stays down") {
		t.Errorf("nobody is told:\n%s", log)
	}
}

// startNginx puts an nginx as most people have it before an address, and returns the
// socket on which it listens. Where there is no nginx the test is skipped, or fails where
// everything must be there.
func startNginx(t *testing.T, address string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs nginx of Debian's package nginx-light: %v", err)
	default:
		t.Skipf("needs nginx of Debian's package nginx-light: %v", err)
	}
	dir, err := os.MkdirTemp("", "y2n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	socket := filepath.Join(dir, "s")
	config := user + `worker_processes 1;
daemon off;
error_log stderr;
pid ` + dir + `/pid;
events {}
http {
  access_log off;
  gzip on;
  gzip_types text/event-stream application/json;
  client_body_temp_path ` + dir + `/body;
  proxy_temp_path ` + dir + `/proxy;
  fastcgi_temp_path ` + dir + `/fastcgi;
  uwsgi_temp_path ` + dir + `/uwsgi;
  scgi_temp_path ` + dir + `/scgi;
  server {
    listen unix:` + socket + `;
    location /cron/ { proxy_pass http://` + address + `/; proxy_set_header Host $host; proxy_read_timeout 25s; }
  }
}
`
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-p", dir, "-c", file)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("nginx: %v\n%s", err, log.String())
		}
	})
	eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return socket
}

// TestCaseLogsThroughAProxy: each line comes through nginx when it is printed and not
// later, silence does not end the stream, and after a break a reader goes on where it was.
func TestCaseLogsThroughAProxy(t *testing.T) {
	dir := t.TempDir()
	var pipes [3]string
	for i := range pipes {
		pipes[i] = filepath.Join(dir, fmt.Sprint("pipe", i))
		makeFIFO(t, pipes[i])
	}
	a := startAgent(t, "jobs:\n  - name: ticks\n    command: for i in 0 1 2; do echo tick $i; read x < "+dir+"/pipe$i; done; echo late\n"+
		"    schedule: '@yearly'\n    captureStdout: true\n", "    - http://127.0.0.1:0\n")
	socket := startNginx(t, a.tcpAddress())
	if err := a.client.Start(t.Context(), "ticks"); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	open := func(after string) (*bufio.Scanner, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/cron/jobs/ticks/logs", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"gzip"}}
		if after != "" {
			req.Header.Set("Last-Event-ID", after)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		h := resp.Header
		if resp.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" || h.Get("Content-Length") != "" {
			t.Fatalf("%d %v", resp.StatusCode, h)
		}
		if e := h.Get("Content-Encoding"); e != "identity" {
			t.Fatalf("nginx encodes the stream as %q, and holds it back for that", e)
		}
		return bufio.NewScanner(resp.Body), func() { cancel(); _ = resp.Body.Close() }
	}
	// until reads up to a line with the text, and returns what came, and the id before.
	until := func(s *bufio.Scanner, text string) (lines, id string) {
		for s.Scan() {
			line := s.Text()
			if after, ok := strings.CutPrefix(line, "id: "); ok {
				id = after
			}
			lines += line + "\n"
			if strings.Contains(line, text) {
				return lines, id
			}
		}
		t.Fatalf("no %q in %q: %v", text, lines, s.Err())
		return "", ""
	}
	goOn := func(i int) {
		if err := os.WriteFile(pipes[i], []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stream, leave := open("")
	until(stream, "tick 0") // the job waits: nothing can push the line
	goOn(0)
	_, id := until(stream, "tick 1")
	leave()
	goOn(1)
	stream, leave = open(id)
	defer leave()
	if lines, _ := until(stream, "tick 2"); strings.Contains(lines, "tick 0") || strings.Contains(lines, "tick 1") {
		t.Errorf("after the break come again: %q", lines)
	}
	until(stream, ": ping")
	until(stream, ": ping") // longer than nginx waits for anything to come
	goOn(2)
	if lines, _ := until(stream, "event: end"); strings.Count(lines, `"line":"late"`) != 1 {
		t.Errorf("in the end: %q", lines)
	}
}

// TestCaseThousandsOfJobs: ten dashboards that poll two thousand jobs get all of them each
// time, and no firing gets lost meanwhile.
func TestCaseThousandsOfJobs(t *testing.T) {
	const jobs, dashboards = 2000, 10
	var text strings.Builder
	text.WriteString("jobs:\n  - {name: ticking, command: ['true'], schedule: " + secondly + "}\n")
	for i := range jobs {
		fmt.Fprintf(&text, "  - {name: job-%05d, command: 'true', schedule: '%d 3 1 1 *'}\n", i, i%60)
	}
	a := startAgent(t, text.String(), "")
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	defer polling.Wait()
	defer cancel()
	var answers [dashboards]int
	var mu sync.Mutex
	for i := range dashboards {
		polling.Go(func() {
			for ctx.Err() == nil {
				list, err := a.client.Jobs(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil || len(list) != jobs+1 || list[0].Name != "ticking" || list[jobs].Name != "job-01999" {
					t.Errorf("%d jobs, %v", len(list), err)
					return
				}
				mu.Lock()
				answers[i]++
				mu.Unlock()
			}
		})
	}
	eventually(t, "each has several answers, and the job has run at five instants", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, n := range answers {
			if n < 2 {
				return false
			}
		}
		return len(a.history.Runs("ticking")) >= 5
	})
	runs := a.history.Runs("ticking")
	earlier := func(x, y history.Run) int { return x.Firing.Compare(y.Firing) }
	first, last := slices.MinFunc(runs, earlier).Firing, slices.MaxFunc(runs, earlier).Firing
	// Where other programs leave this one no processor for a second, it says so. A run can
	// also end after a later one.
	eventually(t, "each firing has run, or is told to be superseded", func() bool {
		came := map[time.Time]bool{}
		for _, r := range a.history.Runs("ticking") {
			came[r.Firing] = true
		}
		for _, m := range a.history.Missed("ticking", 1000) {
			came[m.Firing] = m.Code == scheduler.CodeSuperseded
		}
		for at := first; at.Before(last); at = at.Add(time.Second) {
			if !came[at] {
				return false
			}
		}
		return true
	})
}

// TestCaseSeriesThatNeverGo: jobs of a crontab that are named by their lines move with each
// edit; their series move along, and no label holds what a job does.
func TestCaseSeriesThatNeverGo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "five.crontab")
	edit := func(comments int) {
		t.Helper()
		text := strings.Repeat("# comment\n", comments)
		for k := range 5 {
			text += fmt.Sprintf("0 3 * * * true secret-%d\n", k)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(0)
	log := &lockedBuffer{}
	a := launch(t, Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: log, Stderr: log})
	// series counts those of jobs, and the names of the jobs that have any.
	series := func() (n int, jobs map[string]bool) {
		text, err := a.page().append(nil, exposition.Text)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("secret")) {
			t.Error("a label tells what a job does")
		}
		jobs = map[string]bool{}
		for sample := range parsePage(string(text)) {
			if _, after, found := strings.Cut(sample, `job_name="`); found {
				name, _, _ := strings.Cut(after, `"`)
				n++
				jobs[name] = true
			}
		}
		return n, jobs
	}
	first, _ := series()
	for i := range 30 {
		edit(i)
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range a.config.Load().Jobs {
			if err := a.dispatcher.StartJob(t.Context(), j.Name); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "all have run", func() bool {
			for _, j := range a.config.Load().Jobs {
				if len(a.history.Runs(j.Name)) == 0 || a.dispatcher.IsRunning(j.Name) {
					return false
				}
			}
			return true
		})
	}
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	last, jobs := series()
	for _, j := range a.config.Load().Jobs {
		delete(jobs, j.Name)
	}
	// What runs that have ended add is the same for each job.
	if len(jobs) > 0 || last > 2*first {
		t.Errorf("%d series of jobs, %d at first; of jobs that are gone: %v", last, first, jobs)
	}
}

// TestCaseReadersAndReloads: readers that vanish and configurations that change leave
// neither goroutines nor descriptors behind.
func TestCaseReadersAndReloads(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	makeFIFO(t, pipe)
	a := startAgent(t, "jobs:\n  - name: quiet\n    command: echo begun; read x < "+pipe+"\n    schedule: '@yearly'\n    captureStdout: true\n", "")
	if err := a.client.Start(t.Context(), "quiet"); err != nil {
		t.Fatal(err)
	}
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // only Linux tells
		}
		return len(entries)
	}
	settled := func() (goroutines, files int) {
		a.client.Close()
		eventually(t, "no stream is open", func() bool { return a.slotsOpen() == 0 })
		return runtime.NumGoroutine(), descriptors()
	}
	a.lines("quiet", "", func(api.LogLine) error { return errEnough })
	goroutines, files := settled()
	for range 5 {
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() { a.lines("quiet", "", func(api.LogLine) error { return errEnough }) })
		}
		readers.Wait()
	}
	for i := range 100 {
		a.write("jobs.yaml", fmt.Sprintf("jobs:\n  - {name: quiet, command: 'true', schedule: '@yearly'}\n  - {name: job-%d, command: 'true', schedule: '@daily'}\n", i))
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is as before", func() bool {
		g, f := settled()
		return g <= goroutines+2 && f <= files+2
	})
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removed job ends", func() bool { return len(a.history.Runs("quiet")) == 1 })
}
