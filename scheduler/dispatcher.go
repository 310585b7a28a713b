package scheduler

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// The errors of manual requests.
var (
	ErrUnknownJob = errors.New("no such job")
	ErrDisabled   = errors.New("the job is disabled")
	ErrNotRunning = errors.New("the job is not running")
	ErrStopping   = errors.New("the agent is stopping")
	ErrNotPaused  = errors.New("the job is not paused")
)

// History keeps what ran and what did not. Its methods are safe for concurrent use.
type History interface {
	// AddStarted notes a run that goes on, so that it is not forgotten if this process
	// dies; AddRun ends it, or DropStarted where it leaves no record.
	AddStarted(run history.Run) error
	DropStarted(id string) error
	AddRun(run history.Run) error
	AddMissed(missed history.Missed) error
	// LastRun returns the newest finished run of the job.
	LastRun(job string) (history.Run, bool)
	// Pause returns the job's pause, in force or over. It is asked for every firing.
	Pause(job string) (history.Pause, bool)
	SetPause(pause history.Pause) error
	ClearPause(job string) (found bool, err error)
}

// DispatcherConfig is what a Dispatcher needs from outside.
type DispatcherConfig struct {
	Node    string // this node's name, told to the jobs
	Runner  Runner
	History History
	Logger  hclog.Logger

	// Now reads the wall clock; nil means time.Now. Only firings are measured by it:
	// delays and time limits run on the monotonic clock.
	Now func() time.Time
	// ClockSet receives when the wall clock was set or the machine woke; see ClockWatch.
	// nil: the wall clock is read every few seconds instead.
	ClockSet <-chan struct{}
	// Random returns numbers in [0, 1) for jitter and is safe for concurrent use; nil
	// means math/rand.
	Random func() float64
	// Environ is the environment that every job inherits, KEY=value; nil means the
	// agent's own.
	Environ []string
	// Stdout and Stderr receive the jobs' output; nil means the agent's own.
	Stdout, Stderr io.Writer
	// Events receives what happens, in order, from one goroutine, never while the
	// Dispatcher holds a lock. What a receiver that is slower than the agent leaves
	// unread is dropped beyond a bound, with a warning. May be nil.
	Events func(Event)
}

// Plan is a configuration as the Dispatcher sees it.
type Plan struct {
	Jobs  []*Job // in configuration order, names unique
	Elect bool   // election is configured
}

// phase is where a Dispatcher is in its life.
type phase int

const (
	phaseNew phase = iota
	phaseRunning
	phaseQuiet   // no new firings
	phaseStopped // nothing starts any more; the last goroutines end, or have ended
)

// Dispatcher owns everything between due and run: gates, claims, late starts, the
// pending @reboot one-shots, concurrency, retries, cancellation and the record of it.
//
// One goroutine, the loop, watches the clock and the coordinator. Nothing slow happens
// there: processes are started by a few launchers in the order in which they became
// due, each batch of claims and each running instance has a goroutine of its own, and
// a recorder writes down what did not run.
type Dispatcher struct {
	cfg     DispatcherConfig
	log     hclog.Logger
	records *recorder
	live    liveCounts
	environ []string

	wake    chan struct{} // to the loop: look again
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup // the loop, claims and launchers
	runs    sync.WaitGroup // one per instance

	// mu guards what follows. No method of the coordinator, the runner, the history
	// (but Pause, which looks into memory) or a receiver is called while it is held,
	// so that any of them may ask back and none can hold up a tick.
	mu          sync.Mutex
	phase       phase
	planned     bool // a plan was applied
	booted      bool // the @reboot jobs had their chance
	elect       bool
	coordinator Coordinator
	view        *election.View // of the newest pass
	peers       acquaintances
	recheck     bool     // the view or the plan changed since
	jobs        []*entry // in configuration order
	entries     map[string]*entry
	table       *Timetable
	clock       clock
	consumed    consumed
	parked      parked
	doubts      doubts
	retries     retryHeap
	reboots     map[string]*pendingReboot
	launcher    launcher
	logs        finishedLogs
	busy        int           // claims, launches and instances that Drain waits for
	changed     chan struct{} // closed and replaced when the view or the plan changed
	settled     chan struct{} // closed and replaced when busy fell or an instance ended
}

