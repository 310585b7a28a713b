package agent

import (
	"reflect"
	"sync"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// eventsKept is how many of the newest events are kept.
const eventsKept = 4096

// happenings turns what the components tell into events of the API.
type happenings struct {
	node  string
	list  *feed
	state func() (*election.View, error) // of the cluster
	count func(*election.View)           // is told of every view

	mu      sync.Mutex // one comparison at a time
	role    api.Role   // as told last
	members map[string]api.Member
}

func newHappenings(node, instance string) *happenings {
	return &happenings{node: node, list: newFeed(instance[:8], eventsKept)}
}

// observe takes one event of the dispatcher.
func (h *happenings) observe(e scheduler.Event) {
	kind := ""
	switch e.Kind {
	case scheduler.RunStarted:
		kind = api.EventRunStarted
	case scheduler.RunFinished:
		kind = api.EventRunFinished
	case scheduler.RunReplaced:
		kind = api.EventRunReplaced
	case scheduler.RunAbandoned:
		kind = api.EventRunAbandoned
	case scheduler.FiringMissed:
		kind = api.EventMissed
	case scheduler.ViewChanged:
		h.viewChanged()
		return
	default:
		return
	}
	out := api.Event{
		Kind: kind, At: api.At(e.At), RunID: e.RunID, Trigger: string(e.Trigger), Firing: api.At(e.Firing),
		Attempt: e.Attempt, PID: e.PID, Permanent: e.Permanent, RetryAt: api.At(e.RetryAt),
	}
	if e.Job != nil {
		out.Job = e.Job.Name
	}
	if e.Run != nil {
		out.Run = new(apiRun(*e.Run))
	}
	if e.Missed != nil {
		out.Missed = new(apiMissed(*e.Missed))
	}
	h.tell(out)
}

func (h *happenings) tell(e api.Event) {
	e.Node = h.node
	h.list.add(told{kind: e.Kind, job: e.Job, wire: &wireValue{value: &e}})
}

// viewChanged tells what is new in the cluster since it was told last.
func (h *happenings) viewChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	view, failure := h.state()
	h.count(view)
	at := api.At(time.Now())
	if role := roleOf(view, failure); !reflect.DeepEqual(role, h.role) {
		h.role = role
		h.tell(api.Event{Kind: api.EventRole, At: at, Role: &role})
	}
	before := h.members
	h.members = make(map[string]api.Member)
	if view == nil {
		return
	}
	for _, p := range view.Peers() {
		m := api.Member{
			Host: p.Host, NodeName: api.NullString(p.NodeName), Status: string(p.Status),
			LastError: api.NullString(p.LastError), Stopping: p.Stopping, Clock: apiClock(p.Skew),
		}
		h.members[p.Host] = m
		// What an error says changes from attempt to attempt: its text alone is no news.
		// Nor is how far the clocks are apart, unless that begins or ends to matter.
		if old, ok := before[p.Host]; !ok || old.Status != m.Status || old.NodeName != m.NodeName || old.Stopping != m.Stopping ||
			clockOff(&old) != clockOff(&m) {
			h.tell(api.Event{Kind: api.EventMember, At: at, Member: &m})
		}
	}
}

// clockOff reports whether a peer's clock is known to be too far off.
func clockOff(m *api.Member) bool { return m.Clock != nil && m.Clock.Excessive }

// roleOf says what this node is in the cluster; a nil view is none.
func roleOf(v *election.View, failure error) api.Role {
	if v == nil {
		role := api.Role{}
		if failure != nil {
			role.Error = failure.Error()
		}
		return role
	}
	c := apiCluster(v)
	return api.Role{
		Enabled: true, Leader: c.Leader, IsLeader: c.IsLeader, Quorate: c.Quorate, Conflict: c.Conflict, Stopping: c.Stopping,
		ConflictNames: c.ConflictNames, ConflictingSizes: c.ConflictingSizes, ConflictingPolicies: c.ConflictingPolicies,
	}
}

// reloaded tells of an attempt to load the configuration;
// cfg is in effect.
func (h *happenings) reloaded(status loadStatus, cfg *config.Config) {
	out := &api.Reload{
		State: api.ConfigLoaded, Trigger: string(status.trigger), JobSetID: cfg.JobSetID, Jobs: len(cfg.Jobs),
		Errors: len(status.problems.Errors()), Warnings: len(status.problems.Warnings()),
	}
	if status.failure != nil {
		out.State, out.Errors = api.ConfigFailed, max(out.Errors, 1)
	}
	h.tell(api.Event{Kind: api.EventReload, At: api.At(status.at), Reload: out})
}
