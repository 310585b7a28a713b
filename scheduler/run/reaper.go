package run

import "sync"

// Reaper collects orphans: processes that a job left behind and that the system made
// children of this process, because it is PID 1 or a subreaper. Nobody else would.
//
// A reaper that waits for any child takes the exit status of children that others
// wait for. This one looks first, without taking, and then waits for one pid:
//
//   - not for a run started through Reaper.Start. A run's fork and the entry of its
//     pid happen under one lock, so there is no moment at which a run that has ended
//     already looks like an orphan;
//   - not for a process of this process's own session, such as one started by
//     os/exec, unless it stayed a zombie for a long time. Jobs and what they leave
//     behind are in sessions of their own.
type Reaper struct {
	// forking is held for reading while a run forks, and for writing while the
	// reaper decides about a pid.
	forking sync.RWMutex

	mu   sync.Mutex // guards own
	own  map[int]struct{}
	stop chan struct{}
	done chan struct{}
	logger
}

// Start is like the function Start, and keeps the reaper away from the run.
func (r *Reaper) Start(spec Spec) *Process {
	return start(&spec, func(l *launch) (*child, error) {
		r.forking.RLock()
		defer r.forking.RUnlock()
		c, err := startChild(l)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.own[c.pid] = struct{}{}
		r.mu.Unlock()
		c.onReaped = func() {
			r.mu.Lock()
			delete(r.own, c.pid)
			r.mu.Unlock()
		}
		return c, nil
	})
}

func (r *Reaper) owns(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.own[pid]
	return ok
}

// Close stops reaping and waits until it has stopped. Runs are not affected.
func (r *Reaper) Close() {
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	<-r.done
}
