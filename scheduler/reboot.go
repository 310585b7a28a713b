package scheduler

import (
	"context"
	"time"

	"github.com/yacron2/yacron2/election"
)

// rebootPause is how long a pending one-shot that was asked for waits before it is asked
// for again, unless the coordinator has a new view.
const rebootPause = time.Second

// pendingReboot is an @reboot one-shot that waits until it is clear which node runs it.
// It is known by its name: a job that is absent for a moment stays pending, and a name
// that is reused runs its current definition.
type pendingReboot struct {
	name   string
	asking bool // a claim or a record is under way
	notice string
}

// boot launches the @reboot jobs once in the Dispatcher's life, or makes them pending
// until the cluster has an owner for them. mu is held.
func (d *Dispatcher) boot() {
	if d.booted {
		return
	}
	d.booted = true
	for _, e := range d.jobs {
		job := e.job
		switch {
		case !job.Enabled || !job.Schedule.Reboot():
		case d.elect && job.ClusterPolicy != election.EveryNode:
			d.reboots[job.Name] = &pendingReboot{name: job.Name}
			d.log.Info("@reboot job deferred until the cluster has an owner for it", "job", job.Name)
		default:
			if d.skipPaused(&firing{entry: e, trigger: TriggerReboot}, d.now()) {
				continue
			}
			v := election.Decide(job.ClusterPolicy, d.elect, d.view, job.Name)
			d.fireReboot(e, 0, of(DecidedRun, v))
		}
	}
}

// fireReboot launches a one-shot. mu is held.
func (d *Dispatcher) fireReboot(e *entry, token uint64, v verdict) {
	f := &firing{entry: e, trigger: TriggerReboot}
	d.enqueue(&launch{entry: e, firing: f, trigger: TriggerReboot, attempt: 1, token: token, verdict: v})
}

// askableReboots lists the pending one-shots that are present and not being asked for.
// mu is held.
func (d *Dispatcher) askableReboots() (names []string) {
	for name, p := range d.reboots {
		if e := d.entries[name]; e != nil && e.job != nil && !p.asking {
			names = append(names, name)
		}
	}
	return names
}

// settleReboots decides about the pending one-shots; ran tells which of them the
// coordinator knows to have run. mu is held.
func (d *Dispatcher) settleReboots(ran map[string]bool) {
	if len(d.reboots) == 0 {
		return
	}
	var claims []*pendingReboot
	for _, e := range d.jobs { // in configuration order
		p := d.reboots[e.name]
		if p == nil || p.asking {
			continue
		}
		job := e.job
		v := election.DecideReboot(job.ClusterPolicy, d.elect, d.view, job.Name, ran[job.Name])
		switch {
		case !job.Enabled:
			d.retireReboot(e, verdict{outcome: DecidedRetired, code: CodeRemoved, reason: "the job was disabled before it could run"})
		case !job.Schedule.Reboot():
			d.retireReboot(e, verdict{outcome: DecidedRetired, code: CodeRemoved, reason: "the job is no @reboot job any more"})
		case !d.elect:
			delete(d.reboots, job.Name)
			d.fireReboot(e, 0, of(DecidedRun, v))
		case job.ClusterPolicy == election.EveryNode:
			d.retireReboot(e, verdict{outcome: DecidedRetired, code: CodeRemoved, reason: "the job is not gated by the cluster any more"})
		case v.Action == election.Abandon:
			d.retireReboot(e, of(DecidedRetired, v))
		case v.Action != election.Run:
			d.rebootWaits(e, p, of(DecidedPending, v))
		case d.rebootPaused(e, p):
		case d.coordinator == nil: // PreferLeader without a manager
			delete(d.reboots, job.Name)
			d.fireReboot(e, 0, of(DecidedRun, v))
		case job.ClusterPolicy == election.Leader:
			p.asking = true
			claims = append(claims, p)
		default:
			p.asking = true
			d.hold()
			c := d.coordinator
			d.workers.Go(func() { d.markReboot(c, p, of(DecidedRun, v)) })
		}
	}
	if len(claims) > 0 {
		c := d.coordinator
		d.hold()
		d.workers.Go(func() { d.claimReboots(c, claims) })
	}
}

// rebootPaused reports whether a pause keeps a one-shot pending. mu is held.
func (d *Dispatcher) rebootPaused(e *entry, p *pendingReboot) bool {
	v, paused := d.pausedNow(e.name, d.now())
	if paused {
		v.outcome = DecidedPending
		d.rebootWaits(e, p, v)
	}
	return paused
}

