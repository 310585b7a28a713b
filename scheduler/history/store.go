package history

import (
	"errors"
	"time"
)

// ErrClosed is what a store answers after Close.
var ErrClosed = errors.New("history is closed")

// Store keeps runs, missed firings and pauses. Its methods are safe for concurrent
// use. None of them waits for a disk, apart from those that say so.
type Store interface {
	// AddStarted notes a run that goes on: if the agent dies, the run is recorded as
	// Lost at the next start. AddRun or DropStarted ends it.
	AddStarted(run Run) error
	// DropStarted ends a run that leaves no record.
	DropStarted(id string) error
	// AddRun records a finished run.
	AddRun(run Run) error
	// AddMissed records a firing that did not run.
	AddMissed(missed Missed) error

	// LastRun returns the newest run of the job.
	LastRun(job string) (Run, bool)
	// Runs returns the retained runs of the job, oldest first.
	Runs(job string) []Run
	// RecentRuns returns the last n of them, oldest first.
	RecentRuns(job string, n int) []Run
	// Output returns the last lines that a retained run wrote, as far as they are
	// still kept. It may read from a disk.
	Output(job, id string) ([]Line, error)
	// Missed returns the last n missed firings of the job, oldest first.
	Missed(job string, n int) []Missed

	// SetPause pauses a job, in place of an earlier pause. It returns when the
	// pause is as durable as the store is.
	SetPause(pause Pause) error
	// ClearPause ends the pause of a job and reports whether there was one. It
	// returns when that is as durable as the store is.
	ClearPause(job string) (bool, error)
	// Pause returns the pause of a job, active or over.
	Pause(job string) (Pause, bool)
	// Pauses returns all pauses, by job name.
	Pauses() []Pause

	// Close writes what is not written yet. The store must not be used afterwards.
	Close() error
}

var (
	_ Store = (*Memory)(nil)
	_ Store = (*File)(nil)
)

// Limits bound what a store keeps.
type Limits struct {
	RunsPerJob   int
	Runs         int // of all jobs
	MissedPerJob int
	Missed       int // of all jobs
	Output       int // bytes of output lines of all runs, in memory

	// Age is how long runs and missed firings are kept; 0: for ever.
	Age time.Duration
}

// DefaultLimits suit ten thousand jobs within some tens of megabytes.
func DefaultLimits() Limits {
	return Limits{
		RunsPerJob:   50,
		Runs:         50_000,
		MissedPerJob: 50,
		Missed:       20_000,
		Output:       16 << 20,
		Age:          365 * 24 * time.Hour,
	}
}
