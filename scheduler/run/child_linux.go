package run

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a started process. Its pidfd, where the kernel has them, serves twice: the
// reactor learns from it when the process ends, without a thread blocked for it; and
// signals to the group go through it, so they can reach no other group, even when
// the process was reaped and its number given away.
type child struct {
	pid      int
	onReaped func() // may be nil
	floor    int64  // own peak memory when it was started, see exitOf

	mu     sync.Mutex // guards what follows, and reaping against signals by number
	fd     int        // pidfd, -1: none
	reaped bool
}

// startChild forks and executes. The error is the raw errno.
func startChild(l *launch) (*child, error) {
	path, err := l.spec.program()
	if err != nil {
		return nil, err
	}
	c := &child{fd: -1}
	attr := &syscall.ProcAttr{
		Dir:   l.spec.Dir,
		Env:   l.spec.Env,
		Files: l.fds[:],
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &c.fd},
	}
	if attr.Env == nil {
		attr.Env = []string{} // nil would inherit
	}
	if cred := l.spec.Cred; cred != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: cred.UID, Gid: cred.GID, Groups: cred.Groups}
	}
	c.pid, err = syscall.ForkExec(path, l.spec.Argv, attr) //nolint:gosec // to start what a job says is what this is for
	if err != nil {
		return nil, err
	}
	c.floor = ownPeak()
	return c, nil
}

// descriptor returns the pidfd, which becomes readable at the end; -1: none.
func (c *child) descriptor() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fd
}

// lostCode is the exit code of a process whose status was taken by someone else.
const lostCode = 255

// reap takes the status of the process if it has ended; false if not, or once it was
// taken. It holds the lock, so that no signal is sent by number to a process that is
// gone.
func (c *child) reap() (e exit, ok bool) {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return exit{}, false
	}
	for {
		pid, err := syscall.Wait4(c.pid, &status, syscall.WNOHANG, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			e = exit{code: lostCode}
		case pid != c.pid:
			return exit{}, false
		default:
			e = exitOf(status, &usage, c.floor)
		}
		c.reaped = true
		if c.onReaped != nil {
			c.onReaped()
		}
		return e, true
	}
}

// block waits in the kernel until the process can be reaped: for kernels without
// pidfds, at the price of a thread.
func (c *child) block() {
	for {
		err := unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func (c *child) terminateGroup() {
	_ = c.signal(syscall.SIGTERM) // nobody may be left
	_ = c.signal(syscall.SIGCONT) // a stopped process does not see SIGTERM
}

func (c *child) killGroup() { _ = c.signal(syscall.SIGKILL) }

func (c *child) signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		err := unix.PidfdSendSignal(c.fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		// Before Linux 6.9, or where it is filtered, by number: a number is not
		// given away while its group has members or its process is unreaped.
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EPERM) {
			return err
		}
	}
	return syscall.Kill(-c.pid, sig)
}

// release gives back the pidfd.
func (c *child) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		syscall.Close(c.fd)
		c.fd = -1
	}
}
