package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// dueJobs is how many jobs are due at one instant.
const dueJobs = 1000

// One instant at which 1,000 shell jobs are due: how long after it a real agent has
// started them (the figures in ms), when the last one has ended, and the processor time
// of everything; and what the least loop of fork, exec and wait needs for the same.
func BenchmarkJobsDueAtOnce(b *testing.B) {
	b.Run("agent", func(b *testing.B) {
		jobs := make([]testcluster.Job, dueJobs)
		for i := range jobs {
			jobs[i] = testcluster.Job{Name: fmt.Sprintf("job-%04d", i), Schedule: "*/10 * * * * * *", Command: "true"}
		}
		a := startAlone(b, jobs...)
		var delays []time.Duration
		var total, cpu time.Duration
		for b.Loop() {
			// Well before an instant, so that nothing but it is measured.
			at := time.Now().Add(2 * time.Second).Truncate(10 * time.Second).Add(10 * time.Second)
			<-time.After(time.Until(at.Add(-500 * time.Millisecond)))
			before := withChildren(b, a.PID())
			<-time.After(time.Until(at.Add(2 * time.Second)))
			cpu += withChildren(b, a.PID()) - before
			testcluster.Eventually(b, "the end of all runs", func() error {
				list, err := a.Client.Jobs(b.Context())
				if err != nil {
					return err
				}
				delays = delays[:len(delays)/dueJobs*dueJobs]
				last := at
				for _, j := range list {
					if j.LastRun == nil || !j.LastRun.Firing.Equal(at) {
						return errors.New(j.Name + " has not run")
					}
					delays = append(delays, j.LastRun.StartedAt.Sub(at))
					if end := j.LastRun.FinishedAt.Time; end.After(last) {
						last = end
					}
				}
				total += last.Sub(at)
				return nil
			})
		}
		reportStarts(b, delays, total, cpu)
	})
	b.Run("bare", func(b *testing.B) {
		var delays []time.Duration
		var total, cpu time.Duration
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = null.Close() }()
		attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}}
		for b.Loop() {
			before := withChildren(b, os.Getpid())
			at := time.Now()
			pids := make([]int, dueJobs)
			for i := range pids {
				delays = append(delays, time.Since(at))
				if pids[i], err = syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "true"}, attr); err != nil {
					b.Fatal(err)
				}
			}
			for _, pid := range pids {
				if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
					b.Fatal(err)
				}
			}
			total += time.Since(at)
			cpu += withChildren(b, os.Getpid()) - before
		}
		reportStarts(b, delays, total, cpu)
	})
}

func reportStarts(b *testing.B, delays []time.Duration, total, cpu time.Duration) {
	slices.Sort(delays)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.ReportMetric(ms(delays[len(delays)/2]), "p50-ms")
	b.ReportMetric(ms(delays[len(delays)*99/100]), "p99-ms")
	b.ReportMetric(ms(delays[len(delays)-1]), "max-ms")
	b.ReportMetric(ms(total)/float64(b.N), "all-ended-ms")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(0, "ns/op")
}

// withChildren returns the processor time of a process and of the children that it has
// waited for, in steps of 10 ms.
func withChildren(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	fields := strings.Fields(string(data)[strings.LastIndex(string(data), ")")+2:])
	var ticks, sum int
	for _, field := range fields[11:15] { // utime, stime and those of the children
		if _, err := fmt.Sscan(field, &ticks); err != nil {
			tb.Fatal(err)
		}
		sum += ticks
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
