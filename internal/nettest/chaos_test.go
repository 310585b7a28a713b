package nettest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// How long faults go on if YACRON2_NETCHAOS_TIME does not say. Longer times are rounds of
// this length, each of which ends with an account.
const chaosTime = 3 * time.Minute

// TestChaos cuts networks and harms agents at random, any number of them at a time. No
// firing of the Leader job runs twice, and each that does not run is explained by a
// record on some node. YACRON2_NETCHAOS_SEED repeats a run's faults.
func TestChaos(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size    int
		durable bool
	}{{3, false}, {5, true}} {
		t.Run(fmt.Sprintf("nodes=%d/durable=%t", c.size, c.durable), func(t *testing.T) {
			t.Parallel()
			chaos(t, testcluster.Options{Names: netcluster.Names(c.size), Durable: c.durable}, false)
		})
	}
}

// TestChaosWithLoss is TestChaos where packets get lost at random and cables are thin, too.
// Then no firing runs twice; what else becomes of it is only shown.
func TestChaosWithLoss(t *testing.T) {
	t.Parallel()
	chaos(t, testcluster.Options{Names: netcluster.Names(3)}, true)
}

func chaos(t *testing.T, o testcluster.Options, lossy bool) {
	duration, seed := setting(t)
	t.Logf("faults of seed %d for %v", seed, duration)
	c := start(t, o)
	w := c.Watch(leaderJob)
	defer w.Stop()
	m := &monkey{
		Cluster: c, watch: w, rand: rand.New(rand.NewPCG(seed, uint64(len(c.Nodes)))),
		thin: map[string]bool{}, count: map[string]int{},
	}
	for n := range c.Nodes {
		m.victims = append(m.victims, &victim{Node: c.Nodes[n]})
	}
	acts := m.acts(lossy)
	for end := time.Now().Add(duration); time.Now().Before(end); {
		from := testcluster.NextSecond()
		m.play(acts, min(chaosTime, time.Until(end)))
		m.heal()
		c.AwaitAgreement(c.Nodes[0].NodeName)
		testcluster.Eventually(t, "the first leader's runs", c.Journal.RanOn(leaderJob, c.Nodes[0].NodeName, testcluster.NextSecond()))
		t.Logf("faults: %v", m.count)
		if lossy {
			balance(t, w, from)
		} else {
			mustBalance(t, w, from)
		}
		if t.Failed() {
			return
		}
	}
}

// setting reads how long and with what seed.
func setting(t *testing.T) (duration time.Duration, seed uint64) {
	t.Helper()
	duration = chaosTime
	var err error
	if v := os.Getenv("YACRON2_NETCHAOS_TIME"); v != "" {
		if duration, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	if v := os.Getenv("YACRON2_NETCHAOS_SEED"); v != "" {
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	return duration, seed
}

// monkey does harm to a cluster.
type monkey struct {
	*netcluster.Cluster
	watch   *netcluster.Watch
	rand    *rand.Rand
	victims []*victim
	thin    map[string]bool // cables, by node
	count   map[string]int  // faults by kind
}

// victim is an agent to which harm is done.
type victim struct {
	*testcluster.Node
	frozen   time.Time // until when; zero if it is not
	stopping bool      // SIGTERM was sent
}

// away reports whether harm was done to the agent and has not ended.
func (v *victim) away() bool { return !v.frozen.IsZero() || v.stopping || !v.Running() }

// mend brings an agent back.
func (v *victim) mend(w *netcluster.Watch) {
	switch {
	case !v.frozen.IsZero():
		w.Thaw(v.Node)
		v.frozen = time.Time{}
	case v.stopping:
		v.AwaitExit()
		v.stopping = false
		w.Start(v.Node)
	case !v.Running():
		w.Start(v.Node)
	}
}

// acts returns the kinds of harm, in a fixed order.
func (m *monkey) acts(lossy bool) []act {
	net := m.Net
	all := []act{
		{"isolated", func() { net.Isolate(m.some(1)...) }},
		{"split", func() { net.Isolate(m.some(len(m.Nodes) / 2)...) }},
		{"cut", func() { two := m.some(2); net.Cut(two[0], two[1]) }},
		{"cut one way", func() { two := m.some(2); net.CutOneWay(two[0], two[1]) }},
		{"deaf", func() { // it is heard and hears nothing
			one := m.some(1)[0]
			for _, n := range m.Nodes {
				if n.NodeName != one {
					net.CutOneWay(n.NodeName, one)
				}
			}
		}},
		{"healed", net.Heal}, {"healed", net.Heal}, {"healed", net.Heal},
		{"killed", func() { m.harm(func(v *victim) { m.watch.Kill(v.Node) }) }},
		{"stopped", func() { m.harm(func(v *victim) { m.watch.Terminate(v.Node); v.stopping = true }) }},
		{"frozen", func() {
			m.harm(func(v *victim) {
				m.watch.Freeze(v.Node)
				v.frozen = time.Now().Add(time.Duration(m.rand.IntN(10_000)) * time.Millisecond)
			})
		}},
	}
	if !lossy {
		return all
	}
	lose := act{"lossy", func() { net.Lose(m.some(1)[0], 30) }}
	thin := act{"thin", func() {
		name := m.some(1)[0]
		if m.thin[name] {
			net.Widen(name)
			delete(m.thin, name)
		} else if net.Thin(name, 64) {
			m.thin[name] = true
		}
	}}
	return append(all, lose, lose, thin)
}

// act is one kind of harm.
type act struct {
	name string
	do   func()
}

// some returns the names of that many nodes.
func (m *monkey) some(n int) []string {
	var names []string
	for _, i := range m.rand.Perm(len(m.Nodes))[:n] {
		names = append(names, m.Nodes[i].NodeName)
	}
	return names
}

// harm does harm to an agent, or brings back one that is away. Mostly there is a
// majority of agents, but not always.
func (m *monkey) harm(do func(v *victim)) {
	v := m.victims[m.rand.IntN(len(m.victims))]
	for _, other := range m.victims {
		if other.away() && m.rand.IntN(4) > 0 {
			v = other
		}
	}
	switch {
	case !v.away():
		do(v)
	case v.frozen.IsZero() || time.Now().After(v.frozen):
		v.mend(m.watch)
	}
}

// play does harm at random moments for some time.
func (m *monkey) play(acts []act, duration time.Duration) {
	end := time.NewTimer(duration)
	defer end.Stop()
	for {
		select {
		case <-time.After(time.Duration(m.rand.IntN(2500)) * time.Millisecond):
			a := acts[m.rand.IntN(len(acts))]
			m.count[a.name]++
			a.do()
		case <-end.C:
			return
		}
	}
}

// heal ends all harm.
func (m *monkey) heal() {
	m.Net.Heal()
	for name := range m.thin {
		m.Net.Widen(name)
		delete(m.thin, name)
	}
	for _, v := range m.victims {
		v.mend(m.watch)
	}
}
