package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Health is the JSON answer to GET /health and GET /ready.
type Health struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"` // why not
}

// Ready asks whether the agent does its work. That it does not is an answer, no error.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	body, err := c.do(ctx, http.MethodGet, "/ready", "application/json")
	var refused *Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusServiceUnavailable {
		body, err = []byte(refused.Body), nil
	}
	var health Health
	if err != nil {
		return health, err
	}
	if err := json.Unmarshal(body, &health); err != nil {
		return health, fmt.Errorf("%s/ready: %w: %w", c.address, ErrNotAgent, err)
	}
	return health, nil
}
