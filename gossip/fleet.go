package gossip

import (
	"sync"
	"time"

	"github.com/yacron2/yacron2/election"
)

// FleetNode is one node in the picture of what ran where.
type FleetNode struct {
	NodeName string // "" if never reached
	Host     string // as configured; "" for this node
	Self     bool
	Status   election.Status
	AsOf     time.Time             // when its jobs were told; zero if never
	Jobs     map[string]JobSummary // nil: none told
	// Truncated: the node has more jobs than it told.
	Truncated bool
}

// Fleet returns this node first, then every peer in configured order with what it told
// last, its countdowns aged by this node's clock. Rows at which this process itself
// answers are left out; a process with two rows appears once.
func (m *Manager) Fleet() []FleetNode {
	now := time.Now()
	v := m.View()
	own, truncated := m.summaries()
	nodes := []FleetNode{{NodeName: v.NodeName(), Self: true, Status: election.StatusSelf, AsOf: now, Jobs: own, Truncated: truncated}}
	snapshots := m.table.snapshots()
	seen := map[string]bool{v.InstanceID(): true}
	for i, p := range v.Peers() {
		if p.Status == election.StatusSelf || (p.InstanceID != "" && seen[p.InstanceID]) {
			continue
		}
		seen[p.InstanceID] = true
		s := snapshots[i]
		nodes = append(nodes, FleetNode{
			NodeName: p.NodeName, Host: p.Host, Status: p.Status, AsOf: p.LastSeen,
			Jobs: aged(s.jobs, now.Sub(s.at)), Truncated: s.truncated,
		})
	}
	return nodes
}

// aged returns jobs with their countdowns lowered by age, not below zero.
func aged(jobs map[string]JobSummary, age time.Duration) map[string]JobSummary {
	if jobs == nil {
		return nil
	}
	out := make(map[string]JobSummary, len(jobs))
	for name, j := range jobs {
		if j.ScheduledIn != nil {
			rest := max(*j.ScheduledIn-age.Seconds(), 0)
			j.ScheduledIn = &rest
		}
		out[name] = j
	}
	return out
}

// summaries returns this node's own jobs within the caps.
func (m *Manager) summaries() (map[string]JobSummary, bool) {
	if m.cfg.Summaries == nil || !m.enter() {
		return nil, false
	}
	defer m.leave()
	return capSummaries(m.cfg.Summaries())
}

// stateFresh is how long an encoded state is served again: peers that ask at the same
// time get the same bytes.
const stateFresh = time.Second

// stateCache keeps the newest encoded state.
type stateCache struct {
	mu      sync.Mutex
	at      time.Time
	version uint64
	json    []byte
}

// stateJSON returns what this node tells its peers now.
func (m *Manager) stateJSON() []byte {
	c := &m.encoded
	c.mu.Lock()
	defer c.mu.Unlock()
	w, version := m.table.report()
	if c.json != nil && c.version == version && time.Since(c.at) < stateFresh {
		return c.json
	}
	jobs, truncated := m.summaries()
	if jobs != nil {
		w.Summaries = encodeSummaries(jobs)
	}
	w.SummariesTruncated = truncated
	data, err := w.encode()
	if err != nil {
		m.log.Error("the state of this node cannot be sent", "error", err)
		return c.json
	}
	c.json, c.version, c.at = data, version, time.Now()
	return data
}
