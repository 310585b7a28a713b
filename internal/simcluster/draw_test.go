package simcluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/simfault"
)

func drawMillis(t *rapid.T, label string, low, high int) time.Duration {
	return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
}

// drawScenario draws a run in which anything goes wrong.
func drawScenario(t *rapid.T) scenario {
	sc := scenario{
		N:       rapid.SampledFrom([]int{3, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9}).Draw(t, "nodes"),
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
	sc.Offsets = drawClocks(t, sc.N)
	for range rapid.IntRange(0, 12).Draw(t, "faults") {
		sc.Faults = append(sc.Faults, drawFault(t, sc))
	}
	return sc
}

// farOff is how far a clock may be from the truth, so that no two are more than two
// seconds apart.
const farOff = 990

func drawClocks(t *rapid.T, n int) (offsets []time.Duration) {
	for i := range n {
		offsets = append(offsets, drawMillis(t, fmt.Sprintf("clock %d", i), -farOff, farOff))
	}
	return offsets
}

func drawFault(t *rapid.T, sc scenario) simfault.Fault {
	f := simfault.Fault{
		Kind: simfault.Kind(rapid.IntRange(0, int(simfault.Kinds)-1).Draw(t, "kind")),
		A:    rapid.IntRange(0, sc.N-1).Draw(t, "a"),
		B:    rapid.IntRange(1, max(sc.N-1, 1)).Draw(t, "b"),
		Mask: rapid.UintRange(1, 1<<sc.N-1).Draw(t, "side"),
		At:   drawMillis(t, "at", 0, int(sc.Length/time.Millisecond)-100),
		Last: rapid.SampledFrom([]time.Duration{50, 200, 1000, 5000}).Draw(t, "last") * time.Millisecond,
	}
	f.B = (f.A + f.B) % sc.N // another one, if there is one
	f.Last = min(f.Last, sc.Length-f.At)
	switch f.Kind {
	case simfault.Name:
		// One name at a time: what names say is a part of the membership.
		f.A = int(sc.Seed % uint64(sc.N))
		f.B = (f.A + 1 + f.B%max(sc.N-1, 1)) % sc.N
	case simfault.Clock:
		// As far as it may be from the truth, to either side.
		offset := sc.Offsets[f.A]
		f.By = rapid.SampledFrom([]time.Duration{-farOff, farOff}).Draw(t, "by")*time.Millisecond - offset
	case simfault.Reload, simfault.Roll:
		f.Version = rapid.IntRange(0, versions-1).Draw(t, "version")
	}
	return f
}

// drawRestarts draws a run in which processes die and come back all the time, while
// their clocks are as far apart as they may be: what the fence is for.
func drawRestarts(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(2, 4).Draw(t, "few nodes")
	sc.Free, sc.Loss, sc.Delay = 1<<9-1, 0, 20*time.Millisecond
	sc.Durable = rapid.SampledFrom([]uint{0, 1<<9 - 1}).Draw(t, "all durable")
	sc.Offsets, sc.Faults = nil, nil
	for i := range sc.N {
		sc.Offsets = append(sc.Offsets, rapid.SampledFrom([]time.Duration{-farOff, farOff}).Draw(t, fmt.Sprintf("clock %d", i))*time.Millisecond)
	}
	for range rapid.IntRange(4, 24).Draw(t, "crashes") {
		sc.Faults = append(sc.Faults, simfault.Fault{
			Kind: simfault.Crash,
			A:    rapid.IntRange(0, sc.N-1).Draw(t, "a"),
			At:   drawMillis(t, "at", 2000, 11900),
			Last: drawMillis(t, "last", 10, 300),
		})
	}
	return sc
}

// drawStepBack draws a run in which some clocks go back by more than the age of a vote.
// Lives without durable votes don't end in it: what they forget, no fence at a moved clock
// can tell.
func drawStepBack(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(1, 4).Draw(t, "few nodes")
	sc.Offsets, sc.Faults = drawClocks(t, sc.N), nil
	sc.Free, sc.Loss, sc.Delay = 1<<9-1, 0, min(sc.Delay, 100*time.Millisecond)
	sc.StepBack = 1<<sc.N - 1
	if rapid.Bool().Draw(t, "some clocks only") {
		sc.StepBack = rapid.UintRange(1, 1<<sc.N-1).Draw(t, "clocks that go back")
	}
	for range rapid.IntRange(0, 4).Draw(t, "reloads") {
		f := drawFault(t, sc)
		if f.Kind == simfault.Crash && sc.Durable>>f.A&1 == 1 || f.Kind == simfault.Cut || f.Kind == simfault.Freeze {
			sc.Faults = append(sc.Faults, f)
		}
	}
	return sc
}

// drawWildClocks draws a run in which clocks are anywhere. No process that forgets its
// votes dies in it: only the fence rests on clocks.
func drawWildClocks(t *rapid.T) scenario {
	sc := drawScenario(t)
	for i := range sc.Offsets {
		sc.Offsets[i] = drawMillis(t, "clock", -30000, 30000)
	}
	for i := range sc.Faults {
		switch f := &sc.Faults[i]; f.Kind {
		case simfault.Clock:
			f.By = drawMillis(t, "by", -30000, 30000)
		case simfault.Crash, simfault.Grant, simfault.Stop:
			sc.Durable |= 1 << f.A
		}
	}
	return sc
}

// drawResize draws a run in which a machine comes or goes while everything goes wrong.
func drawResize(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(2, 6).Draw(t, "nodes before")
	sc.Offsets, sc.Faults = drawClocks(t, sc.N+1), nil
	for range rapid.IntRange(0, 8).Draw(t, "faults") {
		if f := drawFault(t, sc); f.Kind != simfault.Name {
			sc.Faults = append(sc.Faults, f)
		}
	}
	sc.Resize = resize{By: rapid.SampledFrom([]int{-1, 1}).Draw(t, "by"),
		At: drawMillis(t, "from", 1000, 6000), Gap: drawMillis(t, "gap", 10, 1500)}
	return sc
}

// drawJoiners draws a run in which machines come, with a list of all, that the others do
// not list: a configuration that was changed at the wrong end.
func drawJoiners(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(3, 5).Draw(t, "nodes before")
	sc.Joiners = rapid.IntRange(1, sc.N-1).Draw(t, "joiners")
	sc.Offsets, sc.Faults, sc.Loss = drawClocks(t, sc.machines()), nil, 0
	sc.Delay = min(sc.Delay, 100*time.Millisecond)
	sc.Free = 1<<9 - 1
	return sc
}

// drawTwins draws a run in which two machines bear one name.
func drawTwins(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(2, 5).Draw(t, "nodes with a twin")
	sc.Offsets, sc.Faults, sc.Free = drawClocks(t, sc.N), nil, 0
	sc.Twin = true
	sc.Loss, sc.Delay = 0, 2*time.Millisecond
	return sc
}

// drawNames draws a run in which the name of one machine leads to another one for long.
func drawNames(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(4, 6).Draw(t, "nodes with names")
	sc.Offsets, sc.Faults, sc.Loss = drawClocks(t, sc.N), nil, 0
	sc.Delay = min(sc.Delay, 100*time.Millisecond)
	sc.Free = 1<<9 - 1
	f := drawFault(t, sc)
	f.Kind, f.B, f.At, f.Last = simfault.Name, (f.A+1+f.B%(sc.N-1))%sc.N, 0, sc.Length
	sc.Faults = append(sc.Faults, f)
	return sc
}

// drawFreezes draws a run in which processes are frozen for longer than firings may be
// late, in the middle of what they do.
func drawFreezes(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(1, 4).Draw(t, "few nodes")
	sc.Offsets, sc.Faults = make([]time.Duration, sc.N), nil
	sc.Loss, sc.Delay = 0, 100*time.Millisecond
	sc.Length = 16 * time.Second
	for i := range sc.N {
		at := time.Duration(rapid.SampledFrom([]int{4, 6}).Draw(t, "instant"))*time.Second + drawMillis(t, "after", 1, 100)
		sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Freeze, A: i, At: at, Last: drawMillis(t, "for", 8000, 10000)})
	}
	return sc
}

