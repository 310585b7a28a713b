package scheduler

import "github.com/yacron2/yacron2/scheduler/run"

// Runner starts processes.
type Runner interface {
	// Start starts what spec says. A command that cannot be started is a Process
	// that has ended already, with the reason in its Result.
	Start(spec run.Spec) Process
}

// Process is one started command. Its methods are safe for concurrent use.
type Process interface {
	PID() int              // 0 unless the process exists
	GivenPID() int         // also when it is gone; 0: it was not started
	Done() <-chan struct{} // closed when Result is final
	Result() run.Result    // valid after Done
	Cancel()               // ends the process group, returning at once
	Log() *run.Log         // the last lines; may be kept when the Process is gone
}

var _ Process = (*run.Process)(nil)

// ProcessRunner runs real processes.
type ProcessRunner struct{}

// Start implements Runner.
func (ProcessRunner) Start(spec run.Spec) Process { return run.Start(spec) }
