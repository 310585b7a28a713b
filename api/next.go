package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Next is the answer to GET /jobs/{name}/next: the coming firings by the schedule alone,
// whatever cluster and pauses make of them.
type Next struct {
	Name     string     `json:"name"`
	Enabled  bool       `json:"enabled"`
	Schedule string     `json:"schedule"`
	Timezone NullString `json:"timezone"`
	Firings  []Firing   `json:"firings"`
	// ConcurrencyPolicy says what becomes of a firing while the job still runs: Allow,
	// Forbid or Replace; "" from an older agent.
	ConcurrencyPolicy string `json:"concurrencyPolicy"`
	// DayMatch says how the two day fields of the schedule combine: and, or; "" from an
	// older agent.
	DayMatch string `json:"dayMatch"`
}

// Firing is one coming firing.
type Firing struct {
	At    Instant    `json:"at"`
	Local string     `json:"local"` // RFC 3339 in the job's zone
	Note  NullString `json:"note"`  // what a change of the clock does to it
}

// nextWire is Next without its methods.
type nextWire Next

// MarshalJSON implements json.Marshaler. Lists are never null.
func (n Next) MarshalJSON() ([]byte, error) {
	n.Firings = orEmpty(n.Firings)
	return encode(nextWire(n))
}

// Next returns the next n firings of a job after an instant; the zero instant is now.
func (c *Client) Next(ctx context.Context, job string, n int, after time.Time) (Next, error) {
	query := url.Values{"n": {strconv.Itoa(n)}}
	if !after.IsZero() {
		query.Set("from", after.UTC().Format(time.RFC3339Nano))
	}
	return get[Next](ctx, c, jobPath(job, "next")+"?"+query.Encode())
}
