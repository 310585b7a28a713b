//go:build !unix

package testcluster

import "syscall"

// There are no signals that freeze a process and let it go on: sending these fails.
const (
	freeze = syscall.Signal(-1)
	thaw   = syscall.Signal(-1)
)

// ProcessAttributes asks for nothing in particular.
func ProcessAttributes() *syscall.SysProcAttr { return nil }

func stopped(int) error { return nil }
