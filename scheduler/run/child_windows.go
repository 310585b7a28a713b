package run

import (
	"os"
	"syscall"
	"time"
)

// child is a started process. Windows has neither signals nor process groups that
// can be told to end, so both steps of a cancellation terminate the process itself.
type child struct {
	pid      int
	onReaped func() // may be nil
	process  *os.Process
}

func startChild(l *launch) (*child, error) {
	path, err := l.spec.program()
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{
		Dir:   l.spec.Dir,
		Env:   l.spec.Env,
		Files: l.files[:],
		Sys:   &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP},
	}
	if attr.Env == nil {
		attr.Env = []string{}
	}
	process, err := os.StartProcess(path, l.spec.Argv, attr)
	if err != nil {
		return nil, err
	}
	return &child{pid: process.Pid, process: process}, nil
}

func (c *child) wait() exit {
	state, err := c.process.Wait()
	if c.onReaped != nil {
		c.onReaped()
	}
	if err != nil {
		return exit{code: 255}
	}
	return exit{
		code:   state.ExitCode(),
		user:   state.UserTime().Round(time.Microsecond),
		system: state.SystemTime().Round(time.Microsecond),
	}
}

func (c *child) terminateGroup() { _ = c.process.Kill() }

func (c *child) killGroup() { _ = c.process.Kill() }

func (c *child) groupLives() bool { return false }

func (c *child) release() {}
