//go:build !linux

package run

import "github.com/hashicorp/go-hclog"

// IsReaper reports whether orphans become children of this process.
func IsReaper() bool { return false }

// NewReaper returns a Reaper for systems where this process is never PID 1: it only
// starts runs.
func NewReaper(log hclog.Logger) *Reaper {
	r := &Reaper{
		own:    make(map[int]struct{}),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		logger: logger{Logger: log},
	}
	close(r.done)
	return r
}
