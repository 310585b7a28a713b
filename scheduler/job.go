package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/report"
)

// ConcurrencyPolicy says what a launch does while an instance of the job runs.
type ConcurrencyPolicy string

// The concurrency policies of a job.
const (
	Allow   ConcurrencyPolicy = "Allow"   // start another
	Forbid  ConcurrencyPolicy = "Forbid"  // start nothing
	Replace ConcurrencyPolicy = "Replace" // cancel the old ones, then start
)

// Command is what a job executes: either a line for the job's shell or an argument
// vector that is executed as it is. Exactly one of the two is set.
type Command struct {
	Line string   // for shell -c
	Argv []string // nil unless the command was given as a list
}

// EnvVar is one environment variable set on top of the agent's environment.
type EnvVar struct {
	Key, Value string
}

// FailsWhen lists what makes a finished run a failure.
type FailsWhen struct {
	ProducesStdout bool
	ProducesStderr bool
	NonzeroReturn  bool
	Always         bool
}

// Retry says whether and how a failed run is repeated.
type Retry struct {
	Maximum      int           // -1: endless; 0: never
	InitialDelay time.Duration // before the first retry, at most MaximumDelay
	MaximumDelay time.Duration
	Multiplier   float64
	Jitter       float64 // 0 to 1: share of a delay that is random
}

// Identity is a user or group as configured.
type Identity struct {
	Name string // set if configured by name
	ID   uint32
	IsID bool // configured as a number
}

// RunAs is what a job's user and group resolve to on this machine. A nil id keeps the
// agent's own; without a login name HOME and its like stay the agent's too.
type RunAs struct {
	UID, GID *uint32
	Groups   []uint32 // supplementary groups of Login; none without one
	Login    string   // "" for a number that no account has
	Home     string
	Shell    string // "" if the account names none
}

// Job is one job of the effective configuration: everything merged, validated and
// resolved. A Job is immutable once loaded; a running instance keeps the Job it was
// started with.
type Job struct {
	Name    string // unique, printable, 1 to 128 characters
	Command Command
	Shell   string // for Command.Line; "" means the platform's default shell
	Enabled bool

	Schedule     *Schedule // parsed; never nil
	ScheduleText string    // as configured; the map form as its five or six fields
	DayMatch     DayMatch  // already part of Schedule
	UTC          bool      // as configured
	Timezone     string    // IANA name, "UTC" for utc: true; "" for an unresolvable local zone
	Location     *time.Location

	ConcurrencyPolicy ConcurrencyPolicy
	ClusterPolicy     election.Policy

	CaptureStdout bool
	CaptureStderr bool
	SaveLimit     int    // lines retained per stream, ≥ 0
	MaxLineLength int    // bytes without the newline, > 0
	StreamPrefix  string // {job_name} and {stream_name} are replaced

	Environment      []EnvVar // env_file below defaults' and the job's environment
	User, Group      *Identity
	RunAs            *RunAs // nil: the agent's own user and group
	WorkingDirectory string // "" inherits the agent's

	StartingDeadline time.Duration // how late a firing may start; 0: never late
	OwnDeadline      bool          // StartingDeadline was set for this job, not for all
	ExecutionTimeout time.Duration // 0: none
	KillTimeout      time.Duration // from SIGTERM to SIGKILL
	FailsWhen        FailsWhen
	Retry            Retry

	// Where outcomes are reported; nil: nowhere.
	OnFailure          *report.Hooks // every failed run
	OnPermanentFailure *report.Hooks // the last one of its retries
	OnSuccess          *report.Hooks
	OnMiss             *report.Hooks // a firing that was not run
	Statsd             *report.Statsd
}

// reported reports whether any outcome of a run is reported anywhere.
func (j *Job) reported() bool {
	return j.OnFailure != nil || j.OnPermanentFailure != nil || j.OnSuccess != nil
}
