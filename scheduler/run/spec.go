package run

import (
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Spec describes one run of one command, complete: apart from a bare program name,
// which is searched in the PATH of Env, nothing is looked up at start.
type Spec struct {
	JobName string   // for StreamPrefix and texts
	Argv    []string // program and arguments; never empty
	Env     []string // the whole environment, KEY=value; each key at most once
	Dir     string   // "" inherits the agent's
	Cred    *Credential

	CaptureStdout bool
	CaptureStderr bool
	SaveLimit     int    // lines retained per stream; see Stream for the limit in bytes
	MaxLineLength int    // bytes without the newline; 0 or less: no limit
	StreamPrefix  string // {job_name} and {stream_name} are replaced, {{ and }} are braces

	ExecutionTimeout time.Duration // 0: none
	KillTimeout      time.Duration // from SIGTERM to SIGKILL of the group; 0: SIGKILL at once

	// Stdout and Stderr receive the re-emitted lines of captured streams, and are
	// inherited by streams that are not captured when they are files (an *os.File,
	// or an Output around one); otherwise such a stream goes to /dev/null. Each
	// Write carries whole lines. Runs share these writers, so Write must be safe
	// for concurrent use: an *os.File is, NewOutput makes any other writer so.
	// nil re-emits nothing. A Write that blocks holds up this run's output, but
	// never its end.
	Stdout, Stderr io.Writer

	// Logger is told about dropped lines and pipes left open. nil: nobody is.
	Logger hclog.Logger
}

// Credential is the user a run switches to. It needs root.
type Credential struct {
	UID, GID uint32
	Groups   []uint32 // supplementary groups, replacing the agent's; nil: none
}

// Exit codes of runs that ended otherwise than by their own exit status; a process
// killed by signal N has exit code -N.
const (
	ExitNotFound      = 127  // missing program or directory, or no resources to start one
	ExitNotExecutable = 126  // may not be executed, or the user switch failed
	ExitTimeout       = -100 // ExecutionTimeout passed
)

// Stream is what was retained of one captured stream: the first SaveLimit/2 lines
// and the last of the rest up to SaveLimit lines in all. Long lines are bounded in
// bytes too: when SaveLimit lines would take more than 32 MiB, fewer are kept.
type Stream struct {
	Captured  bool
	Text      string // retained lines, with one marker line where the middle was dropped
	Discarded int    // lines dropped from the middle
}

// Empty reports whether the stream produced nothing that counts.
func (s Stream) Empty() bool { return s.Text == "" && s.Discarded == 0 }

// Names of the streams, as in Line.Stream and {stream_name}.
const (
	StdoutName = "stdout"
	StderrName = "stderr"
)

// Line is one captured line, as live viewers see it.
type Line struct {
	Stream string // stdout or stderr
	Text   string // without newline; valid UTF-8
}

// Result tells how a run ended.
type Result struct {
	PID        int // 0 if nothing was started
	StartedAt  time.Time
	FinishedAt time.Time // when the process ended, not when its pipes were drained
	ExitCode   int
	StartError string // why nothing was started, without any of the environment
	TimedOut   bool
	Cancelled  bool // Cancel was called before the end
	Stdout     Stream
	Stderr     Stream
	Notes      []string // e.g. pipes closed under a grandchild

	UserCPU, SystemCPU time.Duration // of the process and the descendants it waited for
	MaxRSS             int64         // bytes, of the largest of them; 0: no more than this process's own
}

// Started reports whether a process was started at all.
func (r Result) Started() bool { return r.PID != 0 }

// Duration is the time from the start of the process to its end.
func (r Result) Duration() time.Duration { return r.FinishedAt.Sub(r.StartedAt) }
