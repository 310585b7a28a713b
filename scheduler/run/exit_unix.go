//go:build unix

package run

import (
	"runtime"
	"syscall"
	"time"
)

// exitOf translates what wait4 returned. floor is the peak memory of this process when
// it started that one: a child begins its count with what its parent had, since for a
// moment it shares its memory. What is not above that is not known.
func exitOf(status syscall.WaitStatus, usage *syscall.Rusage, floor int64) exit {
	e := exit{
		code:   status.ExitStatus(),
		user:   time.Duration(usage.Utime.Nano()),
		system: time.Duration(usage.Stime.Nano()),
		maxRSS: peakOf(usage),
	}
	if e.maxRSS <= floor {
		e.maxRSS = 0
	}
	if status.Signaled() {
		e.code = -int(status.Signal())
	}
	return e
}

// peakOf returns the peak memory in bytes.
func peakOf(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024 // kilobytes everywhere else
}

// ownPeak returns the peak memory of this process.
func ownPeak() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return peakOf(&usage)
}
