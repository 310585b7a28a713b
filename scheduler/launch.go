package scheduler

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// launch is one attempt to start a job, on its way to become an instance.
type launch struct {
	entry   *entry
	firing  *firing // nil for manual starts
	trigger Trigger
	attempt int
	token   uint64
	verdict verdict     // recorded when it starts
	retry   *retryState // the sequence that a retry belongs to
}

// at is the scheduled instant, zero for manual and @reboot runs.
func (l *launch) at() time.Time {
	switch {
	case l.firing != nil:
		return l.firing.at
	case l.retry != nil:
		return l.retry.at
	}
	return time.Time{}
}

// instance is one run of a job from the moment in which it is bound to start.
type instance struct {
	launch
	job     *Job // as it was started
	id      string
	started time.Time
	process Process // nil until it was started
	ending  ending
	begun   chan struct{} // closed when process is set or will never be
	done    chan struct{} // closed when it is recorded and gone
}

// ending says who ended an instance.
type ending int

const (
	endsItself ending = iota
	endReplaced
	endCancelled
	endShutdown
)

// enqueue hands a launch to the launchers. mu is held.
func (d *Dispatcher) enqueue(l *launch) {
	d.hold()
	if d.launcher.add(l) {
		d.workers.Go(d.launchQueued)
	}
}

// launchQueued is a worker of the launcher: it starts what is queued until nothing is left.
func (d *Dispatcher) launchQueued() {
	for {
		d.mu.Lock()
		l := d.launcher.next()
		if l == nil {
			d.mu.Unlock()
			return
		}
		inst, old := d.admit(l)
		d.release()
		d.mu.Unlock()
		if inst != nil {
			d.carry(inst, old)
		}
	}
}

// carry starts an admitted instance, after the old ones that it replaces have ended.
func (d *Dispatcher) carry(inst *instance, old []*instance) {
	if len(old) == 0 {
		d.start(inst)
		go d.await(inst) // counted in d.runs by admit
		return
	}
	// Old instances may take their time to end: no launcher waits for them.
	go func() { // likewise
		d.replace(old)
		d.start(inst)
		d.await(inst)
	}()
}

// admit decides at the last moment whether l starts, and if so makes it an instance,
// with the old instances that have to end first. mu is held.
func (d *Dispatcher) admit(l *launch) (inst *instance, replaced []*instance) {
	e := l.entry
	job := e.job
	switch {
	case job == nil || !job.Enabled:
		d.turnDown(l, verdict{outcome: DecidedSkipped, code: CodeRemoved, reason: "the job was removed or disabled meanwhile"})
		return nil, nil
	case d.phase == phaseStopped:
		v := verdict{outcome: DecidedMissed, code: election.CodeStopping, reason: "the agent stopped before it could start"}
		switch l.trigger {
		case TriggerRetry:
			v.outcome = DecidedAbandoned // recorded when its sequence ended
		case TriggerReboot:
			v.outcome = DecidedRetired // it has no instant that could be missed
		}
		d.turnDown(l, v)
		return nil, nil
	}
	if l.trigger == TriggerSchedule || l.trigger == TriggerLate {
		if now := d.now(); now.After(deadline(job, l.firing.at)) {
			d.turnDown(l, tooLate(job, l.firing.at, now))
			return nil, nil
		}
	}
	if l.trigger == TriggerRetry {
		l.retry.queued = false
		if l.retry.cancelled {
			return nil, nil
		}
	}
	if len(e.instances) > 0 {
		d.log.Warn("job is still running", "job", e.name, "instances", len(e.instances), "concurrencyPolicy", job.ConcurrencyPolicy)
		switch job.ConcurrencyPolicy {
		case Forbid:
			v := stillRunning()
			if l.trigger == TriggerRetry {
				d.retryWaits(l.retry)
				v.outcome = DecidedDeferred
			}
			d.turnDown(l, v)
			return nil, nil
		case Replace:
			replaced = append(replaced, e.instances...)
			for _, old := range replaced {
				if old.ending == endsItself {
					old.ending = endReplaced
				}
			}
		}
	}
	inst = &instance{launch: *l, job: job, id: newRunID(d.now()),
		begun: make(chan struct{}), done: make(chan struct{})}
	d.beginRetries(inst)
	e.instances = append(e.instances, inst)
	d.live.add(e.name, 1)
	d.hold()
	d.runs.Add(1)
	if l.firing != nil {
		d.decide(l.firing, l.verdict)
	}
	return inst, replaced
}

