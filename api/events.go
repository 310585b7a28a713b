package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The kinds of events in GET /events.
const (
	EventRunStarted   = "run-started"
	EventRunFinished  = "run-finished"  // Run is set
	EventRunReplaced  = "run-replaced"  // by a newer run; there is no record of it
	EventRunAbandoned = "run-abandoned" // a retry was given up; Run is set
	EventMissed       = "missed"        // a firing did not run; Missed is set
	EventRole         = "role"          // leadership, quorum or a conflict changed; Role is set
	EventMember       = "member"        // a peer's status or clock changed; Member is set
	EventReload       = "reload"        // the configuration was read; Reload is set
	EventLost         = "lost"          // events are missing here; Lost is set
)

// EventKinds lists every kind.
func EventKinds() []string {
	return []string{
		EventRunStarted, EventRunFinished, EventRunReplaced, EventRunAbandoned, EventMissed,
		EventRole, EventMember, EventReload, EventLost,
	}
}

// Event is one thing that happened on the answering node. Its kind says which of the
// pointers is set.
type Event struct {
	// ID lets a client go on after this event, see EventFilter. It is not part of
	// the data.
	ID string `json:"-"`

	Kind string  `json:"kind"`
	At   Instant `json:"at"`
	Node string  `json:"node"`

	// About a run or a firing.
	Job       string  `json:"job,omitempty"`
	RunID     string  `json:"run_id,omitempty"`
	Trigger   string  `json:"trigger,omitempty"`
	Firing    Instant `json:"firing,omitzero"`
	Attempt   int     `json:"attempt,omitempty"`
	PID       int     `json:"pid,omitempty"`
	Permanent bool    `json:"permanent,omitempty"` // a failure, and no retry follows
	RetryAt   Instant `json:"retry_at,omitzero"`

	Run    *Run    `json:"run,omitempty"`
	Missed *Missed `json:"missed,omitempty"`
	Role   *Role   `json:"role,omitempty"`
	Member *Member `json:"member,omitempty"`
	Reload *Reload `json:"reload,omitempty"`
	// Lost is how many events are missing before the next one, 0 if nobody knows.
	Lost *int `json:"lost,omitempty"`
}

// Role is what this node is in its cluster.
type Role struct {
	Enabled  bool       `json:"enabled"` // a cluster takes part
	Leader   NullString `json:"leader"`
	IsLeader bool       `json:"is_leader"`
	Quorate  bool       `json:"quorate"`
	Conflict bool       `json:"conflict"`
	Stopping bool       `json:"stopping,omitempty"`

	ConflictNames       []string `json:"conflict_names,omitempty"`
	ConflictingSizes    []int    `json:"conflicting_sizes,omitempty"`
	ConflictingPolicies []string `json:"conflicting_policies,omitempty"`
	Error               string   `json:"error,omitempty"` // why a configured cluster does not take part
}

// Member is a peer whose status changed, or whose clock got too far off or came back.
type Member struct {
	Host      string     `json:"host"`
	NodeName  NullString `json:"node_name"`
	Status    string     `json:"status"`
	LastError NullString `json:"last_error"`
	Stopping  bool       `json:"stopping,omitempty"`
	Clock     *Clock     `json:"clock,omitempty"` // absent if it is not known
}

// Reload is what became of an attempt to load the configuration.
type Reload struct {
	State    string `json:"state"`   // loaded or failed
	Trigger  string `json:"trigger"` // what asked for it
	JobSetID string `json:"job_set_id"`
	Jobs     int    `json:"jobs"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
}

// EventFilter says which events to follow.
type EventFilter struct {
	Job   string   // "": of all jobs, and those that are of none
	Kinds []string // empty: all
	// After goes on after the event of that ID, as far as the agent still has what
	// followed it; "" begins with what happens from now on.
	After string
	// Last begins with so many of the newest events that the agent keeps, 4096 at
	// most, unless After is set.
	Last int
}

// Events follows what happens on the agent. It returns when take fails, with ctx, or
// when the agent goes away, and never without an error.
func (c *Client) Events(ctx context.Context, filter EventFilter, take func(Event) error) error {
	query := url.Values{}
	if filter.Job != "" {
		query.Set("job", filter.Job)
	}
	if len(filter.Kinds) > 0 {
		query.Set("kind", strings.Join(filter.Kinds, ","))
	}
	if filter.Last > 0 {
		query.Set("last", strconv.Itoa(filter.Last))
	}
	path := "/events"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.events(ctx, path, filter.After, func(m message) error {
		var event Event
		if err := json.Unmarshal(m.data, &event); err != nil {
			return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
		}
		event.ID = m.id
		return take(event)
	})
}
