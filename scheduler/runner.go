package scheduler

import "github.com/yacron2/yacron2/scheduler/run"

// Runner starts processes.
type Runner interface {
	// Start starts what spec says. A command that cannot be started is a Process
	// that has ended already, with the reason in its Result.
	Start(spec run.Spec) (Process, error)
}

// Process is one started command.
type Process interface {
	PID() int              // 0 if nothing was started
	Done() <-chan struct{} // closed when Result is final
	Result() run.Result    // valid after Done
	Cancel()               // terminates the process group, returning at once
}
