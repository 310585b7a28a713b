package api

import (
	"context"
	"net/url"
)

// SchedulePreview is the answer to GET /schedule/next: when a schedule that no job has
// would fire.
type SchedulePreview struct {
	Schedule string `json:"schedule"` // in single blanks; the map form as its fields
	// Canonical is the same for all spellings of one schedule; it is not meant to be parsed.
	Canonical string     `json:"canonical"`
	Timezone  NullString `json:"timezone"` // null: the agent does not know the name of its own
	Firings   []Firing   `json:"firings"`
	Warnings  []Problem  `json:"warnings"`   // key, message and hint
	Jobs      []string   `json:"jobs"`       // that have the same schedule in the same zone; the first 100
	JobsTotal int        `json:"jobs_total"` // how many there are
}

// schedulePreviewWire is SchedulePreview without its methods.
type schedulePreviewWire SchedulePreview

// MarshalJSON implements json.Marshaler. Lists are never null.
func (p SchedulePreview) MarshalJSON() ([]byte, error) {
	p.Firings, p.Warnings, p.Jobs = orEmpty(p.Firings), orEmpty(p.Warnings), orEmpty(p.Jobs)
	return encode(schedulePreviewWire(p))
}

// ScheduleError is the answer, with status 400, to GET /schedule/next for a schedule that no
// job could have.
type ScheduleError struct {
	Error string `json:"error"`
	// Problems are the single ones: the key that was given, where in its text, what is wrong
	// and what would be right.
	Problems []Problem `json:"problems,omitempty"`
}

// SchedulePreview returns when a schedule would fire. The query has what a job would say of
// it (schedule, or minute to year; timezone, utc, dayMatch), and n and from as for Next.
func (c *Client) SchedulePreview(ctx context.Context, query url.Values) (SchedulePreview, error) {
	return get[SchedulePreview](ctx, c, "/schedule/next?"+query.Encode())
}
