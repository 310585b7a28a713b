package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// openStream opens an event stream over a connection of its own, without a client that
// would cost more than the agent does.
func openStream(tb testing.TB, network, address string) *bufio.Reader {
	tb.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		tb.Fatal(err)
	}
	r := bufio.NewReaderSize(conn, 1024)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("a stream: %v, %v", resp, err)
	}
	return r
}

// A thousand dashboards that only listen get every event, and leave room for others.
func TestManyIdleStreams(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "")
	n := int(min(1000, a.streams.limit))
	readers := make([]*bufio.Reader, n)
	for i := range readers {
		readers[i] = openStream(t, "unix", a.socket)
	}
	if _, err := a.client.Jobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.client.Start(t.Context(), "daily job"); err != nil {
		t.Fatal(err)
	}
	for i, r := range readers {
		for line := ""; line != "event: run-started\n"; {
			var err error
			if line, err = r.ReadString('\n'); err != nil {
				t.Fatalf("reader %d: %v", i, err)
			}
		}
	}
}

// firingsWatched is how many firings, one a second, are one operation of a benchmark.
const firingsWatched = 15

// BenchmarkFiringUnderLoad shows how late a job that fires each second starts while ten
// clients ask for a thousand jobs, or ten scrapers for their metrics, as fast as they can,
// and a thousand listen for events.
func BenchmarkFiringUnderLoad(b *testing.B) {
	for _, load := range []fireLoad{{}, {pollers: 10}, {scrapers: 10}, {listeners: 1000}, {pollers: 10, listeners: 1000}} {
		b.Run(fmt.Sprintf("pollers=%d/scrapers=%d/listeners=%d", load.pollers, load.scrapers, load.listeners), func(b *testing.B) {
			benchmarkFiring(b, load)
		})
	}
}

// fireLoad is how many clients an agent has.
type fireLoad struct{ pollers, scrapers, listeners int }

func benchmarkFiring(b *testing.B, load fireLoad) {
	var text strings.Builder
	socket := filepath.Join(b.TempDir(), "s")
	fmt.Fprintf(&text, "web: {listen: ['unix://%s']}\njobs:\n  - {name: ticking, command: ['true'], schedule: '* * * * * * *'}\n", socket)
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {name: job-%05d, command: 'true', schedule: '0 3 1 1 *'}\n", i)
	}
	file := filepath.Join(b.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	a := launch(b, Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: io.Discard, Stderr: io.Discard})
	ctx, cancel := context.WithCancel(b.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for range load.listeners {
		openStream(b, "unix", socket)
	}
	var mu sync.Mutex
	var polls []time.Duration
	for range load.pollers {
		client, err := api.NewClient(api.ClientConfig{Address: "unix://" + socket})
		if err != nil {
			b.Fatal(err)
		}
		clients.Go(func() {
			defer client.Close()
			for ctx.Err() == nil {
				began := time.Now()
				if _, err := client.Jobs(ctx); err == nil {
					mu.Lock()
					polls = append(polls, time.Since(began))
					mu.Unlock()
				}
			}
		})
	}
	var plenty atomic.Int64
	plenty.Store(math.MaxInt64)
	for range load.scrapers {
		clients.Go(func() { askFor(b, socket, "/metrics", &plenty) })
	}
	defer plenty.Store(0)
	var delays []time.Duration
	for b.Loop() {
		delays = append(delays, watchFirings(a, "ticking", firingsWatched)...)
	}
	b.ReportMetric(0, "ns/op") // so many seconds, by the clock
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "delay-p50-ms")
	b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds())/1000, "delay-p99-ms")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "heap-MiB")
	mu.Lock()
	defer mu.Unlock()
	if len(polls) > 0 {
		slices.Sort(polls)
		b.ReportMetric(float64(polls[len(polls)/2].Microseconds())/1000, "poll-p50-ms")
		b.ReportMetric(float64(polls[len(polls)*99/100].Microseconds())/1000, "poll-p99-ms")
		b.ReportMetric(float64(len(polls))/b.Elapsed().Seconds(), "polls/s")
	}
}

// watchFirings waits until a job has run n times and returns how late that was.
func watchFirings(a *Agent, job string, n int) (delays []time.Duration) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	newest := time.Now()
	for range look.C {
		run, ok := a.history.LastRun(job)
		if !ok || !run.Firing.After(newest) {
			continue
		}
		newest = run.Firing
		if delays = append(delays, run.StartedAt.Sub(run.Firing)); len(delays) == n {
			break
		}
	}
	return delays
}
