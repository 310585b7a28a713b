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
	RunStarted      EventKind = "run-started"
	RunFinished     EventKind = "run-finished"     // Run, Result and what follows are set
	RunAbandoned    EventKind = "run-abandoned"    // a retry that was given up; Run is set
	FiringMissed    EventKind = "firing-missed"    // Missed is set
	FiringDecided   EventKind = "firing-decided"   // Decision is set
	RetryScheduled  EventKind = "retry-scheduled"  // RetryAt is set
	ViewChanged     EventKind = "view-changed"     // the coordinator has a new view
	ClockStepped    EventKind = "clock-stepped"    // the wall clock was set
	RebootRetired   EventKind = "reboot-retired"   // a pending one-shot will not run here
	RetryLaunched   EventKind = "retry-launched"   // counts job_retries_total
	StartFailed     EventKind = "start-failed"     // no process came to be; a RunFinished follows
	PermanentFailed EventKind = "permanent-failed" // failed, and no retry is left
)

// Event is one thing that happened.
type Event struct {
	Kind EventKind
	At   time.Time
	Job  *Job // nil for events of the whole agent

	RunID    string
	Trigger  Trigger
	Firing   time.Time // zero for manual and @reboot runs
	Attempt  int
	PID      int
	Run      *history.Run    // finished or abandoned
	Result   *run.Result     // finished: with the output, for reports
	Missed   *history.Missed // missed
	Decision *Decided        // decided
	RetryAt  time.Time       // when the next attempt is due
}
