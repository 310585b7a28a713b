//go:build unix

package scheduler

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/run"
)

// stopwatch is a Runner that notes when it was asked, then does what inner does.
type stopwatch struct {
	inner Runner
	mu    sync.Mutex
	at    []time.Time
}

func (s *stopwatch) Start(spec run.Spec) Process {
	p := s.inner.Start(spec)
	now := time.Now()
	s.mu.Lock()
	s.at = append(s.at, now)
	s.mu.Unlock()
	return p
}

// noProcess is a Runner whose processes have ended before they began.
type noProcess struct{}

type nothing struct{}

var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (noProcess) Start(run.Spec) Process { return nothing{} }
func (nothing) PID() int                 { return 0 }
func (nothing) GivenPID() int            { return 0 }
func (nothing) Done() <-chan struct{}    { return ended }
func (nothing) Result() run.Result       { return run.Result{} }
func (nothing) Cancel()                  {}
func (nothing) Log() *run.Log            { return nil }

// forgetful is a History that keeps nothing.
type forgetful struct{ noPauses }

func (forgetful) AddRun(history.Run) error           { return nil }
func (forgetful) AddMissed(history.Missed) error     { return nil }
func (forgetful) LastRun(string) (history.Run, bool) { return history.Run{}, false }

// benchAgent is a Dispatcher whose wall clock stands still until it is moved.
type benchAgent struct {
	*Dispatcher
	watch *stopwatch
	clock atomic.Int64
}

func newBenchAgent(b *testing.B, runner Runner, elect bool, jobs int) *benchAgent {
	a := &benchAgent{watch: &stopwatch{inner: runner}}
	start := time.Date(2030, 1, 1, 0, 0, 1, 0, time.UTC)
	a.clock.Store(start.UnixNano())
	d, err := NewDispatcher(DispatcherConfig{
		Node: me, Runner: a.watch, History: forgetful{}, Logger: hclog.NewNullLogger(),
		Stdout: io.Discard, Stderr: io.Discard, Now: func() time.Time { return time.Unix(0, a.clock.Load()) },
	})
	if err != nil {
		b.Fatal(err)
	}
	a.Dispatcher = d
	plan := Plan{Elect: elect}
	for i := range jobs {
		plan.Jobs = append(plan.Jobs, testJob(b, fmt.Sprintf("job-%05d", i), "* * * * *", policy(election.Leader),
			func(j *Job) { j.Command = Command{Line: ":"}; j.CaptureStderr = false; j.FailsWhen = FailsWhen{} }))
	}
	d.Apply(plan)
	d.SetCoordinator(newFakeCoordinator(leading(start)))
	if err := d.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return a
}

// minute moves the clock to the next minute and waits until n jobs have run. It returns
// the delays of their starts.
func (a *benchAgent) minute(n int) []time.Duration {
	a.watch.mu.Lock()
	a.watch.at = a.watch.at[:0]
	a.watch.mu.Unlock()
	begin := time.Now()
	a.clock.Add(int64(time.Minute))
	a.poke()
	for {
		a.mu.Lock()
		settled := a.settled
		a.mu.Unlock()
		a.watch.mu.Lock()
		started := len(a.watch.at)
		a.watch.mu.Unlock()
		if started == n && a.Drain(context.Background()) == nil {
			break
		}
		<-settled
	}
	delays := make([]time.Duration, n)
	for i, at := range a.watch.at {
		delays[i] = at.Sub(begin)
	}
	slices.Sort(delays)
	return delays
}

func cpu() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			total += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return total
}

// BenchmarkThousandDue is one instant at which 1,000 jobs are due: the delay of their
// starts after the instant, and the CPU time of everything.
func BenchmarkThousandDue(b *testing.B) {
	const n = 1000
	for name, c := range map[string]struct {
		runner Runner
		elect  bool
	}{
		"no-process":         {noProcess{}, false},
		"no-process/claimed": {noProcess{}, true},
		"sh":                 {ProcessRunner{}, false},
	} {
		b.Run(name, func(b *testing.B) {
			a := newBenchAgent(b, c.runner, c.elect, n)
			var all []time.Duration
			before := cpu()
			for b.Loop() {
				all = append(all, a.minute(n)...)
			}
			reportDelays(b, all, cpu()-before)
		})
	}
	// The limit: nothing but fork, exec and wait, as many at a time.
	b.Run("bare", func(b *testing.B) {
		var all []time.Duration
		before := cpu()
		for b.Loop() {
			begin := time.Now()
			var wait sync.WaitGroup
			next := make(chan struct{})
			var mu sync.Mutex
			for range 4 {
				wait.Go(func() {
					for range next {
						p, err := os.StartProcess("/bin/sh", []string{"/bin/sh", "-c", ":"}, &os.ProcAttr{Env: os.Environ()})
						if err != nil {
							b.Error(err)
							return
						}
						mu.Lock()
						all = append(all, time.Since(begin))
						mu.Unlock()
						wait.Go(func() {
							if _, err := p.Wait(); err != nil {
								b.Error(err)
							}
						})
					}
				})
			}
			for range n {
				next <- struct{}{}
			}
			close(next)
			wait.Wait()
		}
		slices.Sort(all)
		reportDelays(b, all, cpu()-before)
	})
}

func reportDelays(b *testing.B, all []time.Duration, cpu time.Duration) {
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(ms(all[len(all)-1]), "max-ms")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkIdle is what an idle agent does again and again: look at the clock. The CPU
// seconds are those of a minute of it.
func BenchmarkIdle(b *testing.B) {
	for _, n := range []int{10, 10000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			a := newBenchAgent(b, noProcess{}, true, n)
			b.ReportAllocs()
			for b.Loop() {
				a.pass()
			}
			perPass := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(perPass*float64(time.Minute/clockCheck), "cpu-s/min")
		})
	}
}

// BenchmarkFollower is one instant of a node that runs none of its 10,000 due jobs.
func BenchmarkFollower(b *testing.B) {
	a := newBenchAgent(b, noProcess{}, true, 10000)
	a.coordinator.(*fakeCoordinator).set(clusterOf(time.Now(), nil, nil))
	b.ReportAllocs()
	for b.Loop() {
		a.clock.Add(int64(time.Minute))
		a.pass()
	}
}

// BenchmarkReload applies a configuration of 10,000 jobs that has not changed.
func BenchmarkReload(b *testing.B) {
	a := newBenchAgent(b, noProcess{}, true, 10000)
	plan := Plan{Elect: true, Jobs: a.plannedJobs()}
	for b.Loop() {
		a.Apply(plan)
	}
}

// BenchmarkStatus is what one poll of a dashboard asks for with 10,000 jobs.
func BenchmarkStatus(b *testing.B) {
	a := newBenchAgent(b, noProcess{}, true, 10000)
	b.ReportAllocs()
	for b.Loop() {
		a.Jobs()
	}
}
