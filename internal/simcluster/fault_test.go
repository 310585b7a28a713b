package simcluster

import (
	"fmt"
	"time"
)

type faultKind int

const (
	faultCut       faultKind = iota // nothing passes between A and B
	faultOneWay                     // nothing passes from A to B
	faultPartition                  // Mask against the rest
	faultCrash                      // A dies, and comes back after Last
	faultGrant                      // A dies when it is next granted something, and comes back
	faultStop                       // A stops in peace, and comes back
	faultFreeze                     // A is frozen
	faultDisk                       // A's durable writes fail
	faultClock                      // A's clock is set by By, and back after Last
	faultReload                     // A alone gets another version of the jobs
	faultRoll                       // all get another version, one after the other
	faultName                       // A's host name leads to B
	faultKinds
)

// fault is one thing that goes wrong, or is done, for a while.
type fault struct {
	Kind     faultKind
	A, B     int
	Mask     uint
	By       time.Duration
	Version  int
	At, Last time.Duration
}

func (f fault) activeAt(now time.Duration) bool { return f.At <= now && now < f.At+f.Last }

func (f fault) cuts(from, to int) bool {
	switch f.Kind {
	case faultCut:
		return f.A == from && f.B == to || f.A == to && f.B == from
	case faultOneWay:
		return f.A == from && f.B == to
	case faultPartition:
		return f.Mask>>from&1 != f.Mask>>to&1
	}
	return false
}

func (f fault) String() string {
	span := fmt.Sprintf("from %v for %v", f.At, f.Last)
	switch f.Kind {
	case faultCut:
		return fmt.Sprintf("cut %d-%d %s", f.A, f.B, span)
	case faultOneWay:
		return fmt.Sprintf("cut %d→%d %s", f.A, f.B, span)
	case faultPartition:
		return fmt.Sprintf("partition %b %s", f.Mask, span)
	case faultCrash:
		return fmt.Sprintf("crash %d %s", f.A, span)
	case faultGrant:
		return fmt.Sprintf("crash %d at its first grant %s", f.A, span)
	case faultStop:
		return fmt.Sprintf("stop %d %s", f.A, span)
	case faultFreeze:
		return fmt.Sprintf("freeze %d %s", f.A, span)
	case faultDisk:
		return fmt.Sprintf("disk of %d fails %s", f.A, span)
	case faultClock:
		return fmt.Sprintf("clock of %d set by %v %s", f.A, f.By, span)
	case faultReload:
		return fmt.Sprintf("%d reloads version %d at %v", f.A, f.Version, f.At)
	case faultRoll:
		return fmt.Sprintf("all reload version %d at %v", f.Version, f.At)
	case faultName:
		return fmt.Sprintf("name of %d leads to %d %s", f.A, f.B, span)
	}
	return "?"
}

// inflict lets a fault come about at its time.
func (w *world) inflict(f fault) {
	m := w.machines[f.A]
	switch f.Kind {
	case faultCrash:
		w.plan(f.At, m.crash)
		w.plan(f.At+f.Last, m.start)
	case faultGrant:
		w.plan(f.At, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			m.doomed = true
		})
		w.plan(f.At+f.Last, func() {
			w.mu.Lock()
			m.doomed = false
			w.mu.Unlock()
			m.start()
		})
	case faultStop:
		limit := 2 * time.Second
		if w.sc.Long {
			limit = 12 * time.Second
		}
		w.plan(f.At, func() { m.stop(min(limit, f.Last)) })
		w.plan(f.At+f.Last, m.start)
	case faultFreeze:
		w.plan(f.At, func() { m.freeze(f.Last) })
	case faultClock:
		w.plan(f.At, func() { m.setClock(f.By) })
		w.plan(f.At+f.Last, func() { m.setClock(-f.By) })
	case faultReload:
		w.plan(f.At, func() { m.reload(f.Version) })
	case faultRoll:
		for i, m := range w.machines {
			w.plan(f.At+time.Duration(i)*f.Last/time.Duration(len(w.machines)), func() { m.reload(f.Version) })
		}
	}
}
