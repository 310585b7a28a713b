package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// BenchmarkFiringUnderLoad shows how late a job that fires each second starts while ten
// clients ask for a thousand jobs as fast as they can, and a thousand listen for events.
// One operation is one firing.
func BenchmarkFiringUnderLoad(b *testing.B) {
	for _, load := range []struct{ pollers, listeners int }{{0, 0}, {10, 0}, {0, 1000}, {10, 1000}} {
		b.Run(fmt.Sprintf("pollers=%d/listeners=%d", load.pollers, load.listeners), func(b *testing.B) {
			benchmarkFiring(b, load.pollers, load.listeners)
		})
	}
}

func benchmarkFiring(b *testing.B, pollers, listeners int) {
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
	a, err := New(Options{ConfigFiles: []string{file}, NodeName: "node-a", Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := a.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	if err := a.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for range listeners {
		openStream(b, "unix", socket)
	}
	var mu sync.Mutex
	var polls []time.Duration
	for range pollers {
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
	var delays []time.Duration
	var seen time.Time
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for b.Loop() {
		for range look.C {
			runs := a.history.RecentRuns("ticking", 1)
			if len(runs) == 1 && runs[0].Firing.After(seen) {
				seen = runs[0].Firing
				delays = append(delays, runs[0].StartedAt.Sub(seen))
				break
			}
		}
	}
	slices.Sort(delays)
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
