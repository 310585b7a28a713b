package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// How long TestChaos goes on if YACRON2_CHAOS_TIME does not say.
const chaosTime = 20 * time.Second

// TestChaos kills, stops and freezes agents at random, any number of them at a time,
// and lets them come back. Whatever happens, no firing of the Leader job runs twice,
// and when the faults end the cluster finds together again. YACRON2_CHAOS_SEED repeats
// a run's faults.
func TestChaos(t *testing.T) {
	t.Parallel()
	duration, seed := chaosTime, uint64(0)
	var err error
	if v := os.Getenv("YACRON2_CHAOS_TIME"); v != "" {
		if duration, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	if v := os.Getenv("YACRON2_CHAOS_SEED"); v != "" {
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("faults of seed %d for %v", seed, duration)

	c := testcluster.New(t, testcluster.Options{Jobs: ticks})
	c.Start()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)
	from := testcluster.NextSecond()

	m := monkey{rand: rand.New(rand.NewPCG(seed, 0)), count: map[string]int{}}
	for _, n := range c.Nodes {
		m.victims = append(m.victims, &victim{Node: n})
	}
	end := time.NewTimer(duration)
	defer end.Stop()
	for ended := false; !ended; {
		select {
		case <-time.After(m.pause()):
			m.act()
		case <-end.C:
			ended = true
		}
	}

	m.heal()
	c.AwaitAgreement("yacron-a")
	awaitLeaderRun(t, c)
	mustNotDouble(t, c, leaderJob)
	ran, lost := 0, 0
	for _, times := range c.Entries().Of(leaderJob).Times(from, time.Now().Add(-time.Second), time.Second) {
		if times > 0 {
			ran++
		} else {
			lost++
		}
	}
	t.Logf("faults %v; %d firings ran, %d did not", m.count, ran, lost)
	if ran == 0 {
		t.Error("no firing ran at all")
	}
}

// monkey does harm to agents.
type monkey struct {
	rand    *rand.Rand
	victims []*victim
	count   map[string]int // faults by kind
}

type victim struct {
	*testcluster.Node
	frozen   bool
	stopping bool // SIGTERM was sent
}

// pause is the time to the next act.
func (m *monkey) pause() time.Duration {
	return time.Duration(m.rand.IntN(1500)) * time.Millisecond
}

// act does harm to one agent, or ends the harm that was done to it. Mostly it brings
// back one of those that are away before it takes the next, so that there is often a
// majority, but not always.
func (m *monkey) act() {
	v := m.victims[m.rand.IntN(len(m.victims))]
	for _, other := range m.victims {
		if other.away() && m.rand.IntN(4) > 0 {
			v = other
		}
	}
	if v.away() {
		v.mend()
		return
	}
	switch m.rand.IntN(3) {
	case 0:
		v.Kill()
		m.count["killed"]++
	case 1:
		if _, err := v.Cluster(); err != nil {
			return // too young to know the signal
		}
		v.Signal(syscall.SIGTERM)
		v.stopping = true
		m.count["stopped"]++
	case 2:
		v.Pause()
		v.frozen = true
		m.count["frozen"]++
	}
}

// away reports whether harm was done to the agent and has not ended.
func (v *victim) away() bool { return v.frozen || v.stopping || !v.Running() }

// mend brings an agent back.
func (v *victim) mend() {
	switch {
	case v.frozen:
		v.Resume()
		v.frozen = false
	case v.stopping:
		v.AwaitExit()
		v.stopping = false
		v.Start()
	case !v.Running():
		v.Start()
	}
}

// heal brings all agents back.
func (m *monkey) heal() {
	for _, v := range m.victims {
		v.mend()
	}
}