// drawReloads draws a run in which jobs are reloaded, and clocks go back over what was
// claimed, or nobody could claim anything for a while.
func drawReloads(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(1, 3).Draw(t, "few nodes")
	sc.Offsets, sc.Faults, sc.Free = make([]time.Duration, sc.N), nil, 0
	sc.Loss, sc.Delay = 0, 20*time.Millisecond
	at := drawMillis(t, "reload", 6000, 7000)
	sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Roll, Version: rapid.SampledFrom([]int{1, 3}).Draw(t, "version"), At: at, Last: 100 * time.Millisecond})
	if rapid.Bool().Draw(t, "clocks") {
		for i := range sc.N {
			sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Clock, A: i, By: -drawMillis(t, "by", 4000, 6000), At: at + drawMillis(t, "then", 200, 2000), Last: sc.Length})
		}
		return sc
	}
	for i := range sc.N {
		sc.Faults = append(sc.Faults, simfault.Fault{Kind: simfault.Partition, Mask: 1 << i, At: 3500 * time.Millisecond, Last: at - 3*time.Second})
	}
	return sc
}

// kinds are the kinds of runs, by name.
var kinds = map[string]func(*rapid.T) scenario{
	"any": drawScenario, "restarts": drawRestarts, "back": drawStepBack, "clocks": drawWildClocks, "resize": drawResize,
	"joiners": drawJoiners, "twins": drawTwins, "names": drawNames, "freezes": drawFreezes, "reloads": drawReloads,
}

