package scheduler

import "context"

// StartJob starts the job now, whatever schedule and election say: ErrUnknownJob,
// ErrDisabled or ErrStopping. While an instance runs, Forbid starts nothing and
// Replace ends the old instances first; both return nil. A start that waits when ctx
// ends goes on without the caller.
func (d *Dispatcher) StartJob(ctx context.Context, name string) error {
	if err := d.startable(name); err != nil {
		return err
	}
	d.takeReboot(ctx, name)
	d.mu.Lock()
	if err := d.startableLocked(name); err != nil {
		d.mu.Unlock()
		return err
	}
	inst, old := d.admit(&launch{entry: d.entries[name], trigger: TriggerManual, attempt: 1})
	d.mu.Unlock()
	if inst == nil {
		return nil
	}
	d.carry(inst, old)
	select {
	case <-inst.begun:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Dispatcher) startable(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.startableLocked(name)
}

func (d *Dispatcher) startableLocked(name string) error {
	e := d.entries[name]
	switch {
	case e == nil || e.job == nil:
		return ErrUnknownJob
	case d.phase != phaseRunning:
		return ErrStopping
	case !e.job.Enabled:
		return ErrDisabled
	}
	return nil
}

// CancelJob cancels every instance of the job and its retries, and returns after
// their end: ErrUnknownJob, ErrNotRunning, or the error of ctx. It also reaches the
// instances of a job that is no longer configured.
func (d *Dispatcher) CancelJob(ctx context.Context, name string) error {
	d.mu.Lock()
	e := d.entries[name]
	if e == nil {
		d.mu.Unlock()
		return ErrUnknownJob
	}
	instances := d.markEnding(e, endCancelled)
	d.mu.Unlock()
	if len(instances) == 0 {
		return ErrNotRunning
	}
	for _, inst := range instances {
		d.end(inst)
	}
	for _, inst := range instances {
		select {
		case <-inst.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// CancelAll cancels every running instance and returns at once; see Drain. After
// Quiesce nothing starts any more either, what was granted included: nobody would cancel
// that.
func (d *Dispatcher) CancelAll() {
	d.mu.Lock()
	if d.phase == phaseQuiet {
		d.phase = phaseStopped
	}
	var instances []*instance
	for _, e := range d.entries {
		instances = append(instances, d.markEnding(e, endShutdown)...)
	}
	d.mu.Unlock()
	for _, inst := range instances {
		d.end(inst)
	}
}

// markEnding marks the entry's instances as ended by how, ends its retries and returns
// the instances. mu is held.
func (d *Dispatcher) markEnding(e *entry, how ending) []*instance {
	if len(e.instances) == 0 {
		return nil
	}
	d.cancelRetry(e)
	for _, inst := range e.instances {
		if inst.ending == endsItself {
			inst.ending = how
		}
	}
	return append([]*instance(nil), e.instances...)
}
