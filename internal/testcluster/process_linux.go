package testcluster

import "syscall"

// ProcessAttributes puts a process into a process group of its own, so that Ctrl-C in a
// terminal reaches the test alone, and lets the kernel end it when the test process
// dies without having cleaned up.
func ProcessAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
