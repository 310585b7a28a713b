package scheduler

import (
	"fmt"
	"time"

	"github.com/yacron2/yacron2/election"
)

// tick fires what is due. The late claims are asked for first. mu is held.
func (d *Dispatcher) tick(now time.Time, claims []*firing) {
	for _, batch := range d.table.Due(now) {
		for i := range batch.Missed {
			d.supersede(&batch.Missed[i], now)
		}
		for _, job := range batch.Jobs {
			e := d.entries[job.Name]
			if e == nil || e.job != job {
				continue
			}
			f := &firing{entry: e, at: batch.At, trigger: TriggerSchedule}
			if d.due(f, now) {
				claims = append(claims, f)
			}
		}
		d.claim(claims)
		claims = nil
	}
	d.claim(claims)
}

// due decides about one due firing and reports whether it has to be claimed. mu is held.
func (d *Dispatcher) due(f *firing, now time.Time) bool {
	e, job := f.entry, f.entry.job
	if !f.at.After(e.newest) {
		// The clock was set back, and this instant comes for the second time.
		if d.consumed.has(e.name, f.at) {
			d.claimedBefore(f)
			return false
		}
		if d.parked.has(f) {
			return false
		}
	}
	e.newest = f.at
	if d.skipPaused(f, now) {
		return false
	}
	v := election.Decide(job.ClusterPolicy, d.elect, d.view, job.Name)
	until := deadline(job, f.at)
	switch {
	case v.Action != election.Run:
		d.decide(f, of(DecidedSkipped, v))
		if !now.After(until) {
			d.park(*f, v)
		} else if !d.elsewhere(v) {
			d.decide(f, of(DecidedMissed, v))
		}
	case now.After(until):
		d.decide(f, tooLate(job, f.at, now))
	case d.needsClaim(job):
		return d.askable(f)
	default:
		d.fire(f, of(DecidedRun, v))
	}
	return false
}

// needsClaim reports whether a firing of the job is to be granted by the cluster before
// it runs. mu is held.
func (d *Dispatcher) needsClaim(job *Job) bool {
	return d.elect && job.ClusterPolicy == election.Leader
}

// askable reports whether a firing that is this node's is to be claimed, and consumes
// it. Nobody is asked for a firing that would not start anyway. mu is held.
func (d *Dispatcher) askable(f *firing) bool {
	e := f.entry
	if d.consumed.has(e.name, f.at) {
		d.claimedBefore(f)
		return false
	}
	if e.job.ConcurrencyPolicy == Forbid && len(e.instances) > 0 {
		d.decide(f, stillRunning())
		return false
	}
	d.consumed.add(e.name, f.at)
	return true
}

// claimedBefore decides about a firing that this process has claimed before. mu is held.
func (d *Dispatcher) claimedBefore(f *firing) {
	v := verdict{outcome: DecidedSkipped, code: CodeAlreadyClaimed,
		reason: "the clock was set back, and this firing was claimed before"}
	if last := f.entry.decided.newest(); last == nil || last.Code != v.code {
		d.log.Warn("the job waits until the clock has passed what was claimed before", "job", f.entry.name,
			"firing", f.at.Format(time.RFC3339), "reason", v.reason)
	}
	d.decide(f, v)
}

// fire hands a firing that needs no claim to the launchers. mu is held.
func (d *Dispatcher) fire(f *firing, v verdict) {
	d.enqueue(&launch{entry: f.entry, firing: f, verdict: v, trigger: f.trigger, attempt: 1})
}

// supersede records the older firings of a job that is due several times, after a late
// wake-up. Those of a Leader job that may still start, and are not this node's as far as
// it knows, are parked: what it knows is as old as its sleep. mu is held.
func (d *Dispatcher) supersede(m *Missed, now time.Time) {
	e := d.entries[m.Job.Name]
	if e == nil || e.job != m.Job || len(m.At) == 0 {
		return
	}
	v := election.Decide(m.Job.ClusterPolicy, d.elect, d.view, m.Job.Name)
	newest := m.At[len(m.At)-1]
	lost := func(time.Time) bool { return true }
	if v.Action != election.Run {
		if d.needsClaim(m.Job) {
			lost = func(at time.Time) bool { return now.After(deadline(m.Job, at)) }
			d.parkPast(e, v, now, newest)
		}
		if d.elsewhere(v) {
			return
		}
	}
	for i, at := range m.At {
		if !lost(at) {
			continue
		}
		reason := fmt.Sprintf("noticed %s after its instant, when a newer firing was due as well", late(now, at))
		if i == 0 && m.Unlisted > 0 {
			reason += fmt.Sprintf("; so were %d more before it", m.Unlisted)
		}
		d.decide(&firing{entry: e, at: at, trigger: TriggerSchedule},
			verdict{outcome: DecidedMissed, code: CodeSuperseded, reason: reason})
	}
}

// parkPast parks the firings up to an instant that may still start. mu is held.
func (d *Dispatcher) parkPast(e *entry, v election.Decision, now, to time.Time) {
	window := deadline(e.job, now).Sub(now)
	for _, at := range d.table.Past(e.job, now.Add(-window-1), to) {
		f := firing{entry: e, at: at, trigger: TriggerSchedule}
		if d.consumed.has(e.name, at) || d.parked.has(&f) {
			continue // the clock was set back before
		}
		d.decide(&f, of(DecidedSkipped, v))
		d.park(f, v)
	}
}

// stillRunning is the verdict on a firing that concurrencyPolicy Forbid keeps from
// starting.
func stillRunning() verdict {
	return verdict{outcome: DecidedSkipped, code: CodeRunning,
		reason: "an instance of the job still runs, and concurrencyPolicy is Forbid"}
}
