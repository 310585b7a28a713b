//go:build unix && !linux

package testcluster

import "syscall"

// ProcessAttributes puts a process into a process group of its own, so that Ctrl-C in a
// terminal reaches the test alone.
func ProcessAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// stopped has no way to tell.
func stopped(int) error { return nil }
