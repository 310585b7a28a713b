//go:build unix && !linux

package testcluster

import "syscall"

// processAttributes puts an agent into a process group of its own, so that Ctrl-C in a
// terminal reaches the test alone.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
