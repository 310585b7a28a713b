package election

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/internal/simfault"
)

// drawScenario draws a run with faults.
func drawScenario(t *rapid.T) scenario {
	sc := scenario{
		N:            rapid.IntRange(2, 7).Draw(t, "nodes"),
		Seed:         rapid.Uint64().Draw(t, "seed"),
		Distribution: rapid.SampledFrom([]Distribution{SingleLeader, Spread}).Draw(t, "distribution"),
		Durable:      rapid.Bool().Draw(t, "durable"),
		Free:         rapid.Bool().Draw(t, "free"),
		OwnFirst:     rapid.Bool().Draw(t, "own vote first"),
		Loss:         rapid.SampledFrom([]int{0, 5, 30}).Draw(t, "loss"),
		Delay:        rapid.SampledFrom([]time.Duration{5, 100, 1500}).Draw(t, "delay") * time.Millisecond,
		Length:       10 * time.Second,
	}
	for i := range sc.N {
		sc.Offsets = append(sc.Offsets, rapid.OneOf(
			rapid.SampledFrom([]time.Duration{-time.Second, 0, time.Second}),
			rapid.Map(rapid.IntRange(-1000, 1000), func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }),
		).Draw(t, fmt.Sprintf("clock %d", i)))
	}
	kinds := []simfault.Kind{simfault.Crash, simfault.Crash, simfault.Crash, simfault.Cut, simfault.OneWay, simfault.Partition, simfault.Stop, simfault.Disk}
	for range rapid.IntRange(0, 16).Draw(t, "faults") {
		f := simfault.Fault{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			A:    rapid.IntRange(0, sc.N-1).Draw(t, "a"),
			B:    rapid.IntRange(0, sc.N-1).Draw(t, "b"),
			Mask: rapid.UintRange(1, 1<<sc.N-1).Draw(t, "side"),
			At:   drawMillis(t, "at", 0, 9000),
			Last: rapid.SampledFrom([]time.Duration{50, 200, 1000, 5000}).Draw(t, "last") * time.Millisecond,
		}
		sc.Faults = append(sc.Faults, f)
	}
	return sc
}

func drawMillis(t *rapid.T, label string, low, high int) time.Duration {
	return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
}

// drawStepBack draws a run in which some clocks go back by more than the age of a
// vote. Lives without durable votes don't end in it: what they forget, no fence at a
// moved clock can tell.
func drawStepBack(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.StepBack = rapid.UintRange(1, 1<<sc.N-1).Draw(t, "clocks that go back")
	if !sc.Durable {
		kept := sc.Faults[:0]
		for _, f := range sc.Faults {
			if f.Kind != simfault.Crash && f.Kind != simfault.Stop {
				kept = append(kept, f)
			}
		}
		sc.Faults = kept
	}
	return sc
}

// drawRestarts draws a run in which processes die and come back all the time, while
// their clocks are as far apart as they may be: what the fence is for.
func drawRestarts(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(2, 4).Draw(t, "few nodes")
	sc.Free, sc.Loss, sc.Delay = true, 0, 20*time.Millisecond
	sc.Offsets, sc.Faults = nil, nil
	for i := range sc.N {
		sc.Offsets = append(sc.Offsets, rapid.SampledFrom([]time.Duration{-time.Second, time.Second}).Draw(t, fmt.Sprintf("clock %d", i)))
	}
	for range rapid.IntRange(4, 24).Draw(t, "crashes") {
		sc.Faults = append(sc.Faults, simfault.Fault{
			Kind: simfault.Crash,
			A:    rapid.IntRange(0, sc.N-1).Draw(t, "a"),
			At:   drawMillis(t, "at", 2000, 9900),
			Last: drawMillis(t, "last", 10, 300),
		})
	}
	return sc
}

// crashes reports whether a process dies in the run.
func (sc scenario) crashes() bool {
	for _, f := range sc.Faults {
		if f.Kind == simfault.Crash || f.Kind == simfault.Stop {
			return true
		}
	}
	return false
}

// scheduledDoubles drops the one-shot from what doubled: its votes don't outlive a
// process, and nothing fences them.
func (w *world) scheduledDoubles() []string {
	delete(w.launches, Firing{Job: jobOneShot})
	return w.doubled()
}

// seedsPerCheck runs each drawn scenario with several orders of events.
const seedsPerCheck = 4

// neverTwice checks the promise on drawn scenarios.
func neverTwice(t *testing.T, draw func(*rapid.T) scenario) {
	launched := 0
	rapid.Check(t, func(t *rapid.T) {
		sc := draw(t)
		for range seedsPerCheck {
			sc.Seed++
			w := simulate(sc, rules{})
			launched += len(w.launches)
			if d := w.doubled(); len(d) > 0 && !sc.crashes() {
				t.Fatalf("doubled: %v\nfaults: %v", d, sc.Faults)
			}
			if d := w.scheduledDoubles(); len(d) > 0 {
				t.Fatalf("doubled: %v\nfaults: %v", d, sc.Faults)
			}
		}
	})
	if launched == 0 {
		t.Fatal("nothing ever ran: the simulation proves nothing")
	}
}

