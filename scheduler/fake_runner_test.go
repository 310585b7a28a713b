package scheduler

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yacron2/yacron2/scheduler/run"
)

// start is one process that a fakeRunner was asked for.
type start struct {
	job     string
	firing  string // as the job sees it
	attempt string
	token   string
	at      time.Time
}

func (s start) String() string { return s.job + "@" + s.at.Format("15:04:05") }

// behaviour is what a fake process does.
type behaviour struct {
	lasts    time.Duration // 0: it ends at once
	code     int
	stubborn time.Duration // how long it outlives Cancel
	result   run.Result    // further fields
	hang     chan struct{} // Start returns when it is closed
}

// fakeRunner starts nothing: its processes end by the clock, so that timing can be
// tested in a bubble.
type fakeRunner struct {
	behave func(job string, n int) behaviour // n counts the job's starts from 1

	mu     sync.Mutex
	starts []start
	counts map[string]int
	live   map[string]int
	peak   map[string]int
}

func newFakeRunner() *fakeRunner {
	return &fakeRunner{
		behave: func(string, int) behaviour { return behaviour{} },
		counts: map[string]int{}, live: map[string]int{}, peak: map[string]int{},
	}
}

func variable(env []string, name string) string {
	for _, pair := range env {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

func (r *fakeRunner) Start(spec run.Spec) Process {
	r.mu.Lock()
	r.counts[spec.JobName]++
	n := r.counts[spec.JobName]
	r.starts = append(r.starts, start{
		job: spec.JobName, firing: variable(spec.Env, "YACRON2_FIRING"), attempt: variable(spec.Env, "YACRON2_ATTEMPT"),
		token: variable(spec.Env, "YACRON2_FENCING_TOKEN"), at: time.Now().UTC(),
	})
	r.live[spec.JobName]++
	r.peak[spec.JobName] = max(r.peak[spec.JobName], r.live[spec.JobName])
	r.mu.Unlock()
	b := r.behave(spec.JobName, n)
	if b.hang != nil {
		<-b.hang
	}
	p := &fakeProcess{runner: r, job: spec.JobName, b: b, done: make(chan struct{}), started: time.Now()}
	p.timer = time.AfterFunc(b.lasts, func() { p.finish(b.code) })
	return p
}

// of lists the starts of a job as instants.
func (r *fakeRunner) of(job string) (at []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.starts {
		if s.job == job {
			at = append(at, s.at.Format("15:04:05"))
		}
	}
	return at
}

func (r *fakeRunner) all() []start {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.starts)
}

type fakeProcess struct {
	runner  *fakeRunner
	job     string
	b       behaviour
	started time.Time
	timer   *time.Timer
	done    chan struct{}

	mu        sync.Mutex
	cancelled bool
	result    run.Result
	over      bool
}

func (p *fakeProcess) finish(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	p.result = p.b.result
	p.result.ExitCode, p.result.Cancelled = code, p.cancelled
	p.result.StartedAt, p.result.FinishedAt, p.result.PID = p.started, time.Now(), 1
	p.runner.mu.Lock()
	p.runner.live[p.job]--
	p.runner.mu.Unlock()
	close(p.done)
}

func (p *fakeProcess) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return 0
	}
	return 1
}
func (p *fakeProcess) GivenPID() int         { return 1 }
func (p *fakeProcess) Done() <-chan struct{} { return p.done }
func (p *fakeProcess) Result() run.Result    { <-p.done; return p.result }
func (p *fakeProcess) Log() *run.Log         { return nil }
func (p *fakeProcess) Cancel() {
	p.mu.Lock()
	p.cancelled = true
	p.mu.Unlock()
	p.timer.Stop()
	time.AfterFunc(p.b.stubborn, func() { p.finish(-15) })
}
