//go:build unix

package testcluster

import "syscall"

// The signals that freeze a process and let it go on.
const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)