func TestSimulationNoLeaderFiringRunsTwice(t *testing.T)      { neverTwice(t, drawScenario) }
func TestSimulationQuickRestartsForgetNoVote(t *testing.T)    { neverTwice(t, drawRestarts) }
func TestSimulationClocksThatGoBackFreeNoFiring(t *testing.T) { neverTwice(t, drawStepBack) }

// missed lists the firings of the Leader jobs in a span of true time that did not run.
func (w *world) missed(from, to time.Duration) []string {
	var out []string
	for at := from; at < to; at += time.Second {
		for _, job := range leaderJobs {
			if f := (Firing{Job: job, At: epoch.Add(at)}); len(w.launches[f]) == 0 {
				out = append(out, fmt.Sprintf("%s at %v", job, at))
			}
		}
	}
	return out
}

// explain tells what went on, for a failure message.
func (w *world) explain() string {
	text := fmt.Sprintf("refusals %v, claims closed %v, faults %v", w.refusals, w.verdicts, w.sc.Faults)
	for _, n := range w.nodes {
		if n.proc == nil {
			text += "\n" + n.name() + " is down"
			continue
		}
		d := Decide(Leader, true, n.proc.current(), jobTick)
		text += fmt.Sprintf("\n%s: %s, owner %s: %s", n.proc.instance, d.Action, d.Owner, d.Reason)
	}
	return text
}

// calmly makes a scenario one in which nodes follow their views over a good network.
func calmly(sc scenario) scenario {
	sc.Free, sc.Loss, sc.Delay = false, 0, min(sc.Delay, 100*time.Millisecond)
	return sc
}

func TestSimulationConnectedMajorityRunsEveryFiring(t *testing.T) {
	checks, split := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sc := calmly(drawScenario(t))
		sc.Length, sc.Faults = 16*time.Second, nil
		gone := rapid.IntRange(0, sc.N-Quorum(sc.N)).Draw(t, "nodes out of reach")
		dead := rapid.Bool().Draw(t, "dead")
		for i := range gone {
			a := (i*2 + int(sc.Seed%7)) % sc.N // the lowest names too
			switch {
			case dead:
				sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Crash, A: a, Last: time.Hour})
			default:
				sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Partition, Mask: 1 << a, Last: time.Hour})
			}
		}
		w := simulate(sc, rules{})
		if m := w.missed(6*time.Second, 14*time.Second); len(m) > 0 {
			t.Fatalf("missed %v\n%s", m, w.explain())
		}
		if d := w.doubled(); len(d) > 0 {
			t.Fatalf("doubled %v\n%s", d, w.explain())
		}
		checks++
		if len(w.launches[Firing{Job: jobOneShot}]) == 0 {
			// It has one chance only: nodes that start at the same moment may split
			// the votes before they see each other.
			if w.refusals[RefusedTaken] == 0 {
				t.Fatalf("the one-shot did not run, though nobody competed\n%s", w.explain())
			}
			split++
		}
		for at := 6 * time.Second; at < 14*time.Second; at += time.Second {
			n := w.preferred[Firing{Job: jobPrefer, At: epoch.Add(at)}]
			if n == 0 || dead && n != 1 {
				t.Fatalf("the PreferLeader firing at %v ran %d times\n%s", at, n, w.explain())
			}
		}
	})
	if split > checks/10 {
		t.Errorf("%d of %d one-shots were lost to split votes", split, checks)
	}
}

func TestSimulationHealedClusterGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := calmly(drawScenario(t))
		sc.Calm = 14 * time.Second // faults end up to 4 s after Length
		w := simulate(sc, rules{})
		end := sc.Length + sc.Calm
		if m := w.missed(end-5*time.Second, end-2*time.Second); len(m) > 0 {
			t.Fatalf("missed %v\n%s", m, w.explain())
		}
	})
}

func TestSimulationFailoverRunsTheGapLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := calmly(drawScenario(t))
		sc.N = rapid.SampledFrom([]int{3, 5}).Draw(t, "odd nodes")
		sc.Offsets = make([]time.Duration, sc.N)
		sc.Length = 18 * time.Second
		down := simfault.Fault{
			Kind: rapid.SampledFrom([]simfault.Kind{simfault.Crash, simfault.Stop}).Draw(t, "end"),
			A:    0, // leads, or owns a share of the jobs
			At:   drawMillis(t, "at", 6000, 8000),
			Last: time.Hour,
		}
		sc.Faults = []simfault.Fault{down}
		w := simulate(sc, rules{})
		missed := w.missed(4*time.Second, 16*time.Second)
		if down.Kind == simfault.Crash {
			// Votes for the dead claimant are lost with it, if it was just asking.
			lost := map[string]bool{}
			for _, job := range leaderJobs {
				lost[fmt.Sprintf("%s at %v", job, down.At.Truncate(time.Second))] = true
			}
			missed = slices.DeleteFunc(missed, func(m string) bool { return lost[m] })
		}
		if len(missed) > 0 {
			t.Fatalf("missed %v\n%s", missed, w.explain())
		}
	})
}
