package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/run"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	RunStarted    EventKind = "run-started"    // a process runs
	StartFailed   EventKind = "start-failed"   // no process came to be; RunFinished follows
	RunFinished   EventKind = "run-finished"   // Run, Result, Permanent and RetryAt are set
	RunReplaced   EventKind = "run-replaced"   // a newer run took its place; there is no record of it
	RunAbandoned  EventKind = "run-abandoned"  // a retry was given up; Run is set
	FiringMissed  EventKind = "firing-missed"  // Missed is set
	FiringDecided EventKind = "firing-decided" // Decision is set
	RebootRetired EventKind = "reboot-retired" // a pending one-shot will not run here; Decision is set
	ViewChanged   EventKind = "view-changed"   // the coordinator has a new view
	ClaimsAsked   EventKind = "claims-asked"   // the cluster is asked for Asked firings, new or once more
	ClockStepped  EventKind = "clock-stepped"  // the wall clock was set by Step
)

// Event is one thing that happened. What it points to must not be changed.
type Event struct {
	Kind EventKind
	At   time.Time
	Job  *Job // as it was run or decided about; nil for events of the whole agent

	RunID   string
	Trigger Trigger
	Firing  time.Time // zero for manual and @reboot runs
	Attempt int       // from 1
	PID     int

	Run       *history.Run // finished or abandoned
	Result    *run.Result  // finished: with the output, for reports
	Environ   []string     // its whole environment, if it is reported and the job sets variables
	Permanent bool         // failed, and no retry follows
	RetryAt   time.Time    // when the next attempt is due; zero: none

	Missed   *history.Missed
	Decision *Decided
	Asked    int
	Step     time.Duration
}
