//go:build unix

package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// manyJobs is a file with n jobs that fire once a day; the first one's command says the
// version.
func manyJobs(n, version int) string {
	var b strings.Builder
	b.WriteString("defaults:\n  captureStdout: true\n  environment:\n    - key: A\n      value: b\njobs:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: job-%d\n    command: echo %d\n    schedule: \"%d %d * * *\"\n    onFailure:\n      retry:\n        maximumRetries: 3\n        initialDelay: 1\n        maximumDelay: 60\n        backoffMultiplier: 2\n",
			i, i+version, i%60, i/60%24)
		version = 0
	}
	return b.String()
}

// benchAgent runs an agent on one file.
func benchAgent(b *testing.B, text string, stdout io.Writer) (a *Agent, write func(string)) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "jobs.yaml")
	write = func(text string) {
		if err := os.WriteFile(file+".fresh", []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.Rename(file+".fresh", file); err != nil {
			b.Fatal(err)
		}
	}
	write(text)
	a = launch(b, Options{ConfigFiles: []string{file}, Stdout: stdout, Stderr: io.Discard, LogLevel: "error"})
	a.watch.stop(context.Background())
	return a, write
}

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReload10000 reloads 10,000 jobs of which one has changed. cpu-ms/op is the
// time on all processors together.
func BenchmarkReload10000(b *testing.B) {
	a, write := benchAgent(b, manyJobs(10_000, 0), io.Discard)
	texts := []string{manyJobs(10_000, 1), manyJobs(10_000, 2)}
	runtime.GC()
	before := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		write(texts[i%2])
		b.StartTimer()
		if err := a.Reload(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	if n := len(a.config.Load().Jobs); n != 10_000 {
		b.Fatal(n)
	}
}

// BenchmarkFiringBesideReload10000 tells how late a job starts that fires every second
// beside 10,000 others: without any reload, and while one reload of all of them follows
// the other.
func BenchmarkFiringBesideReload10000(b *testing.B) {
	const tick = "  - {name: tick, schedule: \"* * * * * * *\", command: [\"true\"]}\n"
	for _, reloading := range []bool{false, true} {
		name := "quiet"
		if reloading {
			name = "reloading"
		}
		b.Run(name, func(b *testing.B) {
			a, write := benchAgent(b, manyJobs(10_000, 0)+tick, io.Discard)
			stop, reloads := make(chan struct{}), 0
			var load sync.WaitGroup
			if reloading {
				load.Go(func() {
					for ; ; reloads++ {
						select {
						case <-stop:
							return
						default:
						}
						write(manyJobs(10_000, reloads%2+1) + tick)
						if err := a.Reload(context.Background()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			var delays []time.Duration
			for b.Loop() {
				delays = append(delays, watchFirings(a, "tick", firingsWatched)...)
			}
			close(stop)
			load.Wait()
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "p50-late-ms")
			b.ReportMetric(float64(delays[len(delays)-1].Microseconds())/1000, "max-late-ms")
			b.ReportMetric(float64(reloads), "reloads")
			b.ReportMetric(0, "ns/op") // so many seconds, by the clock
		})
	}
}
