package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// agentWithHistory returns an agent with so many jobs that do not fire, each with 20 runs
// behind it.
func agentWithHistory(b *testing.B, jobs int) *Agent {
	b.Helper()
	var text strings.Builder
	text.WriteString("web: {listen: []}\njobs:\n")
	for i := range jobs {
		fmt.Fprintf(&text, "  - {name: job-%05d, command: 'echo %d', schedule: '%d 3 1 1 *'}\n", i, i, i%60)
	}
	file := filepath.Join(b.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	log := &lockedBuffer{}
	a := launch(b, Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: log, Stderr: log})
	for _, j := range a.config.Load().Jobs {
		for i := range 20 {
			at := time.Unix(int64(1_700_000_000+i*86400), 0).UTC()
			run := history.Run{
				ID: fmt.Sprintf("%s-%d", j.Name, i), Job: j.Name, Firing: at, Trigger: "schedule", Attempt: 1, Node: "node-a",
				Outcome: history.Success, ExitCode: new(0), StartedAt: at, FinishedAt: at.Add(1500 * time.Millisecond),
			}
			if err := a.history.AddRun(run); err != nil {
				b.Fatal(err)
			}
			a.counts.observe(scheduler.Event{Kind: scheduler.RunFinished, Job: j, Run: &run})
		}
	}
	return a
}

// discard is an answer that nobody reads.
type discard struct {
	header http.Header
	size   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { d.size += len(p); return len(p), nil }

// BenchmarkAPI asks for what dashboards and scrapers poll, with many jobs, and reports
// the 99th percentile beside the average.
func BenchmarkAPI(b *testing.B) {
	for _, jobs := range []int{10, 1000, 10_000} {
		a := agentWithHistory(b, jobs)
		for _, path := range []string{"/status", "/jobs", "/cluster", "/metrics"} {
			b.Run(fmt.Sprintf("jobs=%d%s", jobs, path), func(b *testing.B) {
				r := httptest.NewRequest("GET", path, nil)
				var took []time.Duration
				size := 0
				b.ReportAllocs()
				for b.Loop() {
					w := &discard{header: http.Header{}}
					began := time.Now()
					a.web.guard.Load().ServeHTTP(w, r)
					took = append(took, time.Since(began))
					size = w.size
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

// apiGoal is what 99 of 100 answers with a thousand jobs should take, in milliseconds, while
// ten clients ask as fast as they can.
const apiGoal = 20

// BenchmarkAPIClients lets ten clients ask for one thing as fast as they can, over their
// own connections, and reports how many answers there are in a second and how long the
// slowest of a hundred takes. One operation is one answer. Bare is a server that has
// nothing to do for answers of the same size.
func BenchmarkAPIClients(b *testing.B) {
	for _, jobs := range []int{10, 1000, 10_000} {
		a := agentWithHistory(b, jobs)
		socket := serveSocket(b, a)
		for _, path := range []string{"/jobs", "/metrics", "/cluster"} {
			b.Run(fmt.Sprintf("jobs=%d%s/agent", jobs, path), func(b *testing.B) {
				benchmarkClients(b, socket, path)
				if jobs == 1000 {
					b.ReportMetric(apiGoal, "goal:p99-ms")
				}
			})
			b.Run(fmt.Sprintf("jobs=%d%s/bare", jobs, path), func(b *testing.B) {
				answer := httptest.NewRecorder()
				a.web.guard.Load().ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
				benchmarkClients(b, serveSame(b, answer.Body.Bytes()), path)
			})
		}
	}
}

func benchmarkClients(b *testing.B, socket, path string) {
	const clients = 10
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range clients {
		all.Go(func() { took[i] = askFor(b, socket, path, &left) })
	}
	all.Wait()
	b.StopTimer()
	every := slices.Concat(took...)
	slices.Sort(every)
	b.ReportMetric(float64(len(every))/b.Elapsed().Seconds(), "answers/s")
	b.ReportMetric(float64(every[len(every)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(every[len(every)*99/100].Microseconds())/1000, "p99-ms")
}

// serveSame answers every request on a socket with the same body.
func serveSame(b *testing.B, body []byte) (socket string) {
	b.Helper()
	dir, err := os.MkdirTemp("", "y2")
	if err != nil {
		b.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	b.Cleanup(func() {
		_ = server.Close()
		<-ended
		_ = os.RemoveAll(dir)
	})
	return socket
}

// serveSocket lets the agent's API listen on a socket.
func serveSocket(b *testing.B, a *Agent) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "y2")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	if err := a.web.apply(webConfig{listen: []config.Listener{{Scheme: "unix", Address: socket}}}); err != nil {
		b.Fatal(err)
	}
	return socket
}

// askFor asks over one connection until left is used up, and returns how long each answer
// took to its last byte. It does as little as a client can, since it has the same
// processors as the agent.
func askFor(b *testing.B, socket, path string, left *atomic.Int64) (took []time.Duration) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = conn.Close() }()
	r := bufio.NewReaderSize(conn, 256<<10)
	for left.Add(-1) >= 0 {
		began := time.Now()
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			b.Error(err)
			return took
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Errorf("%s: %v, %v", path, resp, err)
			return took
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Error(err)
			return took
		}
		took = append(took, time.Since(began))
	}
	return took
}
