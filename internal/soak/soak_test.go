//go:build linux

package soak

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

const (
	// round is how long faults go on before the books are closed: votes are kept for
	// ten minutes, so that an account must not reach back further.
	round = 3 * time.Minute
	// watchEvery is the pause between two questions about one job.
	watchEvery = 4 * time.Second
)

func TestSoak(t *testing.T) {
	duration, seed := setting(t)
	t.Logf("faults of seed %d for %v", seed, duration)
	var timings []netcluster.Timing
	var all []testcluster.Job
	c := testcluster.New(t, testcluster.Options{Durable: true, Jobs: func(j testcluster.Journal) []testcluster.Job {
		all, timings = plan(j)
		return changed(all, 0)
	}})
	c.Start()
	c.AwaitAgreement(c.Nodes[0].NodeName)

	var watched []string
	for _, timing := range timings {
		watched = append(watched, timing.Job)
	}
	w := netcluster.NewWatch(c, watchEvery, watched...)
	defer w.Stop()
	m := &monkey{rand: rand.New(rand.NewPCG(seed, 0)), watch: w, jobs: all, count: map[string]int{}}
	for i, n := range c.Nodes {
		m.victims = append(m.victims, &victim{Node: n, steady: i == 1})
	}
	notes := newNotes(c)
	defer func() { t.Logf("what agents held:\n%s", notes) }()
	sum := &total{causes: map[string]int{}}
	end := time.Now().Add(duration)
	// Two rounds at least: what agents hold is compared. The end of the first one may take
	// longer than it should, since jobs are waited for.
	for rounds := 0; (rounds < 2 || time.Now().Before(end)) && !t.Failed(); rounds++ {
		from := nextFiring()
		m.play(min(round, duration/2, time.Until(end)))
		c.AwaitAgreement(c.Nodes[0].NodeName)
		// All firings up to now are settled when their deadlines are over. And after a
		// cycle every agent has as many runs at a time as it will ever have.
		to := time.Now().UTC()
		notes.take(t, c, to.Add(cycle), to.Add(max(2*cycle, deadline+2*time.Second)))
		closeBooks(t, w, timings, from, to, sum)
		t.Logf("faults so far %v; firings %s", m.count, sum)
	}
	notes.mustBeFlat(t)
	mustHaveRun(t, c, all)
}

// setting reads how long and with what seed.
func setting(t *testing.T) (duration time.Duration, seed uint64) {
	t.Helper()
	v := os.Getenv("YACRON2_SOAK")
	if v == "" {
		t.Skip("only with YACRON2_SOAK=TIME, as make soak sets it: it takes minutes")
	}
	duration, err := time.ParseDuration(v)
	if err != nil {
		t.Fatal(err)
	}
	if v := os.Getenv("YACRON2_SOAK_SEED"); v != "" {
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	return duration, seed
}

// nextFiring is the next instant but for the coming seconds at which all jobs fire: what
// is due just after the very first start has no voters yet.
func nextFiring() time.Time {
	return time.Now().Add(5 * time.Second).Truncate(cycle).Add(cycle).UTC()
}

// total is what all accounts come to.
type total struct {
	firings, ran, lost int
	causes             map[string]int
}

func (s *total) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %d ran, %d did not", s.firings, s.ran, s.lost)
	for _, cause := range slices.Sorted(maps.Keys(s.causes)) {
		fmt.Fprintf(&b, "\n\t%5d  %s", s.causes[cause], cause)
	}
	return b.String()
}

// closeBooks accounts for all firings of a time. None may have run twice, and each that
// did not run must be explained.
func closeBooks(t *testing.T, w *netcluster.Watch, timings []netcluster.Timing, from, to time.Time, sum *total) {
	t.Helper()
	accounts, err := w.Accounts(from, to, timings...)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range accounts {
		b := a.Balance()
		sum.firings += b.Firings
		sum.ran += b.Ran
		sum.lost += len(b.Lost)
		for _, l := range b.Lost {
			sum.causes[cmp.Or(l.Kind(), "unexplained")]++
		}
		if len(b.Doubled) > 0 {
			t.Errorf("%s ran more than once: %v", timings[i].Job, b.Doubled)
		}
		if len(b.Outvoted) > 0 {
			t.Errorf("%s has firings with more than one majority: %v", timings[i].Job, b.Outvoted)
		}
		if lost := b.Unexplained(); len(lost) > 0 {
			t.Errorf("%s: %d firings are lost and nothing explains it: %v", timings[i].Job, len(lost), lost)
		}
	}
}

// mustHaveRun fails the test unless every job has run, and those of policy EveryNode on
// all nodes.
func mustHaveRun(t *testing.T, c *testcluster.Cluster, all []testcluster.Job) {
	t.Helper()
	entries := c.Entries()
	byJob := map[string]map[string]int{}
	for _, e := range entries {
		if byJob[e.Job] == nil {
			byJob[e.Job] = map[string]int{}
		}
		byJob[e.Job][e.Node]++
	}
	for _, j := range all {
		nodes := len(byJob[j.Name])
		if nodes == 0 || j.Policy == "EveryNode" && nodes != len(c.Nodes) {
			t.Errorf("%s has run on %d nodes", j.Name, nodes)
		}
	}
	t.Logf("%d runs in all", len(entries))
}
