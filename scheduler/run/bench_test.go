//go:build linux

package run

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startJobs is how many jobs are due at one instant.
const startJobs = 1000

// BenchmarkStart1000 starts 1,000 shell jobs and waits for all of them. It reports how long
// after the instant the jobs were started, and the processor time of everything.
//
// "runs" does it as the dispatcher does, from a few goroutines; "in-turn" from one. "bare"
// is the least that the system takes for it: one loop of fork and exec, each process in a
// session of its own, as runs are; on a busy machine that alone costs the loop much of its
// time, because the scheduler puts each session into a group of its own. "without-session"
// leaves that out.
func BenchmarkStart1000(b *testing.B) {
	b.Run("runs", func(b *testing.B) { benchmarkStart(b, 4) })
	b.Run("in-turn", func(b *testing.B) { benchmarkStart(b, 1) })
	b.Run("bare", func(b *testing.B) { benchmarkBareLoop(b, &syscall.SysProcAttr{Setsid: true}) })
	b.Run("without-session", func(b *testing.B) { benchmarkBareLoop(b, &syscall.SysProcAttr{}) })
}

func benchmarkStart(b *testing.B, starters int) {
	spec := Spec{
		JobName:       "bench",
		Argv:          []string{"/bin/sh", "-c", "true"},
		Env:           os.Environ(),
		CaptureStderr: true, // the default of a job
		SaveLimit:     4096,
		MaxLineLength: 16 << 20,
		KillTimeout:   30 * time.Second,
	}
	processes := make([]*Process, startJobs)
	benchmarkStarts(b, starters, func(i int) error {
		processes[i] = Start(spec)
		return nil
	}, func(i int) int {
		return processes[i].Result().ExitCode
	})
}

func benchmarkBareLoop(b *testing.B, sys *syscall.SysProcAttr) {
	env := os.Environ()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: sys}
	pids := make([]int, startJobs)
	benchmarkStarts(b, 1, func(i int) (err error) {
		pids[i], err = syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "true"}, attr)
		return err
	}, func(i int) int {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pids[i], &status, 0, nil); err != nil {
			b.Error(err)
		}
		return status.ExitStatus()
	})
}

func benchmarkStarts(b *testing.B, starters int, start func(int) error, wait func(int) int) {
	delays := make([]time.Duration, 0, startJobs)
	own, children := cpuTime(b, syscall.RUSAGE_SELF), cpuTime(b, syscall.RUSAGE_CHILDREN)
	for b.Loop() {
		due := time.Now()
		var mu sync.Mutex
		next := 0
		take := func() int {
			mu.Lock()
			defer mu.Unlock()
			next++
			return next - 1
		}
		var wg sync.WaitGroup
		for range starters {
			wg.Go(func() {
				for i := take(); i < startJobs; i = take() {
					if err := start(i); err != nil {
						b.Error(err)
					}
					delay := time.Since(due)
					mu.Lock()
					delays = append(delays, delay)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range startJobs {
			if code := wait(i); code != 0 {
				b.Fatalf("exit code %d", code)
			}
		}
	}
	own, children = cpuTime(b, syscall.RUSAGE_SELF)-own, cpuTime(b, syscall.RUSAGE_CHILDREN)-children
	b.ReportMetric((own+children).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(own.Seconds()/float64(b.N), "own-cpu-s/op")
	slices.Sort(delays)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	b.ReportMetric(ms(delays[len(delays)/2]), "p50-ms")
	b.ReportMetric(ms(delays[len(delays)*99/100]), "p99-ms")
	b.ReportMetric(ms(delays[len(delays)-1]), "max-ms")
}

// cpuTime returns what this process or its children have used.
func cpuTime(b *testing.B, who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
