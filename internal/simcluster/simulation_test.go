package simcluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

func drawMillis(t *rapid.T, label string, low, high int) time.Duration {
	return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
}

// drawScenario draws a run in which anything goes wrong.
func drawScenario(t *rapid.T) scenario {
	sc := scenario{
		N:       rapid.SampledFrom([]int{1, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 9}).Draw(t, "nodes"),
		Seed:    rapid.Uint64().Draw(t, "seed"),
		Spread:  rapid.Bool().Draw(t, "spread"),
		Durable: rapid.UintRange(0, 1<<9-1).Draw(t, "durable"),
		Loss:    rapid.SampledFrom([]int{0, 0, 5, 30}).Draw(t, "loss"),
		Delay:   rapid.SampledFrom([]time.Duration{2, 100, 1500}).Draw(t, "delay") * time.Millisecond,
		Length:  12 * time.Second,
		Calm:    2 * time.Second,
	}
	if rapid.Bool().Draw(t, "usurpers") {
		sc.Free = rapid.UintRange(0, 1<<9-1).Draw(t, "free")
	}
	for i := range sc.N {
		sc.Offsets = append(sc.Offsets, drawMillis(t, fmt.Sprintf("clock %d", i), -990, 990))
	}
	for range rapid.IntRange(0, 12).Draw(t, "faults") {
		sc.Faults = append(sc.Faults, drawFault(t, sc))
	}
	return sc
}

func drawFault(t *rapid.T, sc scenario) fault {
	f := fault{
		Kind: faultKind(rapid.IntRange(0, int(faultKinds)-1).Draw(t, "kind")),
		A:    rapid.IntRange(0, sc.N-1).Draw(t, "a"),
		B:    rapid.IntRange(1, max(sc.N-1, 1)).Draw(t, "b"),
		Mask: rapid.UintRange(1, 1<<sc.N-1).Draw(t, "side"),
		At:   drawMillis(t, "at", 0, int(sc.Length/time.Millisecond)-100),
		Last: rapid.SampledFrom([]time.Duration{50, 200, 1000, 5000}).Draw(t, "last") * time.Millisecond,
	}
	f.B = (f.A + f.B) % sc.N // another one, if there is one
	f.Last = min(f.Last, sc.Length-f.At)
	switch f.Kind {
	case faultName:
		// One name at a time: what names say is a part of the membership.
		f.A = int(sc.Seed % uint64(sc.N))
		f.B = (f.A + 1 + f.B%max(sc.N-1, 1)) % sc.N
	case faultClock:
		// As far as it may be from the truth, to either side.
		offset := sc.Offsets[f.A]
		f.By = rapid.SampledFrom([]time.Duration{-990*time.Millisecond - offset, 990*time.Millisecond - offset}).Draw(t, "by")
	case faultReload, faultRoll:
		f.Version = rapid.IntRange(0, versions-1).Draw(t, "version")
	}
	return f
}

// problems returns what a run must never show.
func problems(w *world) string {
	if len(w.ledger.problems) == 0 {
		return ""
	}
	return strings.Join(w.ledger.problems, "\n") + "\n" + w.explain()
}

func TestNoLeaderFiringRunsTwice(t *testing.T) {
	launched := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(t, drawScenario(rt))
		launched += len(w.ledger.launches)
		if p := problems(w); p != "" {
			rt.Fatal(p)
		}
	})
	if launched == 0 {
		t.Fatal("nothing ever ran: the simulation proves nothing")
	}
}

// drawHealing draws a run in which everything goes wrong for a while, and then all is
// well, but for a minority that is out of reach all the time.
func drawHealing(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.Free = 0
	sc.Calm = converging + simDeadline + 3*time.Second
	gone := rapid.IntRange(0, sc.N-election.Quorum(sc.N)).Draw(t, "out of reach")
	sc.Dead = rapid.Bool().Draw(t, "dead")
	for i := range gone {
		sc.Gone |= 1 << ((2*i + int(sc.Seed%9)) % sc.N) // the lowest names too
	}
	// A name that led to the wrong node has to lead to the right one once more: until
	// then it counts as another name of that node.
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f fault) bool { return f.Kind == faultName && sc.Gone>>f.A&1 == 1 })
	return sc
}

func TestConnectedMajorityRunsEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(t, drawHealing(rt))
		for _, problem := range []string{problems(w), w.lost(), w.disagree(), w.unrecorded(w.sc.Length + 2*time.Second)} {
			if problem != "" {
				rt.Fatal(problem + "\n" + w.explain())
			}
		}
	})
}

// A run is its scenario and nothing else.
func TestARunIsItsScenario(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawScenario(rt)
		a, b := &world{sc: sc, verbose: true}, &world{sc: sc, verbose: true}
		for _, w := range []*world{a, b} {
			synctest.Test(t, func(*testing.T) { w.live() })
		}
		if a.ledger.trace != b.ledger.trace {
			rt.Fatalf("two runs of one scenario differ: %s\n%s", firstDifference(a.ledger.story, b.ledger.story), a.explain())
		}
	})
}

// firstDifference shows where two stories part.
func firstDifference(a, b []string) string {
	slices.Sort(a)
	slices.Sort(b)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("\n%s\nor\n%s", strings.Join(a[max(0, i-14):min(len(a), i+5)], "\n"), strings.Join(b[max(0, i-14):min(len(b), i+5)], "\n"))
		}
	}
	return fmt.Sprintf("%d and %d events", len(a), len(b))
}
