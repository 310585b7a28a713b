package agent

import (
	"net/http"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/gossip"
)

// fleetTeller is a backend that knows what runs on the other nodes.
type fleetTeller interface {
	Fleet() []gossip.FleetNode
}

var _ fleetTeller = gossipBackend{}

// fleet returns what the running backend knows of the jobs of all nodes, this one
// first; false without a backend that does.
func (c *coordination) fleet() ([]gossip.FleetNode, bool) {
	c.mu.Lock()
	b := c.current
	c.mu.Unlock()
	teller, ok := b.(fleetTeller)
	if !ok {
		return nil, false
	}
	return teller.Fleet(), true
}

// fleet tells of the jobs of all nodes as they last told them. Nobody is asked for it.
func (a *httpAPI) fleet(w http.ResponseWriter, r *http.Request) {
	a.largeJSON(w, r, func() any { return a.apiFleet() })
}

func (a *httpAPI) apiFleet() api.Fleet {
	nodes, ok := a.coordination.fleet()
	view, s := a.coordination.View(), a.settings()
	if !ok || view == nil || s.cluster == nil || s.cluster.Gossip == nil {
		return api.Fleet{}
	}
	answer := api.Fleet{
		Enabled:      true,
		Backend:      view.Backend(),
		NodeName:     view.NodeName(),
		Distribution: string(view.Distribution()),
		ElectLeader:  view.ElectLeader(),
		Interval:     int(s.cluster.Gossip.Interval.Seconds()),
	}
	for _, n := range nodes {
		answer.Nodes = append(answer.Nodes, apiFleetNode(n))
	}
	return answer
}

func apiFleetNode(n gossip.FleetNode) api.FleetNode {
	out := api.FleetNode{
		NodeName: api.NullString(n.NodeName), Host: api.NullString(n.Host), Self: n.Self,
		Status: string(n.Status), AsOf: api.At(n.AsOf), Truncated: n.Truncated,
	}
	if n.Jobs != nil {
		out.Jobs = make(map[string]api.JobSummary, len(n.Jobs))
	}
	for name, j := range n.Jobs {
		summary := api.JobSummary{Running: j.Running, Enabled: j.Enabled, ScheduledIn: j.ScheduledIn}
		if last := j.Last; last != nil {
			summary.Last = &api.LastSummary{
				Outcome: api.NullString(last.Outcome), FinishedAt: api.NullString(last.FinishedAt),
				Duration: last.Duration, ExitCode: last.ExitCode,
			}
		}
		out.Jobs[name] = summary
	}
	return out
}
