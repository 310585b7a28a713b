package simcluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/simfault"
)

// scenario is everything that distinguishes one run from another.
type scenario struct {
	N       int
	Seed    uint64
	Spread  bool
	Durable uint // the machines that keep votes on disk
	Free    uint // the machines that take themselves for the leader now and then
	Twin    bool // the last machine bears the name of the first one
	Loss    int  // percent of the messages
	Delay   time.Duration
	Offsets []time.Duration // of the clocks
	Faults  []simfault.Fault
	// Joiners is how many machines come when nobody's configuration lists them yet
	// but their own.
	Joiners int
	Resize  resize
	// StepBack: after Length the world goes on for longer than votes are kept, then
	// the clocks of the machines in this mask go back so far that old firings are due
	// again.
	StepBack uint
	Orderly  bool          // nothing goes wrong, nodes only come and go
	Long     bool          // some jobs run for long
	Gone     uint          // machines that are out of reach all the time
	Dead     bool          // and that is because they are down
	Length   time.Duration // until then things go wrong
	Calm     time.Duration // and for so long they don't
}

// resize changes the number of machines by one.
type resize struct {
	By  int // 1, -1 or 0
	At  time.Duration
	Gap time.Duration // from one machine to the next
}

func (sc scenario) distribution() election.Distribution {
	if sc.Spread {
		return election.Spread
	}
	return election.SingleLeader
}

// machines is how many there ever are.
func (sc scenario) machines() int { return sc.N + sc.Joiners + max(sc.Resize.By, 0) }

// usurps reports whether a machine takes itself for the leader now.
func (w *world) usurps(m *machine) bool {
	if w.sc.Free>>m.index&1 == 0 || w.elapsed() >= w.sc.Length && w.sc.StepBack == 0 {
		return false
	}
	turn := int(w.elapsed() / (700 * time.Millisecond))
	x := w.sc.Seed ^ uint64(m.index*7919+turn*104729)
	x = (x ^ x>>31) * 0x9e3779b97f4a7c15
	return x>>60 < 8
}

// simulate runs a scenario in a bubble of its own.
func simulate(t *testing.T, sc scenario) *world {
	w := &world{sc: sc}
	synctest.Test(t, func(*testing.T) { w.live() })
	return w
}

// live lives the scenario.
func (w *world) live() {
	sc := w.sc
	w.began = time.Now()
	w.ledger = newLedger(w)
	for i := range sc.machines() {
		m := &machine{
			w: w, index: i, name: fmt.Sprintf("n%d", i), host: hostOf(i), durable: sc.Durable>>i&1 == 1,
			busy: make(chan struct{}, 1), disk: map[election.Firing]election.Vote{},
		}
		if i < len(sc.Offsets) {
			m.offset.Store(int64(sc.Offsets[i]))
		}
		m.offset.Add(int64(w.roll("offset", i) % 1_000_000)) // no two wake at one instant
		listed := sc.N
		if i >= sc.N {
			listed = sc.machines()
		}
		for k := range listed {
			m.hosts = append(m.hosts, hostOf(k))
		}
		w.machines = append(w.machines, m)
	}
	if sc.Twin {
		w.machines[sc.N-1].name = w.machines[0].name
	}
	for i, m := range w.machines {
		if i < sc.N || sc.Joiners > 0 {
			w.plan(share(w.roll("boot", i), 300*time.Millisecond), m.start)
		}
	}
	for _, f := range sc.Faults {
		w.inflict(f)
	}
	w.resizes()
	w.pass(sc.Length)
	if sc.StepBack == 0 {
		w.agree()
	} else {
		w.pass(11*time.Minute - w.elapsed() - 5*time.Second)
		for i, m := range w.machines {
			if sc.StepBack>>i&1 == 1 {
				m.setClock(-(w.elapsed() - time.Second))
			}
		}
		w.pass(sc.Length)
	}
	w.pass(sc.Calm)
	w.finish()
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of a bubble: this is how its time passes
	synctest.Wait()
}

// resizes adds or removes a machine: all configurations change, one after the other.
func (w *world) resizes() {
	r := w.sc.Resize
	if r.By == 0 {
		return
	}
	n := w.sc.N + r.By
	var hosts []string
	for i := range n {
		hosts = append(hosts, hostOf(i))
	}
	if r.By < 0 {
		w.plan(r.At, func() { w.machines[n].stop(time.Second) })
	} else {
		w.plan(r.At, w.machines[n-1].start)
	}
	for i := range min(n, w.sc.N) {
		w.plan(r.At+time.Duration(i+1)*r.Gap, func() { w.machines[i].relist(hosts) })
	}
}

// agree gives all machines the same version of the jobs, as somebody who looks after
// them would.
func (w *world) agree() {
	w.mu.Lock()
	version := w.machines[0].version
	var stale []*machine
	for _, m := range w.machines {
		if m.version != version {
			stale = append(stale, m)
		}
	}
	w.mu.Unlock()
	for _, m := range stale {
		m.reload(version)
	}
}

// finish ends the run: what the dispatchers still have to write down, they do.
func (w *world) finish() {
	w.mu.Lock()
	w.ledger.close()
	machines := w.machines
	w.mu.Unlock()
	for _, m := range machines {
		w.mu.Lock()
		p := m.proc
		w.mu.Unlock()
		if p != nil {
			p.end()
		}
	}
	w.mu.Lock()
	w.ended = true
	for _, m := range machines {
		if m.proc != nil {
			m.proc.dead = true
			close(m.proc.gone)
		}
	}
	w.mu.Unlock()
	synctest.Wait()
}
