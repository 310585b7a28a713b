//go:build linux

package soak

import (
	"math/rand/v2"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// monkey does harm to agents.
type monkey struct {
	rand    *rand.Rand
	watch   *netcluster.Watch
	victims []*victim
	jobs    []testcluster.Job
	version int            // of the configuration
	count   map[string]int // faults by kind
}

type victim struct {
	*testcluster.Node
	frozen   bool
	stopping bool // SIGTERM was sent
	// steady agents are frozen and reloaded, but never ended: what they hold can be
	// compared over the whole time.
	steady bool
}

// away reports whether harm was done to the agent and has not ended.
func (v *victim) away() bool { return v.frozen || v.stopping || !v.Running() }

// pause is the time to the next act.
func (m *monkey) pause() time.Duration {
	return time.Duration(m.rand.IntN(6000)) * time.Millisecond
}

// act does harm to one agent, or ends the harm that was done to it. Mostly it brings
// back one of those that are away before it takes the next.
func (m *monkey) act() {
	v := m.victims[m.rand.IntN(len(m.victims))]
	for _, other := range m.victims {
		if other.away() && m.rand.IntN(4) > 0 {
			v = other
		}
	}
	if v.away() {
		m.mend(v)
		return
	}
	switch m.rand.IntN(4) {
	case 0:
		if !v.steady {
			m.watch.Kill(v.Node)
			m.count["killed"]++
		}
	case 1:
		// What it skipped because of a run of its own is in its memory alone. One that
		// does not answer is too young to know the signal.
		if v.steady || m.watch.LookAt(v.Node) != nil {
			return
		}
		m.watch.Terminate(v.Node)
		v.stopping = true
		m.count["stopped"]++
	case 2:
		m.watch.Freeze(v.Node)
		v.frozen = true
		m.count["frozen"]++
	default:
		m.reload()
	}
}

// reload changes the jobs of all agents, one after the other. Those that do not run find
// the change when they start.
func (m *monkey) reload() {
	m.version++
	m.count["reloaded"]++
	all := changed(m.jobs, m.version)
	for _, i := range m.rand.Perm(len(m.victims)) {
		v := m.victims[i]
		v.WriteJobs(all...)
		if _, err := v.Cluster(); err == nil {
			v.Reload() // one that does not answer may not know the signal yet
		}
	}
}

// mend brings an agent back.
func (m *monkey) mend(v *victim) {
	switch {
	case v.frozen:
		m.watch.Thaw(v.Node)
		v.frozen = false
	case v.stopping:
		v.AwaitExit()
		v.stopping = false
		m.watch.Start(v.Node)
	case !v.Running():
		m.watch.Start(v.Node)
	}
}

// play does harm at random moments for some time, and then ends all of it.
func (m *monkey) play(duration time.Duration) {
	end := time.NewTimer(duration)
	defer end.Stop()
	next := time.After(m.pause())
	for {
		select {
		case <-next:
			m.act()
			next = time.After(m.pause())
		case <-end.C:
			for _, v := range m.victims {
				m.mend(v)
			}
			return
		}
	}
}
