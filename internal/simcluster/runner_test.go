package simcluster

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/run"
)

// runner starts the jobs of one process: it notes them in the ledger, and they end by the
// clock.
type runner struct{ p *process }

// Start implements scheduler.Runner.
func (r runner) Start(spec run.Spec) scheduler.Process {
	p := r.p
	attempt, _ := strconv.Atoi(variable(spec.Env, "YACRON2_ATTEMPT"))
	firing, _ := time.Parse(time.RFC3339Nano, variable(spec.Env, "YACRON2_FIRING"))
	l := launch{job: spec.JobName, firing: firing.UTC(), attempt: attempt, instance: p.instance, machine: p.m.index}

	x := &execution{p: p, done: make(chan struct{}), began: time.Now()}
	p.w.mu.Lock()
	l.handed, l.wall = p.w.elapsed(), p.m.wall()
	// To fork takes a moment, in which a process may die or be frozen.
	slow := share(p.w.roll("fork "+spec.JobName, p.m.index), 2*time.Millisecond)
	p.w.mu.Unlock()
	wait := time.NewTimer(slow)
	select {
	case <-wait.C:
	case <-p.gone:
		wait.Stop()
	}
	p.gate("start " + spec.JobName)

	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.dead {
		close(x.done)
		return x
	}
	l.at = p.w.elapsed()
	random := p.w.roll("job "+spec.JobName, p.m.index, attempt)
	lasts := share(random, 300*time.Millisecond)
	switch spec.JobName {
	case jobAll:
		if p.w.sc.Long {
			lasts = 12 * time.Second
		}
	case jobSolo:
		lasts = share(random, 2500*time.Millisecond)
		if p.w.sc.Long {
			lasts *= 2
		}
	case jobFlaky:
		if attempt < 1+int(random>>40%5) {
			x.code = 1
		}
	}
	l.until = l.at + lasts
	x.pid = 1
	p.w.ledger.launched(p, l)
	x.timer = time.AfterFunc(lasts, func() { x.end(false) })
	return x
}

func variable(env []string, name string) string {
	for _, pair := range env {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

// execution is one run of a job.
type execution struct {
	p     *process
	began time.Time
	code  int
	pid   int // 0: nothing was started, since the agent had died
	timer *time.Timer
	done  chan struct{}
	once  sync.Once

	result run.Result
}

func (x *execution) end(cancelled bool) {
	x.once.Do(func() {
		x.result = run.Result{PID: x.pid, StartedAt: x.began, FinishedAt: time.Now(), ExitCode: x.code, Cancelled: cancelled}
		close(x.done)
	})
}

func (x *execution) PID() int              { return x.pid }
func (x *execution) GivenPID() int         { return x.pid }
func (x *execution) Done() <-chan struct{} { return x.done }
func (x *execution) Result() run.Result    { <-x.done; return x.result }
func (x *execution) Log() *run.Log         { return nil }

func (x *execution) Cancel() {
	if x.timer != nil {
		x.timer.Stop()
		x.end(true)
	}
}