// turnDown records that a firing does not start after all. mu is held.
func (d *Dispatcher) turnDown(l *launch, v verdict) {
	if l.firing != nil {
		d.decide(l.firing, v)
	}
}

// replace ends the old instances and waits until they are gone.
func (d *Dispatcher) replace(old []*instance) {
	for _, o := range old {
		d.end(o)
	}
	for _, o := range old {
		<-o.done
	}
}

// end cancels the process of an instance, if there is one yet; start sees to the rest.
func (d *Dispatcher) end(inst *instance) {
	d.mu.Lock()
	process := inst.process
	d.mu.Unlock()
	if process != nil {
		process.Cancel()
	}
}

// start starts the instance's process, unless the instance was ended before.
func (d *Dispatcher) start(inst *instance) {
	defer close(inst.begun)
	d.mu.Lock()
	ended := inst.ending != endsItself
	inst.started = d.now()
	d.mu.Unlock()
	if ended {
		return
	}
	process := d.cfg.Runner.Start(d.spec(inst))
	e := inst.event(RunStarted, inst.started)
	e.PID = process.GivenPID() // it may be gone already
	select {
	case <-process.Done():
		if process.Result().StartError != "" {
			e.Kind = StartFailed
		}
	default:
	}
	d.mu.Lock()
	inst.process = process
	ended = inst.ending != endsItself
	d.mu.Unlock()
	if e.Kind == RunStarted {
		d.noteHistory(inst.job, d.cfg.History.AddStarted(history.Run{
			ID: inst.id, Job: inst.job.Name, Firing: inst.at(), Trigger: string(inst.trigger),
			Attempt: inst.attempt, Node: d.cfg.Node, StartedAt: inst.started,
		}))
		d.log.Info("job started", "job", inst.job.Name, "run", inst.id, "trigger", inst.trigger, "attempt", inst.attempt, "pid", e.PID)
	}
	d.records.event(e)
	if ended {
		process.Cancel()
	}
}

// await waits for the end of an instance and sees to what follows.
func (d *Dispatcher) await(inst *instance) {
	defer d.runs.Done()
	if inst.process != nil { // else it was ended before it started
		<-inst.process.Done()
	}
	d.finish(inst)
}

// event returns an event about the instance.
func (inst *instance) event(kind EventKind, at time.Time) Event {
	return Event{
		Kind: kind, At: at, Job: inst.job, RunID: inst.id, Trigger: inst.trigger,
		Firing: inst.at(), Attempt: inst.attempt,
	}
}

// liveCounts knows which jobs have instances. It has a lock of its own, under which
// nothing else happens, because coordinators ask while they answer their peers.
type liveCounts struct {
	mu      sync.RWMutex
	running map[string]int
}

func (c *liveCounts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[name] += n; c.running[name] == 0 {
		delete(c.running, name)
	}
}

// Running lists the jobs of which an instance runs here, or is bound to, in no order. It
// is cheap, and safe to be called with any lock held.
func (d *Dispatcher) Running() []string {
	d.live.mu.RLock()
	defer d.live.mu.RUnlock()
	return slices.Collect(maps.Keys(d.live.running))
}

// IsRunning reports whether an instance of the job runs here, or is bound to. It is
// cheap, and safe to be called with any lock held.
func (d *Dispatcher) IsRunning(name string) bool {
	d.live.mu.RLock()
	defer d.live.mu.RUnlock()
	return d.live.running[name] > 0
}
