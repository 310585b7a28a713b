package history

import "time"

// Outcome is how a run ended, evaluated once and told to everyone.
type Outcome string

// The outcomes of a recorded run.
const (
	Success   Outcome = "success"
	Failure   Outcome = "failure"
	Cancelled Outcome = "cancelled"
)

// Run is one finished run, or one that was given up before it started.
type Run struct {
	ID         string
	Job        string
	Firing     time.Time // scheduled instant, zero for manual and reboot runs
	Trigger    string    // schedule, late, retry, reboot, manual
	Attempt    int       // from 1
	Node       string
	Outcome    Outcome
	ExitCode   *int      // nil if no process ran
	StartedAt  time.Time // zero for an abandoned retry
	FinishedAt time.Time
	FailReason string // "" on success
	Notes      []string

	UserCPU, SystemCPU time.Duration
	MaxRSS             int64 // bytes
}

// Missed is a firing that did not run on this node although it was this node's to
// run, or that nobody could run, with the reason.
type Missed struct {
	Job    string
	Firing time.Time
	At     time.Time // when it was given up
	Code   string    // short machine-readable cause, such as no-quorum
	Reason string    // in words
}
