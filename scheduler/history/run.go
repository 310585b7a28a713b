package history

import "time"

// Outcome is how a run ended, evaluated once and told to everyone.
type Outcome string

// The outcomes of a recorded run.
const (
	Success   Outcome = "success"
	Failure   Outcome = "failure"
	Cancelled Outcome = "cancelled"

	// Lost is a run that was going on when the agent died; nobody knows how it
	// ended. Its FinishedAt is when the agent was last known to live.
	Lost Outcome = "lost"
)

// Run is one finished run, or one that was given up before it started.
type Run struct {
	ID         string    `json:"id"`
	Job        string    `json:"job"`
	Firing     time.Time `json:"firing,omitzero"` // scheduled instant, zero for manual and reboot runs
	Trigger    string    `json:"trigger"`         // schedule, late, retry, reboot, manual
	Attempt    int       `json:"attempt"`         // from 1
	Node       string    `json:"node,omitempty"`
	Outcome    Outcome   `json:"outcome,omitempty"`
	ExitCode   *int      `json:"exit_code,omitempty"` // nil if no process ran
	StartedAt  time.Time `json:"started,omitzero"`    // zero for an abandoned retry
	FinishedAt time.Time `json:"finished,omitzero"`
	FailReason string    `json:"fail_reason,omitempty"` // "" on success
	Notes      []string  `json:"notes,omitempty"`

	UserCPU   time.Duration `json:"user_cpu,omitempty"`
	SystemCPU time.Duration `json:"system_cpu,omitempty"`
	MaxRSS    int64         `json:"max_rss,omitempty"` // bytes; 0: not known

	// Output holds the last lines that the run wrote. Stores keep at most
	// OutputLines of them and OutputBytes in all, and give them out through Output
	// only, not with the Run.
	Output []Line `json:"-"`
}

// Line is one line of output.
type Line struct {
	Stream string `json:"s"` // stdout or stderr
	Text   string `json:"t"` // without newline; valid UTF-8
}

// Limits of the output kept with a run.
const (
	OutputLines = 100
	OutputBytes = 16 << 10
)

// Duration is how long the run took; false if nothing was started.
func (r *Run) Duration() (time.Duration, bool) {
	if r.StartedAt.IsZero() {
		return 0, false
	}
	return max(0, r.FinishedAt.Sub(r.StartedAt)), true
}

// Missed is a firing that did not run on this node although it was this node's to
// run, or that nobody could run, with the reason.
type Missed struct {
	Job    string    `json:"job"`
	Firing time.Time `json:"firing"`
	At     time.Time `json:"at"`     // when it was given up
	Code   string    `json:"code"`   // short machine-readable cause, such as no-quorum
	Reason string    `json:"reason"` // in words
}

// lastOutput cuts lines down to the last ones within the limits.
func lastOutput(lines []Line) []Line {
	size, from := 0, len(lines)
	for from > 0 && len(lines)-from < OutputLines {
		size += len(lines[from-1].Text) + len(lines[from-1].Stream)
		if size > OutputBytes {
			break
		}
		from--
	}
	return append([]Line(nil), lines[from:]...)
}
