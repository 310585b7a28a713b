package run

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a started process. Its pidfd, where the kernel has them, serves twice: the
// network poller tells when the process ends, without a thread blocked for it; and
// signals to the group go through it, so they can reach no other group, even when
// the process was reaped and its number given away.
type child struct {
	pid      int
	onReaped func() // may be nil

	mu     sync.Mutex // guards fd, and reaping against signals by number
	fd     int        // pidfd, -1: none
	file   *os.File   // owns fd, registered with the poller
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
		Dir: l.spec.Dir,
		Env: l.spec.Env,
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &c.fd},
	}
	if attr.Env == nil {
		attr.Env = []string{} // nil would inherit
	}
	if cred := l.spec.Cred; cred != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: cred.UID, Gid: cred.GID, Groups: cred.Groups}
	}
	fds := make([]uintptr, len(l.files))
	for i, f := range l.files {
		fds[i] = f.Fd()
	}
	attr.Files = fds
	c.pid, err = syscall.ForkExec(path, l.spec.Argv, attr)
	if err != nil {
		return nil, err
	}
	if c.fd >= 0 && syscall.SetNonblock(c.fd, true) == nil {
		c.file = os.NewFile(uintptr(c.fd), "pidfd")
	}
	return c, nil
}

// wait blocks until the process has ended and reaps it.
func (c *child) wait() exit {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	// reap tries without blocking. Under the lock, so that no signal is sent by
	// number to a process that is gone.
	reap := func(uintptr) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reaped {
			return true
		}
		for {
			pid, err := syscall.Wait4(c.pid, &status, syscall.WNOHANG, &usage)
			if err == syscall.EINTR {
				continue
			}
			// An error means that someone else took the status; there is
			// nothing left to wait for.
			c.reaped = pid == c.pid || err != nil
			if err != nil {
				status = lostStatus
			}
			return c.reaped
		}
	}
	if c.file != nil {
		if raw, err := c.file.SyscallConn(); err == nil {
			raw.Read(reap) // fails where pidfds cannot be polled
		}
	}
	for !reap(0) {
		c.block()
	}
	if c.onReaped != nil {
		c.onReaped()
	}
	return exitOf(status, &usage)
}

// lostStatus stands for the status of a process that was reaped by someone else:
// exit code 255.
const lostStatus = syscall.WaitStatus(255 << 8)

// block waits in the kernel until the process can be reaped: for kernels without
// pidfds, at the price of a thread.
func (c *child) block() {
	for {
		err := unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != syscall.EINTR {
			return
		}
	}
}

func (c *child) terminateGroup() {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT) // a stopped process does not see SIGTERM
}

func (c *child) killGroup() { c.signal(syscall.SIGKILL) }

func (c *child) signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		err := unix.PidfdSendSignal(c.fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		// Before Linux 6.9, or where it is filtered, by number: a number is not
		// given away while its group has members or its process is unreaped.
		if err != syscall.EINVAL && err != syscall.ENOSYS && err != syscall.EPERM {
			return err
		}
	}
	return syscall.Kill(-c.pid, sig)
}

// release gives back the pidfd.
func (c *child) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
	} else if c.fd >= 0 {
		syscall.Close(c.fd)
	}
	c.file, c.fd = nil, -1
}
