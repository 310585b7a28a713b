package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
)

// parkedFiring was due here, but not this node's to run at that moment.
type parkedFiring struct {
	firing
	verdict election.Decision // the newest one that was not to run it here
	first   election.Decision // the one when it was due
	seen    *election.View    // the view when it was due, nil if there was none
	until   time.Time
}

// parked keeps the firings that were due here and not run here, for as long as they may
// still start: should this node become their owner, it asks for them, the oldest first.
// Whatever the former owner claimed is then denied, and what it had not reached runs
// late. Only what was due in this process is here, so the instant since which a job has
// been held needs no thought; and each firing leaves the list when it is asked for, so
// it is asked for once, however often ownership moves.
type parked struct {
	list   []*parkedFiring // in the order in which they were due
	expiry time.Time       // no later than the earliest until; meaningless without a list
}

func (p *parked) add(f *parkedFiring) {
	if len(p.list) == 0 {
		p.expiry = time.Time{}
	}
	p.list = append(p.list, f)
	p.expire(f.until)
}

// has reports whether the firing is on the list.
func (p *parked) has(f *firing) bool {
	return slices.ContainsFunc(p.list, func(other *parkedFiring) bool {
		return other.entry == f.entry && other.at.Equal(f.at)
	})
}

// expire notes one more deadline.
func (p *parked) expire(until time.Time) {
	if p.expiry.IsZero() || until.Before(p.expiry) {
		p.expiry = until
	}
}

func (p *parked) clear() { *p = parked{} }

// park keeps a firing that is not this node's by a decision. mu is held.
func (d *Dispatcher) park(f firing, v election.Decision) {
	d.parked.add(&parkedFiring{firing: f, verdict: v, first: v, seen: d.view, until: deadline(f.entry.job, f.at)})
}

// reload drops the firings of a job that is gone, disabled, or has another schedule or
// zone than the one that they were due by. It is called before e.job changes.
func (p *parked) reload(e *entry, job *Job) {
	if e.job == nil || job != nil && job.Enabled && identityOf(e.job) == identityOf(job) {
		return
	}
	kept := p.list[:0]
	for _, f := range p.list {
		if f.entry != e {
			kept = append(kept, f)
		}
	}
	clear(p.list[len(kept):])
	p.list = kept
}

// resumeParked looks at the parked firings again: those that are this node's now are
// started or returned to be claimed, those whose time is over are recorded. mu is held.
func (d *Dispatcher) resumeParked(now time.Time, viewChanged bool) (claims []*firing) {
	p := &d.parked
	if len(p.list) == 0 || !viewChanged && !now.After(p.expiry) {
		return nil
	}
	list := p.list
	kept := list[:0]
	p.expiry = time.Time{}
	for _, f := range list {
		job := f.entry.job
		v := election.Decide(job.ClusterPolicy, d.elect, d.view, job.Name)
		switch {
		case now.After(f.until):
			d.parkedOver(f, v)
			continue
		case d.skipPaused(&f.firing, now):
			continue
		case v.Action != election.Run:
			f.verdict = v
		case !d.needsClaim(job):
			if d.inheritsFrom(f) {
				f.trigger = TriggerLate
				d.fire(&f.firing, of(DecidedRun, v))
				continue
			}
		default:
			f.trigger, f.firing.parked = TriggerLate, f
			if d.askable(&f.firing) {
				claims = append(claims, &f.firing)
			}
			continue
		}
		kept = append(kept, f)
		p.expire(f.until)
	}
	clear(list[len(kept):])
	p.list = kept
	return claims
}

// processOf returns the instance id of a node's process that answered in a view, or its
// hold of the lease.
func processOf(node string, v *election.View) string {
	if v == nil {
		return ""
	}
	if l := v.Lease(); l != nil && l.Fresh && l.Holder == node {
		return l.HolderID
	}
	for _, p := range v.Peers() {
		if p.NodeName == node && p.Status.Fresh() {
			return p.InstanceID
		}
	}
	return ""
}

