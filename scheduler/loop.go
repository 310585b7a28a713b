package scheduler

import (
	"context"
	"time"

	"github.com/yacron2/yacron2/election"
)

// How long the loop sleeps at most. Timers run on the monotonic clock, which knows
// neither of a wall clock that was set nor, on most systems, of time spent suspended; so
// the wall clock is read again and again, the less often where somebody tells of that.
const (
	clockCheck     = 5 * time.Second
	clockCheckTold = time.Minute
)

// loop fires what is due until the Dispatcher stops.
func (d *Dispatcher) loop(life context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	over := life.Done()
	for {
		updates, sleep := d.pass()
		timer.Reset(sleep)
		select {
		case <-d.ctx.Done():
			return
		case <-over:
			over = nil
			d.Quiesce()
		case <-timer.C:
		case <-d.wake:
		case <-d.cfg.ClockSet:
		case <-updates:
			d.records.event(Event{Kind: ViewChanged, At: d.now()})
		}
	}
}

// pass does everything that is to be done now. It returns the coordinator's updates
// and how long nothing else will happen.
func (d *Dispatcher) pass() (updates <-chan struct{}, sleep time.Duration) {
	d.mu.Lock()
	coordinator := d.coordinator
	asking := d.askableReboots()
	d.mu.Unlock()

	var view *election.View
	var ran map[string]bool
	if coordinator != nil {
		updates = coordinator.Updates()
		view = coordinator.View()
		ran = make(map[string]bool, len(asking))
		for _, name := range asking {
			ran[name] = coordinator.RebootRan(name)
		}
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.phase != phaseRunning || !d.planned {
		return updates, clockCheck
	}
	if coordinator != d.coordinator {
		return nil, 0 // it was replaced meanwhile: ask the new one
	}
	now := d.now()
	if view != d.view {
		d.view = view
		d.peers = d.peers.see(view, now)
		d.recheck = true
		close(d.changed)
		d.changed = make(chan struct{})
	}
	if step := d.clock.read(now); step != 0 {
		d.clockStepped(step, now)
	}
	d.boot()
	// Late firings come before those that are due now, so that a job's firings are
	// claimed in their order.
	changed := d.recheck
	d.recheck = false
	d.tick(now, d.resumeParked(now, changed))
	d.resolveDoubts(now, changed)
	d.dueRetries(time.Now())
	d.settleReboots(ran)
	return updates, d.untilNext(now)
}

// clockStepped takes note that the wall clock was set. mu is held.
func (d *Dispatcher) clockStepped(step time.Duration, now time.Time) {
	d.consumed.clockSet()
	direction := "forward, or the machine slept"
	if step < 0 {
		direction = "back"
	}
	d.log.Warn("the wall clock was set "+direction, "by", step.Abs().Round(time.Millisecond))
	d.records.event(Event{Kind: ClockStepped, At: now, Step: step})
}

// untilNext tells how long the loop may sleep. mu is held.
func (d *Dispatcher) untilNext(now time.Time) time.Duration {
	sleep := clockCheckTold
	if d.cfg.ClockSet == nil || len(d.reboots) > 0 { // nothing tells when another node ran a one-shot
		sleep = clockCheck
	}
	if next := d.table.Next(); !next.IsZero() {
		wait := next.Sub(now)
		if wait > clockCheck {
			wait -= wait / 1000 // the wall clock may be slewed meanwhile: twice at most what that makes
		}
		sleep = min(sleep, wait)
	}
	if len(d.retries) > 0 {
		sleep = min(sleep, time.Until(d.retries[0].due))
	}
	if len(d.parked.list) > 0 {
		// A firing may still start at its deadline, and is over after it.
		sleep = min(sleep, d.parked.expiry.Sub(now)+time.Millisecond)
	}
	if len(d.doubts.list) > 0 {
		sleep = min(sleep, d.doubts.next.Sub(now)+time.Millisecond)
	}
	return max(sleep, 0)
}

// clock remembers the newest reading of both clocks, to notice when they part.
type clock struct {
	wall time.Time // without monotonic reading
	mono time.Time
}

// stepLimit is how far the clocks may part between two readings before it counts as a
// step. Slewing parts them by at most 0.5 ms a second.
const stepLimit = time.Second

func (c *clock) reset(wall time.Time) { c.wall, c.mono = wall, time.Now() }

// read takes a new reading and returns by how much the wall clock was set since the
// newest one: 0 unless it counts.
func (c *clock) read(wall time.Time) time.Duration {
	mono := time.Now()
	step := wall.Sub(c.wall) - mono.Sub(c.mono)
	c.wall, c.mono = wall, mono
	if step.Abs() < stepLimit {
		return 0
	}
	return step
}
