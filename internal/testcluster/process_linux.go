package testcluster

import "syscall"

// processAttributes puts an agent into a process group of its own, so that Ctrl-C in a
// terminal reaches the test alone, and lets the kernel end it when the test process
// dies without having cleaned up.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
