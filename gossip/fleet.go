package gossip

import (
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
	own, truncated := m.ownSummaries()
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

// ownSummaries returns this node's own jobs within the caps, as they are now.
func (m *Manager) ownSummaries() (map[string]JobSummary, bool) {
	if m.cfg.Summaries == nil || !m.enter() {
		return nil, false
	}
	defer m.leave()
	return capSummaries(m.cfg.Summaries())
}
