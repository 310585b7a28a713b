//go:build unix && !linux

package run

import (
	"errors"
	"os"
	"syscall"
)

// child is a started process.
type child struct {
	pid      int
	onReaped func() // may be nil
	floor    int64  // own peak memory when it was started, see exitOf
	process  *os.Process
}

// startChild forks and executes. The error wraps the errno.
func startChild(l *launch) (*child, error) {
	path, err := l.spec.program()
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{
		Dir:   l.spec.Dir,
		Env:   l.spec.Env,
		Files: l.files[:],
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if attr.Env == nil {
		attr.Env = []string{} // nil would inherit
	}
	if cred := l.spec.Cred; cred != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: cred.UID, Gid: cred.GID, Groups: cred.Groups}
	}
	process, err := os.StartProcess(path, l.spec.Argv, attr)
	if err != nil {
		return nil, err
	}
	return &child{pid: process.Pid, floor: ownPeak(), process: process}, nil
}

// wait blocks until the process has ended and reaps it.
func (c *child) wait() exit {
	state, err := c.process.Wait()
	if c.onReaped != nil {
		c.onReaped()
	}
	if err != nil { // someone else took the status
		return exit{code: 255}
	}
	status := state.Sys().(syscall.WaitStatus)
	return exitOf(status, state.SysUsage().(*syscall.Rusage), c.floor)
}

func (c *child) terminateGroup() {
	_ = syscall.Kill(-c.pid, syscall.SIGTERM) // nobody may be left
	_ = syscall.Kill(-c.pid, syscall.SIGCONT) // a stopped process does not see SIGTERM
}

func (c *child) killGroup() { _ = syscall.Kill(-c.pid, syscall.SIGKILL) }

// groupLives reports whether the group has members; here zombies count, too.
func (c *child) groupLives() bool { return !errors.Is(syscall.Kill(-c.pid, 0), syscall.ESRCH) }

func (c *child) release() {}
