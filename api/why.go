package api

import (
	"context"
	"net/url"
	"time"
)

// Why is the answer to GET /jobs/{name}/why: what became of the job's recent firings on
// the answering node, and what would become of one that was due now.
type Why struct {
	Name string `json:"name"`
	Node string `json:"node"`
	// Now is the verdict on a firing due now; absent if the question names an instant.
	Now *WhyNow `json:"now,omitempty"`
	// Decisions are the verdicts that the answering node remembers, oldest first.
	Decisions []Decision `json:"decisions"`
	// Missed are the recorded losses, oldest first.
	Missed []Missed `json:"missed"`
	// Runs are the recorded runs, oldest first.
	Runs []Run `json:"runs"`
}

// WhyNow is the verdict on a firing that was due now.
type WhyNow struct {
	Action string     `json:"action"` // run or skip
	Code   string     `json:"code"`
	Reason string     `json:"reason"`
	Owner  NullString `json:"owner"` // node that would run it, as far as known
}

// Decision is what became of one firing, or of several in a row that went alike.
type Decision struct {
	First   Instant    `json:"first"`  // oldest of the row; null for @reboot
	Firing  Instant    `json:"firing"` // newest of the row
	Count   int        `json:"count"`
	At      Instant    `json:"at"` // when the newest was decided
	Trigger string     `json:"trigger"`
	Outcome string     `json:"outcome"` // run, skipped, pending, denied, missed, deferred, abandoned, retired
	Code    string     `json:"code"`
	Reason  string     `json:"reason"`
	Owner   NullString `json:"owner"`
}

// whyWire is Why without its methods.
type whyWire Why

// MarshalJSON implements json.Marshaler. Lists are never null.
func (w Why) MarshalJSON() ([]byte, error) {
	w.Decisions, w.Missed, w.Runs = orEmpty(w.Decisions), orEmpty(w.Missed), orEmpty(w.Runs)
	return encode(whyWire(w))
}

// Why asks what became of a job's firings; a zero instant asks for all that is known.
func (c *Client) Why(ctx context.Context, job string, at time.Time) (Why, error) {
	path := jobPath(job, "why")
	if !at.IsZero() {
		path += "?at=" + url.QueryEscape(at.UTC().Format(time.RFC3339Nano))
	}
	return get[Why](ctx, c, path)
}
