package election

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/yacron2/yacron2/internal/simfault"
)

// This file is the world of the simulation: true time, the network, and the events in
// it. What a node does is in cluster_node_test.go. Everything follows from the seed.

// splitMix is a tiny random generator, so that a run is its seed and nothing else.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *splitMix) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(s.next() % uint64(d))
}

func (s *splitMix) percent(p int) bool { return int(s.next()%100) < p }

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// rules are the parts of the promise that a mutant breaks. The zero value keeps all.
type rules struct {
	// judge stands in for Votes.Judge.
	judge func(*Votes, VoterContext, ClaimRequest) Ballot
	// tallySize stands in for N where a claimant counts votes.
	tallySize func(n int) int
	// pruned may tamper with the votes after each pruning.
	pruned func(*Votes)
	// answerBeforeSync lets a durable voter answer while its write is under way.
	answerBeforeSync bool
	// forgetConsumed lets a claimant claim again what it has run.
	forgetConsumed bool
}

// launch is one start of a job: what must happen once per firing.
type launch struct {
	firing   Firing
	instance string
	at       time.Duration
}

// world is one run of the simulation.
type world struct {
	sc    scenario
	rules rules
	rng   splitMix
	queue eventQueue
	seq   int
	now   time.Duration // since the start of the run
	idle  time.Duration // time that passed in one leap, on all clocks
	nodes []*node

	launches  map[Firing][]launch
	preferred map[Firing]int // launches of the PreferLeader job
	refusals  map[Refusal]int
	verdicts  map[string]int
}

// epoch is the true time at which every run starts.
var epoch = time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)

func (w *world) trueTime() time.Time { return epoch.Add(w.now + w.idle) }

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + d, w.seq, do})
}

// runUntil lets the world go on until the given time since its start.
func (w *world) runUntil(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = end
}

// leap lets time pass on all clocks without anything happening.
func (w *world) leap(d time.Duration) { w.idle += d }

// send delivers a message from one node to another, or loses it.
func (w *world) send(from, to int, deliver func()) {
	loss, delay := w.sc.Loss, w.sc.Delay
	for _, f := range w.sc.Faults {
		if f.ActiveAt(w.now) && f.Cuts(from, to) {
			return
		}
	}
	if w.rng.percent(loss) {
		return
	}
	w.after(time.Millisecond+w.rng.upTo(delay), deliver)
}

// scenario is everything that distinguishes one run from another.
type scenario struct {
	N            int
	Seed         uint64
	Distribution Distribution
	Durable      bool // votes survive crashes
	Free         bool // every node claims every firing, whatever its view says
	OwnFirst     bool // claimants cast their own vote first
	Manual       bool // nobody claims by itself
	Loss         int  // percent of the messages
	Delay        time.Duration
	Offsets      []time.Duration // of the clocks, within 1 s of the truth
	Faults       []simfault.Fault
	Length       time.Duration
	// StepBack: after Length the world idles for more than VoteAge, then the clocks
	// of the nodes in this mask go back so far that old firings are due again.
	StepBack uint
	Calm     time.Duration // time without faults at the end
}

// simulate runs a scenario under rules.
func simulate(sc scenario, r rules) *world {
	w := &world{
		sc: sc, rules: r, rng: splitMix(sc.Seed),
		launches: make(map[Firing][]launch), preferred: make(map[Firing]int),
		refusals: make(map[Refusal]int), verdicts: make(map[string]int),
	}
	for i := range sc.N {
		w.nodes = append(w.nodes, &node{world: w, index: i, offset: sc.Offsets[i]})
	}
	for _, n := range w.nodes {
		w.after(w.rng.upTo(300*time.Millisecond), n.start)
	}
	for _, f := range sc.Faults {
		n := w.nodes[f.A]
		switch f.Kind {
		case simfault.Crash:
			w.after(f.At, n.crash)
			w.after(f.At+f.Last, n.start)
		case simfault.Stop:
			w.after(f.At, n.stop)
			w.after(f.At+f.Last/2, n.crash)
			w.after(f.At+f.Last, n.start)
		}
	}
	w.runUntil(sc.Length)
	if sc.StepBack != 0 {
		w.leap(VoteAge + 20*time.Second)
		w.runUntil(sc.Length + 3*time.Second) // everybody prunes
		for i, n := range w.nodes {
			if sc.StepBack>>i&1 == 1 {
				n.stepClock(-(VoteAge + 20*time.Second + sc.Length))
			}
		}
		w.runUntil(2*sc.Length + 3*time.Second)
	}
	w.runUntil(w.now + sc.Calm)
	return w
}

// doubled lists the firings that ran more than once, in order.
func (w *world) doubled() []string {
	var out []string
	for f, runs := range w.launches {
		if len(runs) > 1 {
			out = append(out, fmt.Sprintf("%s at %s: %v", f.Job, f.At.Format(time.TimeOnly), runs))
		}
	}
	slices.Sort(out)
	return out
}