// drawAny draws a run of any kind, or of that which a mutant is looked for with.
func drawAny(t *rapid.T) scenario {
	if draw := kinds[os.Getenv(kindVariable)]; draw != nil {
		return draw(t)
	}
	names := append(slices.Sorted(maps.Keys(kinds)), "any", "any")
	return kinds[rapid.SampledFrom(names).Draw(t, "kind of run")](t)
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
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f simfault.Fault) bool { return f.Kind == simfault.Name && sc.Gone>>f.A&1 == 1 })
	return sc
}

// drawChanges draws a run without faults in which nodes come and go one at a time, with
// time between.
func drawChanges(t *rapid.T) scenario {
	sc := drawScenario(t)
	sc.N = rapid.IntRange(3, 7).Draw(t, "enough nodes")
	sc.Orderly = true
	sc.Free, sc.Loss, sc.Delay = 0, 0, 20*time.Millisecond
	// Clocks agree: two nodes that both lead when it is the same time for them run a
	// PreferLeader job twice.
	sc.Offsets, sc.Faults = make([]time.Duration, sc.N), nil
	for i := range 3 {
		sc.Faults = append(sc.Faults, simfault.Fault{
			Kind: rapid.SampledFrom([]simfault.Kind{simfault.Stop, simfault.Stop, simfault.Crash, simfault.Grant}).Draw(t, "kind"),
			A:    rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "a"),
			At:   time.Duration(8+12*i)*time.Second + drawMillis(t, "at", 0, 2000),
			Last: 6 * time.Second,
		})
	}
	sc.Length = 44 * time.Second
	sc.Calm = simDeadline + 3*time.Second
	if sc.Long = rapid.Bool().Draw(t, "long runs"); sc.Long {
		// The first one to stop takes longer for it than firings may be late.
		sc.Faults = sc.Faults[:2]
		sc.Faults[0].Last, sc.Faults[1].At = 16*time.Second, sc.Faults[1].At+10*time.Second
	}
	return sc
}
