package report

import (
	"strings"
	"time"
)

// Hook is the occasion of a report, named as its configuration key.
type Hook string

// The hooks of a job.
const (
	OnFailure          Hook = "onFailure"
	OnPermanentFailure Hook = "onPermanentFailure"
	OnSuccess          Hook = "onSuccess"
	OnMiss             Hook = "onMiss"
)

// Report is what there is to tell about a run, or about a firing that did not run. It
// must not be changed once it was handed over.
type Report struct {
	Hook Hook

	Job      string
	Line     string   // the command, if it is a line for Shell
	Argv     []string // the command, if it is a list
	Shell    string
	Schedule string   // as five to seven fields or a nickname
	Environ  []string // the run's whole environment, KEY=value; nil if the job sets no variables

	Success    bool
	FailReason string // "" on success; for a missed firing why it did not run
	ExitCode   *int   // nil if no process ran
	Stdout     Output
	Stderr     Output

	RunID      string // "" for a missed firing
	Node       string
	Trigger    string
	Attempt    int       // from 1; 0 for a missed firing
	Firing     time.Time // zero for manual and reboot runs
	StartedAt  time.Time // zero if nothing was started
	FinishedAt time.Time
}

// Output is what was retained of one output stream.
type Output struct {
	Captured  bool
	Text      string
	Discarded int // lines missing from the middle of Text
}

// Command returns the command as text: the line, or the arguments joined with blanks.
func (r *Report) Command() string {
	if r.Argv != nil {
		return strings.Join(r.Argv, " ")
	}
	return r.Line
}

// size estimates the memory that the report holds on to.
func (r *Report) size() int { return len(r.Stdout.Text) + len(r.Stderr.Text) + 4096 }
