package scheduler

import (
	"slices"
	"time"

	"github.com/yacron2/yacron2/scheduler/history"
)

// Trigger says why a run was started.
type Trigger string

// The triggers.
const (
	TriggerSchedule Trigger = "schedule"
	TriggerLate     Trigger = "late"
	TriggerRetry    Trigger = "retry"
	TriggerReboot   Trigger = "reboot"
	TriggerManual   Trigger = "manual"
)

// RetryStatus tells of a pending retry.
type RetryStatus struct {
	Attempt  int       // number of the coming attempt, from 2
	At       time.Time // when it is due; zero while it waits for a running instance
	Deferred string    // why it was put off, "" if it was not
}

// JobStatus is one job as it stands.
type JobStatus struct {
	Job           *Job
	Running       bool
	Instances     int       // running, or bound to start
	PIDs          []int     // of instances whose process exists, oldest first
	NextAt        time.Time // coming firing, also while running; zero: none
	LastRun       *history.Run
	LastMissed    *history.Missed // of this process
	LastDecision  *Decided
	Retry         *RetryStatus
	RebootPending bool           // a deferred @reboot one-shot
	Pause         *history.Pause // in force now
}

// Summary is what a node tells the fleet about one job.
type Summary struct {
	Running bool
	Enabled bool
	NextAt  time.Time    // zero: none, or while running
	Last    *history.Run // nil: none yet
}

// statusChunk is how many jobs are looked at in one go: thousands of jobs and many
// viewers must not make a tick wait.
const statusChunk = 256

// Jobs returns every job in configuration order.
func (d *Dispatcher) Jobs() []JobStatus {
	d.mu.Lock()
	entries := d.jobs // replaced as a whole by a reload
	d.mu.Unlock()
	jobs := make([]JobStatus, 0, len(entries))
	for chunk := range slices.Chunk(entries, statusChunk) {
		d.mu.Lock()
		for _, e := range chunk {
			if e.job != nil { // else it was removed meanwhile
				jobs = append(jobs, d.status(e))
			}
		}
		d.mu.Unlock()
	}
	var free []history.Run // for the last runs: an object for each would be most of the work
	for i := range jobs {
		last, ok := d.cfg.History.LastRun(jobs[i].Job.Name)
		if !ok {
			continue
		}
		if len(free) == 0 {
			free = make([]history.Run, min(len(jobs)-i, statusChunk))
		}
		free[0] = last
		jobs[i].LastRun, free = &free[0], free[1:]
	}
	return jobs
}

// Job returns one job.
func (d *Dispatcher) Job(name string) (JobStatus, bool) {
	d.mu.Lock()
	e := d.entries[name]
	if e == nil || e.job == nil {
		d.mu.Unlock()
		return JobStatus{}, false
	}
	s := d.status(e)
	d.mu.Unlock()
	s.LastRun = d.lastRun(name)
	return s, true
}

func (d *Dispatcher) lastRun(name string) *history.Run {
	last, ok := d.cfg.History.LastRun(name)
	if !ok {
		return nil
	}
	return &last
}

// status tells all but the last run. mu is held.
func (d *Dispatcher) status(e *entry) JobStatus {
	s := JobStatus{
		Job:           e.job,
		Running:       len(e.instances) > 0,
		Instances:     len(e.instances),
		LastMissed:    e.missed,
		LastDecision:  e.decided.newest(),
		RebootPending: d.reboots[e.name] != nil,
	}
	for _, inst := range e.instances {
		if inst.process != nil {
			if pid := inst.process.PID(); pid != 0 {
				s.PIDs = append(s.PIDs, pid)
			}
		}
	}
	if d.table != nil {
		s.NextAt = d.table.NextOf(e.job)
	}
	if p, ok := d.cfg.History.Pause(e.name); ok && p.Active(d.now()) {
		s.Pause = new(p) // not &p: that would be an object for each job, paused or not
	}
	if r := e.retry; r != nil && (r.armed || r.queued) {
		s.Retry = &RetryStatus{Attempt: r.count + 1, Deferred: r.deferred}
		if !r.waiting {
			s.Retry.At = d.now().Add(time.Until(r.due))
		}
	}
	return s
}

// Decisions returns what became of the job's recent firings, oldest first.
func (d *Dispatcher) Decisions(name string) []Decided {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[name]
	if e == nil {
		return nil
	}
	return slices.Clone(e.decided.rows)
}

// Summaries returns the summary of every job by name.
func (d *Dispatcher) Summaries() map[string]Summary {
	jobs := d.Jobs()
	summaries := make(map[string]Summary, len(jobs))
	for _, j := range jobs {
		s := Summary{Running: j.Running, Enabled: j.Job.Enabled, NextAt: j.NextAt, Last: j.LastRun}
		if s.Running {
			s.NextAt = time.Time{}
		}
		summaries[j.Job.Name] = s
	}
	return summaries
}
