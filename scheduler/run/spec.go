package run

import (
	"io"
	"time"
)

// Spec describes one run of one command, complete: nothing is looked up at start.
type Spec struct {
	JobName string   // for StreamPrefix and texts
	Argv    []string // program and arguments; never empty
	Env     []string // the whole environment, KEY=value
	Dir     string   // "" inherits the agent's
	Cred    *Credential

	CaptureStdout bool
	CaptureStderr bool
	SaveLimit     int    // lines retained per stream
	MaxLineLength int    // bytes without the newline
	StreamPrefix  string // {job_name} and {stream_name} are replaced

	ExecutionTimeout time.Duration // 0: none
	KillTimeout      time.Duration // from SIGTERM to SIGKILL of the group

	// Stdout and Stderr receive the re-emitted lines of captured streams, and are
	// inherited by streams that are not captured when they are files.
	Stdout, Stderr io.Writer
}

// Credential is the user a run switches to. It needs root.
type Credential struct {
	UID, GID uint32
	Groups   []uint32 // supplementary groups, replacing the agent's
}

// Exit codes of runs that ended otherwise than by their own exit status; a process
// killed by signal N has exit code -N.
const (
	ExitNotFound      = 127  // missing program or directory
	ExitNotExecutable = 126  // may not be executed, or the user switch failed
	ExitTimeout       = -100 // ExecutionTimeout passed
)

// Stream is what was retained of one captured stream.
type Stream struct {
	Captured  bool
	Text      string // retained lines, with one marker line where the middle was dropped
	Discarded int    // lines dropped from the middle
}

// Empty reports whether the stream produced nothing that counts.
func (s Stream) Empty() bool { return s.Text == "" && s.Discarded == 0 }

// Line is one captured line, as live viewers see it.
type Line struct {
	Stream string // stdout or stderr
	Text   string // without newline; valid UTF-8
}

// Result tells how a run ended.
type Result struct {
	PID        int // 0 if nothing was started
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int
	StartError string // why nothing was started, without any of the environment
	TimedOut   bool
	Cancelled  bool // Cancel was called before the end
	Stdout     Stream
	Stderr     Stream
	Notes      []string // e.g. pipes closed under a grandchild

	UserCPU, SystemCPU time.Duration
	MaxRSS             int64 // bytes
}
