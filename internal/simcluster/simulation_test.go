package simcluster

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// simTime is how long all properties together are looked at; YACRON2_SIM_TIME sets
// another time.
const simTime = time.Minute

// explore checks a property with batches of random runs, for its share of the time.
func explore(t *testing.T, share float64, property func(*rapid.T)) {
	total := simTime
	if text := os.Getenv("YACRON2_SIM_TIME"); text != "" {
		var err error
		if total, err = time.ParseDuration(text); err != nil {
			t.Fatalf("YACRON2_SIM_TIME: %v", err)
		}
	}
	end := time.Now().Add(time.Duration(share * float64(total)))
	seed := repeat(t)
	for i := 0; i == 0 || time.Now().Before(end); i++ {
		seed(i)
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, property) })
		if t.Failed() {
			return
		}
	}
}

// repeat gives each batch the seed that it has in every run of the tests, so that what
// fails fails again, unless the run is one that searches: with YACRON2_SIM_RANDOM, or with
// a seed of its own. It returns what to call before a batch.
func repeat(t *testing.T) func(batch int) {
	f := flag.Lookup("rapid.seed")
	if os.Getenv("YACRON2_SIM_RANDOM") != "" || f.Value.String() != "0" {
		return func(int) {}
	}
	set := func(seed int) {
		if err := f.Value.Set(strconv.Itoa(seed)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { set(0) })
	return func(batch int) { set(1_000_003 * (batch + 1)) }
}

// problems returns what a run must never show.
func problems(w *world) string { return strings.Join(w.ledger.problems, "\n") }

// judge fails a check with the first problem there is.
func judge(t *rapid.T, w *world, found ...string) {
	for _, problem := range append([]string{problems(w)}, found...) {
		if problem != "" {
			t.Fatal(problem + "\n" + w.explain())
		}
	}
}

func TestNoLeaderFiringRunsTwice(t *testing.T) {
	launched := 0
	explore(t, 0.4, func(rt *rapid.T) {
		w := simulate(t, drawAny(rt))
		launched += len(w.ledger.launches)
		judge(rt, w, w.oneShots())
	})
	if launched == 0 {
		t.Fatal("nothing ever ran: the simulation proves nothing")
	}
}

func TestConnectedMajorityRunsEverything(t *testing.T) {
	explore(t, 0.3, func(rt *rapid.T) {
		w := simulate(t, drawHealing(rt))
		judge(rt, w, w.lost(), w.disagree(), w.unrecorded(w.sc.Length+2*time.Second))
	})
}

func TestNodesComeAndGoWithoutLoss(t *testing.T) {
	explore(t, 0.2, func(rt *rapid.T) {
		w := simulate(t, drawChanges(rt))
		judge(rt, w, w.handedOver(), w.disagree(), w.unrecorded(w.sc.Length))
	})
}

func TestTwinsStandDown(t *testing.T) {
	explore(t, 0.1, func(rt *rapid.T) {
		w := simulate(t, drawTwins(rt))
		judge(rt, w, w.stoodDown())
	})
}

// A run is its scenario and nothing else, so that what fails can be looked at again. Only
// what goroutines of one node do at the very same instant has no order, which decides
// about one run in many.
func TestARunIsItsScenario(t *testing.T) {
	repeat(t)(0)
	const most = 10 // of a hundred
	differ, example := 0, ""
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawScenario(rt)
		a, b := &world{sc: sc, verbose: true}, &world{sc: sc, verbose: true}
		for _, w := range []*world{a, b} {
			synctest.Test(t, func(*testing.T) { w.live() })
		}
		if a.ledger.trace != b.ledger.trace {
			differ++
			example = firstDifference(a.ledger.story, b.ledger.story) + "\n" + a.explain()
		}
	})
	if differ > most {
		t.Errorf("%d scenarios had two runs that differ, the last one: %s", differ, example)
	}
}

// firstDifference shows where two stories part.
func firstDifference(a, b []string) string {
	slices.Sort(a)
	slices.Sort(b)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			near := func(s []string) string { return strings.Join(s[max(0, i-10):min(len(s), i+5)], "\n") }
			return fmt.Sprintf("\n%s\nor\n%s", near(a), near(b))
		}
	}
	return fmt.Sprintf("%d and %d events", len(a), len(b))
}
