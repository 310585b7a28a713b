package simcluster

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/yacron2/yacron2/internal/simfault"
)

// world is one run: the machines, the network between them, and what happened.
type world struct {
	sc    scenario
	began time.Time // true time at the start of the run

	// mu guards all that is simulated. Nobody who holds it calls a dispatcher, except
	// for what is safe under any lock.
	mu       sync.Mutex
	machines []*machine
	ledger   *ledger
	ended    bool
	verbose  bool
	plans    int // how many things were planned for the run
}

// plan does something at a time of the run, a few nanoseconds apart from everything else
// that is planned.
func (w *world) plan(at time.Duration, do func()) {
	w.plans++
	w.after(at-w.elapsed()+time.Duration(w.plans), do)
}

// settle lets everybody react to what was just done.
func settle() { <-time.After(time.Microsecond) }

// elapsed is the true time since the run began.
func (w *world) elapsed() time.Duration { return time.Since(w.began) }

// roll is a random number that depends on what it is for and on the instant, and not on
// the order in which goroutines ask.
func (w *world) roll(what string, numbers ...int) uint64 {
	h := fnv.New64a()
	var buf [8]byte
	add := func(x uint64) {
		binary.LittleEndian.PutUint64(buf[:], x)
		h.Write(buf[:])
	}
	add(w.sc.Seed)
	add(uint64(w.elapsed()))
	for _, n := range numbers {
		add(uint64(n))
	}
	h.Write([]byte(what))
	z := h.Sum64() // FNV alone mixes the low bits badly
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// share is the part of d that a random number stands for.
func share(random uint64, d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(random % uint64(d))
}

// after does something later, in a goroutine of its own and without the lock.
func (w *world) after(d time.Duration, do func()) { time.AfterFunc(d, do) }

// send delivers a message from one machine to another, or loses it. What names it sets it
// apart from what the same machines send each other at the same instant. deliver is
// called with mu held, as is send.
func (w *world) send(from, to *machine, what string, deliver func()) {
	if from != to && w.cut(from.index, to.index) {
		return
	}
	r := w.roll(what, from.index, to.index)
	if from != to && int(r%100) < w.lossNow() {
		return
	}
	delay := 200*time.Microsecond + share(r>>8, w.delayNow())
	w.ledger.traced("send %s from %d to %d, %v", what, from.index, to.index, delay)
	w.after(delay, func() { to.receive(deliver) })
}

// cut reports whether nothing gets from one machine to the other now.
func (w *world) cut(from, to int) bool {
	if (w.sc.Gone>>from|w.sc.Gone>>to)&1 == 1 {
		return true
	}
	now := w.elapsed()
	for _, f := range w.sc.Faults {
		if f.ActiveAt(now) && f.Cuts(from, to) {
			return true
		}
	}
	return false
}

func (w *world) lossNow() int {
	if w.elapsed() >= w.sc.Length {
		return 0
	}
	return w.sc.Loss
}

func (w *world) delayNow() time.Duration {
	if w.elapsed() >= w.sc.Length {
		return min(w.sc.Delay, calmDelay)
	}
	return w.sc.Delay
}

// calmDelay is the longest delay of a message in good times.
const calmDelay = 20 * time.Millisecond

// resolve returns the machine that a host name leads to, nil if there is none.
func (w *world) resolve(host string) *machine {
	now := w.elapsed()
	for _, f := range w.sc.Faults {
		if f.Kind == simfault.Name && f.ActiveAt(now) && host == hostOf(f.A) {
			return w.machines[f.B]
		}
	}
	for _, m := range w.machines {
		if m.host == host {
			return m
		}
	}
	return nil
}

func hostOf(index int) string { return fmt.Sprintf("h%d:8443", index) }

// complain notes that something happened that must never happen. mu is held.
func (w *world) complain(format string, args ...any) {
	w.ledger.problems = append(w.ledger.problems, fmt.Sprintf("at %v: ", w.elapsed())+fmt.Sprintf(format, args...))
}
