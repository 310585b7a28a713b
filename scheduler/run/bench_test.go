//go:build linux

package run

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

const startJobs = 1000

// BenchmarkStart1000 starts 1,000 shell jobs, due at one instant and with the default
// capture of stderr, and waits for all of them. Compare with BenchmarkBareLoop1000,
// the least that the system takes for it.
func BenchmarkStart1000(b *testing.B) {
	spec := Spec{
		JobName:       "bench",
		Argv:          []string{"/bin/sh", "-c", "true"},
		Env:           os.Environ(),
		CaptureStderr: true,
		SaveLimit:     4096,
		MaxLineLength: 16 << 20,
		KillTimeout:   30 * time.Second,
	}
	processes := make([]*Process, startJobs)
	benchmarkStarts(b, func(i int) {
		processes[i] = Start(spec)
	}, func(i int) int {
		return processes[i].Result().ExitCode
	})
}

// BenchmarkBareLoop1000 forks, executes and waits with bare system calls.
func BenchmarkBareLoop1000(b *testing.B) {
	pids := make([]int, startJobs)
	env := os.Environ()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	benchmarkStarts(b, func(i int) {
		pid, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "true"}, &syscall.ProcAttr{
			Env:   env,
			Files: []uintptr{null.Fd(), null.Fd(), null.Fd()},
		})
		if err != nil {
			b.Fatal(err)
		}
		pids[i] = pid
	}, func(i int) int {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pids[i], &status, 0, nil); err != nil {
			b.Fatal(err)
		}
		return status.ExitStatus()
	})
}

func benchmarkStarts(b *testing.B, start func(int), wait func(int) int) {
	var delays []time.Duration
	cpu := cpuTime(b)
	for b.Loop() {
		due := time.Now()
		for i := range startJobs {
			start(i)
			delays = append(delays, time.Since(due))
		}
		for i := range startJobs {
			if code := wait(i); code != 0 {
				b.Fatalf("exit code %d", code)
			}
		}
	}
	b.ReportMetric((cpuTime(b)-cpu).Seconds()/float64(b.N), "cpu-s/op")
	slices.Sort(delays)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	b.ReportMetric(ms(delays[len(delays)/2]), "p50-ms")
	b.ReportMetric(ms(delays[len(delays)*99/100]), "p99-ms")
	b.ReportMetric(ms(delays[len(delays)-1]), "max-ms")
}

// cpuTime returns what this process and its children have used.
func cpuTime(b *testing.B) time.Duration {
	var sum time.Duration
	for _, who := range [...]int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}