// parkedOver ends a parked firing whose time is over. It is lost if nobody is known to
// have been there to run it. If another process is, that one saw to it, provided that it
// was there when the firing was due, by its own clock as well, and is there still. mu is
// held.
func (d *Dispatcher) parkedOver(f *parkedFiring, v election.Decision) {
	if v.Action == election.Run {
		v = f.verdict // ownership came without the firing
	}
	switch {
	case d.phase > phaseRunning && d.needsClaim(f.entry.subject) && d.seenTo(f):
		// Nobody can be asked any more, and nobody has to be.
	case !d.elsewhere(v):
		d.lose(&f.firing, of(DecidedMissed, v), election.Verdict{})
	case !d.needsClaim(f.entry.subject):
	default:
		owner := processOf(v.Owner, f.seen)
		_, can := d.coordinator.(prober)
		switch {
		case can && (owner == "" || owner != processOf(v.Owner, d.view) ||
			f.at.Sub(d.peers[owner].met) < election.ClockSkew):
			d.lose(&f.firing, verdict{outcome: DecidedMissed, code: CodeUnclaimed,
				reason: "nobody has claimed it; when it was due: " + f.first.Reason}, election.Verdict{})
		case f.entry.subject.StartingDeadline < noticeWithin:
			d.mistrust(&f.firing, owner, v.Owner) // it may be dead, and nobody has noticed yet
		}
	}
}

// seenTo reports whether the process that was to run a parked firing when it was due has
// stopped in peace since, and so late that it has run it first, or has written down itself
// why not. mu is held.
func (d *Dispatcher) seenTo(f *parkedFiring) bool {
	if d.view == nil || !d.elsewhere(f.first) {
		return false
	}
	owner := processOf(f.first.Owner, f.seen)
	known, ok := d.peers[owner]
	return owner != "" && ok && !known.stopping.IsZero() &&
		f.at.Sub(known.met) >= election.ClockSkew && f.at.Before(known.stopping.Add(-handOver))
}

// elsewhere reports whether a decision not to run something here names another process
// that does.
func (d *Dispatcher) elsewhere(v election.Decision) bool {
	switch v.Code {
	case election.CodeNotLeader, election.CodeNotOwner:
		return v.Owner != d.cfg.Node
	case election.CodeTwin:
		return true
	}
	return false
}

// inheritsFrom reports whether this node, now to run a PreferLeader job, makes up for a
// firing of the former owner: only if that one became unreachable, and the firing was due
// after the last exchange with it, or hands over, and the firing was due when it may have
// stopped already and this node did not know. mu is held.
func (d *Dispatcher) inheritsFrom(f *parkedFiring) bool {
	if d.view == nil || f.verdict.Owner == "" {
		return false
	}
	if l := d.view.Lease(); l != nil {
		return l.Former == f.verdict.Owner && f.at.After(l.FormerSeen)
	}
	found := false
	for _, peer := range d.view.Peers() {
		if peer.NodeName != f.verdict.Owner {
			continue
		}
		since := peer.LastSeen.Add(-startSlack) // what it told then is a little older
		if peer.Stopping {
			since = earlier(since, d.peers[peer.InstanceID].stopping.Add(-handOver))
		}
		if peer.Status.Fresh() && !peer.Stopping || !f.at.After(since) {
			return false
		}
		found = true
	}
	return found
}

// late tells how late a firing is.
func late(now, at time.Time) string { return now.Sub(at).Round(time.Millisecond).String() }

// onTime is how late a firing may start even if its job is never to start late: no
// process starts at the very instant.
const onTime = time.Second

// deadline is until when a firing of the job may start.
func deadline(job *Job, at time.Time) time.Time {
	return at.Add(max(job.StartingDeadline, onTime))
}

// tooLate is the verdict on a firing that was reached after its deadline.
func tooLate(job *Job, at, now time.Time) verdict {
	return verdict{outcome: DecidedMissed, code: CodeLate, reason: fmt.Sprintf(
		"reached %s after its instant, the starting deadline is %s", late(now, at), job.StartingDeadline)}
}
