package scheduler

import "context"

// Quiesce stops new firings for good: pending retries and claims end, manual starts
// get ErrStopping. Running jobs go on, and so does what was granted before. Firings that
// wait for an owner that nobody knows are recorded as missed.
func (d *Dispatcher) Quiesce() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiesce()
}

func (d *Dispatcher) quiesce() {
	if d.phase > phaseRunning {
		return
	}
	d.phase = phaseQuiet
	for _, e := range d.jobs {
		d.abandonRetry(e, abandonedStopping)
	}
	for _, f := range d.parked.list {
		d.parkedOver(f, f.verdict)
	}
	d.parked.clear()
	d.endDoubts()
	for name, p := range d.reboots {
		if !p.asking { // what is granted now would never run anywhere else
			delete(d.reboots, name)
		}
	}
	d.announceChange()
}

// Drain waits until nothing runs, starts or waits for a claim any more, or for ctx.
func (d *Dispatcher) Drain(ctx context.Context) error {
	for {
		d.mu.Lock()
		busy, settled := d.busy, d.settled
		d.mu.Unlock()
		if busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-settled:
		}
	}
}

// hold counts one more thing that Drain waits for; release ends it. mu is held.
func (d *Dispatcher) hold() { d.busy++ }

func (d *Dispatcher) release() {
	d.busy--
	close(d.settled)
	d.settled = make(chan struct{})
}

// Stop quiesces, drains, cancels what still runs when ctx ends, and ends every
// goroutine. It returns the context's error if runs had to be cancelled. It is
// idempotent.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.mu.Lock()
	if d.phase == phaseNew {
		d.phase = phaseStopped
	}
	started := d.cancel != nil
	d.quiesce()
	d.mu.Unlock()
	if !started {
		return nil
	}
	err := d.Drain(ctx)
	d.mu.Lock()
	d.phase = phaseStopped
	d.mu.Unlock()
	d.cancel()
	if err != nil {
		d.CancelAll()
	}
	d.workers.Wait()
	if err != nil {
		d.CancelAll() // what a launcher had in hand
	}
	d.runs.Wait()
	d.records.stop()
	return err
}
