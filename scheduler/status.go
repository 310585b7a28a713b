package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/scheduler/history"
)

// Trigger says why a run was started.
type Trigger string

// The triggers.
const (
	TriggerSchedule Trigger = "schedule"
	TriggerLate     Trigger = "late"
	TriggerRetry    Trigger = "retry"
	TriggerReboot   Trigger = "reboot"
	TriggerManual   Trigger = "manual"
)

// Decided is what became of one firing, or of several in a row with the same verdict.
type Decided struct {
	Firing  time.Time // scheduled instant (the newest of a row); zero for @reboot
	First   time.Time // the oldest of a row
	Count   int       // how many firings the row has
	At      time.Time // when it was decided
	Trigger Trigger
	Outcome string // run, skipped, denied, missed, pending, deferred, abandoned
	Code    string // short and stable
	Reason  string // in words
	Owner   string // node that runs it instead; "" if none is known
}

// RetryStatus tells of a pending retry.
type RetryStatus struct {
	Attempt  int       // number of the coming attempt, from 2
	At       time.Time // when it is due; zero while it waits for a running instance
	Deferred string    // why it was put off, "" if it was not
}

// JobStatus is one job as it stands.
type JobStatus struct {
	Job           *Job
	Running       bool
	PIDs          []int     // of instances whose process exists
	NextAt        time.Time // coming firing, also while running; zero: none
	LastRun       *history.Run
	LastMissed    *history.Missed // of this process
	LastDecision  *Decided
	Retry         *RetryStatus
	RebootPending bool // a deferred @reboot one-shot
}

// Jobs returns every job in configuration order.
func (d *Dispatcher) Jobs() []JobStatus { return nil }

// Job returns one job.
func (d *Dispatcher) Job(name string) (JobStatus, bool) { return JobStatus{}, false }

// Decisions returns what became of the job's recent firings, oldest first.
func (d *Dispatcher) Decisions(name string) []Decided { return nil }

// Summary is what a node tells the fleet about one job.
type Summary struct {
	Running bool
	Enabled bool
	NextAt  time.Time    // zero: none, or while running
	Last    *history.Run // nil: none yet
}

// Summaries returns the summary of every job by name.
func (d *Dispatcher) Summaries() map[string]Summary { return nil }
