package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Pause keeps a job from firing on one node. Manual starts work as ever.
type Pause struct {
	Since Instant    `json:"since"`
	Until Instant    `json:"until"` // null: until resumed
	Note  NullString `json:"note"`
	By    NullString `json:"by"`
}

// PauseRequest is the body of POST /jobs/{name}/pause. All of it may be left out.
type PauseRequest struct {
	// Seconds is how long; nil means an hour. At most 30 days.
	Seconds *float64 `json:"seconds,omitempty"`
	Note    string   `json:"note,omitempty"` // why, for people: at most 500 characters
	By      string   `json:"by,omitempty"`   // who; the name of the token by default. At most 100 characters
}

// Pause keeps a job from firing on the agent asked, in place of an earlier pause.
func (c *Client) Pause(ctx context.Context, job string, request PauseRequest) (Pause, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Pause{}, err
	}
	path := jobPath(job, "pause")
	data, err := c.send(ctx, http.MethodPost, path, "application/json", body)
	if err != nil {
		return Pause{}, err
	}
	var pause Pause
	if err := json.Unmarshal(data, &pause); err != nil {
		return Pause{}, fmt.Errorf("%s%s: %w: %w", c.address, path, ErrNotAgent, err)
	}
	return pause, nil
}

// Resume ends the pause of a job on the agent asked.
func (c *Client) Resume(ctx context.Context, job string) error {
	_, err := c.do(ctx, http.MethodPost, jobPath(job, "resume"), "")
	return err
}
