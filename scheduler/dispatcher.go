package scheduler

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/scheduler/history"
)

// The errors of manual requests.
var (
	ErrUnknownJob = errors.New("no such job")
	ErrDisabled   = errors.New("the job is disabled")
	ErrNotRunning = errors.New("the job is not running")
	ErrStopping   = errors.New("the agent is stopping")
)

// History keeps what ran and what did not. Its methods are safe for concurrent use.
type History interface {
	AddRun(run history.Run) error
	AddMissed(missed history.Missed) error
	// LastRun returns the newest finished run of the job.
	LastRun(job string) (history.Run, bool)
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
	// Random returns numbers in [0, 1) for jitter; nil means math/rand.
	Random func() float64
	// Environ is the environment that every job inherits, KEY=value; nil means the
	// agent's own.
	Environ []string
	// Stdout and Stderr receive the jobs' output.
	Stdout, Stderr io.Writer
	// Events receives what happens, in order, from one goroutine, never while the
	// Dispatcher holds a lock. What a receiver that is slower than the agent leaves
	// unread is dropped beyond a bound, and counted. May be nil.
	Events func(Event)
}

// Plan is a configuration as the Dispatcher sees it.
type Plan struct {
	Jobs  []*Job // in configuration order, names unique
	Elect bool   // election is configured
}

// Dispatcher owns everything between due and run: gates, claims, late starts, the
// pending @reboot one-shots, concurrency, retries, cancellation and the record of it.
type Dispatcher struct{ cfg DispatcherConfig }

// NewDispatcher validates the configuration. Nothing runs before Start.
func NewDispatcher(cfg DispatcherConfig) (*Dispatcher, error) { return &Dispatcher{cfg: cfg}, nil }

// Start begins to fire. ctx bounds the Dispatcher's life only through Stop: its end
// stops new firings like Quiesce. @reboot jobs run once, with the first plan.
func (d *Dispatcher) Start(ctx context.Context) error { return nil }

// Apply puts a plan into effect, before or after Start; running instances keep the
// job they were started with.
func (d *Dispatcher) Apply(plan Plan) {}

// SetCoordinator hands over the coordinator that is up now, or nil when there is none
// ("no manager"). The Dispatcher is the one reader of its Updates channel and tells of
// them with an Event of kind ViewChanged.
func (d *Dispatcher) SetCoordinator(c Coordinator) {}

// Quiesce stops new firings for good: pending retries and claims end, manual starts
// get ErrStopping. Running jobs go on.
func (d *Dispatcher) Quiesce() {}

// Drain waits until nothing runs any more, or for ctx.
func (d *Dispatcher) Drain(ctx context.Context) error { return nil }

// CancelAll cancels every running instance and returns at once; see Drain.
func (d *Dispatcher) CancelAll() {}

// Stop quiesces, drains, cancels what still runs when ctx ends, and ends every
// goroutine. It returns the context's error if runs had to be cancelled.
func (d *Dispatcher) Stop(ctx context.Context) error { return nil }

// StartJob starts the job now, whatever schedule and election say: ErrUnknownJob,
// ErrDisabled or ErrStopping. While an instance runs, Forbid starts nothing and
// Replace ends the old instances first; both return nil.
func (d *Dispatcher) StartJob(ctx context.Context, name string) error { return nil }

// CancelJob cancels every instance of the job and its retries, and returns after
// their end: ErrUnknownJob, ErrNotRunning, or the error of ctx.
func (d *Dispatcher) CancelJob(ctx context.Context, name string) error { return nil }

// IsRunning reports whether an instance of the job runs here. It takes no lock that is
// held while anything else is called.
func (d *Dispatcher) IsRunning(name string) bool { return false }

// Logs returns the newest running instance of the job, else the last one that
// finished, for its ring of output lines.
func (d *Dispatcher) Logs(name string) (Process, bool) { return nil, false }
