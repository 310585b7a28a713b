package testcluster

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProcessAttributes puts a process into a process group of its own, so that Ctrl-C in a
// terminal reaches the test alone, and lets the kernel end it when the test process
// dies without having cleaned up.
func ProcessAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stopped returns nil once all threads of a child stand still after a signal. What it asks
// for stays to be waited for, so that asking again tells the same.
func stopped(pid int) error {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err == nil && info.Signo == 0 {
		err = errors.New("it goes on")
	}
	return err
}