// rebootWaits notes why a one-shot stays pending, once per reason. mu is held.
func (d *Dispatcher) rebootWaits(e *entry, p *pendingReboot, v verdict) {
	if p.notice == v.reason {
		return
	}
	p.notice = v.reason
	d.decide(&firing{entry: e, trigger: TriggerReboot}, v)
}

// retireReboot drops a one-shot that will not run here. mu is held.
func (d *Dispatcher) retireReboot(e *entry, v verdict) {
	delete(d.reboots, e.name)
	d.log.Info("@reboot job retired", "job", e.name, "reason", v.reason)
	d.decide(&firing{entry: e, trigger: TriggerReboot}, v)
	d.records.event(Event{Kind: RebootRetired, At: d.now(), Job: e.subject, Trigger: TriggerReboot, Decision: e.decided.newest()})
}

// claimReboots asks the cluster for Leader one-shots. A grant is the record that they
// ran, so they run at most once.
func (d *Dispatcher) claimReboots(c Coordinator, asked []*pendingReboot) {
	request := make([]election.Firing, len(asked))
	for i, p := range asked {
		request[i] = election.Firing{Job: p.name}
	}
	ctx, cancel := context.WithTimeout(d.ctx, 30*time.Second)
	d.records.event(Event{Kind: ClaimsAsked, At: d.now(), Asked: len(asked)})
	verdicts := c.Claim(ctx, request)
	cancel()
	again := false
	d.mu.Lock()
	for i, p := range asked {
		var v election.Verdict
		if i < len(verdicts) {
			v = verdicts[i]
		}
		e := d.entries[p.name]
		switch {
		case d.reboots[p.name] != p:
			// Started by hand, retired or stopped meanwhile; a grant is void.
		case v.Outcome == election.Pending, e == nil || e.job == nil:
			// A grant to a job that is absent for the moment is repeated to the
			// same instance when it is back.
			again = true
			if e != nil && e.job != nil {
				d.rebootWaits(e, p, verdict{outcome: DecidedPending, code: CodeUnsettled, reason: v.Reason})
			}
		case v.Outcome == election.Denied:
			d.retireReboot(e, verdict{outcome: DecidedRetired, code: CodeDenied, reason: denied(v).reason, owner: v.Holder})
		case v.RunningOn != "" && e.job.ConcurrencyPolicy != Allow:
			delete(d.reboots, p.name)
			d.decide(&firing{entry: e, trigger: TriggerReboot}, runningElsewhere(v.RunningOn, e.job))
		default:
			delete(d.reboots, p.name)
			d.fireReboot(e, v.Token, d.grantedHere())
		}
	}
	d.mu.Unlock()
	d.askAgain(again, asked...)
}

// markReboot records a PreferLeader one-shot as run, then runs it.
func (d *Dispatcher) markReboot(c Coordinator, p *pendingReboot, v verdict) {
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	err := c.MarkRebootRan(ctx, p.name)
	cancel()
	d.mu.Lock()
	e := d.entries[p.name]
	again := false
	switch {
	case d.reboots[p.name] != p:
	case e == nil || e.job == nil:
		again = true
	default:
		if err != nil {
			// The policy never skips: better twice than not at all.
			d.log.Warn("@reboot job runs although that could not be recorded in the cluster", "job", p.name, "error", err)
		}
		delete(d.reboots, p.name)
		d.fireReboot(e, 0, v)
	}
	d.mu.Unlock()
	d.askAgain(again, p)
}

// askAgain makes one-shots that are still pending askable again, after a pause if they
// are to be asked for once more, and ends what their goroutine was held for.
func (d *Dispatcher) askAgain(pause bool, asked ...*pendingReboot) {
	if pause {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		d.pauseClaims(rebootPause, changed)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range asked {
		p.asking = false
	}
	d.release()
	d.poke()
}

// takeReboot makes a manual start of a pending one-shot its boot run, and records that in
// the cluster before the launch.
func (d *Dispatcher) takeReboot(ctx context.Context, name string) {
	d.mu.Lock()
	p := d.reboots[name]
	c := d.coordinator
	if p != nil {
		delete(d.reboots, name)
		if e := d.entries[name]; e != nil {
			d.decide(&firing{entry: e, trigger: TriggerReboot}, verdict{outcome: DecidedRetired, code: CodeManual,
				reason: "a manual start counted as its boot run", owner: d.cfg.Node})
		}
	}
	d.mu.Unlock()
	if p == nil || c == nil {
		return
	}
	if err := c.MarkRebootRan(ctx, name); err != nil {
		d.log.Warn("manual start of an @reboot job could not be recorded in the cluster", "job", name, "error", err)
	}
}
