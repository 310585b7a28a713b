//go:build unix

package run

import (
	"runtime"
	"syscall"
	"time"
)

// exitOf translates what wait4 returned.
func exitOf(status syscall.WaitStatus, usage *syscall.Rusage) exit {
	e := exit{
		code:   status.ExitStatus(),
		user:   time.Duration(usage.Utime.Nano()),
		system: time.Duration(usage.Stime.Nano()),
		maxRSS: int64(usage.Maxrss),
	}
	if runtime.GOOS != "darwin" {
		e.maxRSS *= 1024 // kilobytes everywhere else
	}
	if status.Signaled() {
		e.code = -int(status.Signal())
	}
	return e
}