// entry is all that is known under one job name. It outlives its job while instances
// run.
type entry struct {
	name      string
	job       *Job      // nil while no such job is configured
	subject   *Job      // the newest one that was, for what is told; never nil
	newest    time.Time // the latest firing that came due
	instances []*instance
	retry     *retryState
	finished  finishedLog
	missed    *history.Missed
	decided   decisionRing
}

// NewDispatcher validates the configuration. Nothing runs before Start.
func NewDispatcher(cfg DispatcherConfig) (*Dispatcher, error) {
	switch {
	case cfg.Runner == nil:
		return nil, errors.New("dispatcher: no runner")
	case cfg.History == nil:
		return nil, errors.New("dispatcher: no history")
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Stdout == nil {
		cfg.Stdout = os.Stdout
	}
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	environ := cfg.Environ
	if environ == nil {
		environ = os.Environ()
	}
	d := &Dispatcher{
		cfg:      cfg,
		log:      cfg.Logger.Named("dispatcher"),
		environ:  inheritedEnvironment(environ),
		wake:     make(chan struct{}, 1),
		entries:  make(map[string]*entry),
		consumed: newConsumed(),
		reboots:  make(map[string]*pendingReboot),
		changed:  make(chan struct{}),
		settled:  make(chan struct{}),
	}
	d.live.running = make(map[string]int)
	d.logs.limit = logBytes
	d.records = newRecorder(cfg.History, cfg.Events, d.log)
	d.launcher = newLauncher(max(4, runtime.GOMAXPROCS(0)))
	return d, nil
}

// Start begins to fire. Its end stops new firings like Quiesce; running jobs go on
// until Stop. @reboot jobs run once, with the first plan.
func (d *Dispatcher) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.phase != phaseNew {
		return errors.New("dispatcher: started before")
	}
	d.phase = phaseRunning
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.clock.reset(d.now())
	if d.planned {
		// Nothing that was due before the start is made up for.
		d.table = NewTimetable(d.plannedJobs(), d.clock.wall)
	}
	d.records.start()
	d.workers.Go(func() { d.loop(ctx) })
	return nil
}

// Apply puts a plan into effect, before or after Start; running instances keep the
// job they were started with.
func (d *Dispatcher) Apply(plan Plan) {
	d.pass() // with the newest view
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.phase == phaseRunning && d.planned {
		d.tick(now, nil) // what is due by the old plan is due
	}
	before := d.entries
	d.entries = make(map[string]*entry, len(plan.Jobs))
	d.jobs = make([]*entry, 0, len(plan.Jobs))
	for _, job := range plan.Jobs {
		e := before[job.Name]
		if e == nil {
			e = &entry{name: job.Name}
		}
		delete(before, job.Name)
		d.entries[job.Name] = e
		d.jobs = append(d.jobs, e)
		if !job.Enabled {
			d.abandonRetry(e, abandonedDisabled)
		}
		d.parked.reload(e, job)
		e.job, e.subject = job, job
	}
	for name, e := range before {
		d.abandonRetry(e, abandonedRemoved)
		d.parked.reload(e, nil)
		e.job = nil
		d.logs.drop(e)
		if len(e.instances) > 0 {
			d.entries[name] = e
		}
	}
	d.consumed.forget(d.entries)
	d.elect = plan.Elect
	d.planned = true
	if d.table != nil {
		d.table.Replace(plan.Jobs, now)
	} else if d.phase == phaseRunning {
		d.table = NewTimetable(plan.Jobs, now)
	}
	d.announceChange()
}

// plannedJobs returns the jobs in configuration order. mu is held.
func (d *Dispatcher) plannedJobs() []*Job {
	jobs := make([]*Job, len(d.jobs))
	for i, e := range d.jobs {
		jobs[i] = e.job
	}
	return jobs
}

// SetCoordinator hands over the coordinator that is up now, or nil when there is none
// ("no manager"). The Dispatcher is the one reader of its Updates channel and tells of
// them with an Event of kind ViewChanged.
func (d *Dispatcher) SetCoordinator(c Coordinator) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.coordinator = c
	d.announceChange()
}

// announceChange makes the loop and all waiting claims look again. mu is held.
func (d *Dispatcher) announceChange() {
	d.recheck = true
	close(d.changed)
	d.changed = make(chan struct{})
	d.poke()
}

// poke makes the loop look again.
func (d *Dispatcher) poke() {
	select {
	case d.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// now reads the wall clock, without the monotonic reading.
func (d *Dispatcher) now() time.Time { return d.cfg.Now().Round(0).UTC() }
