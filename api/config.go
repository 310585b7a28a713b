package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// The states of the configuration.
const (
	ConfigLoaded = "loaded" // what the files say is in effect
	ConfigFailed = "failed" // the newest files have errors, and an older configuration is in effect
)

// ConfigStatus is the answer to GET /config/status and to POST /reload: what became of
// the newest attempt to load the configuration.
type ConfigStatus struct {
	State string `json:"state"`
	// Trigger says what asked for the newest attempt: start, signal, api, file, check.
	Trigger  string    `json:"trigger"`
	At       Instant   `json:"at"`        // of the newest attempt
	LoadedAt Instant   `json:"loaded_at"` // since when the configuration in effect is
	JobSetID string    `json:"job_set_id"`
	Jobs     int       `json:"jobs"`
	Reloads  int       `json:"reloads"`  // successful ones since the start
	Failures int       `json:"failures"` // failed ones since the start
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`
}

// Problem is one error or warning of the configuration.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // from 1; absent: the file as a whole
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Job     string `json:"job,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`   // what to write instead
	Source  string `json:"source,omitempty"` // the line, secrets masked
}

// configStatusWire is ConfigStatus without its methods.
type configStatusWire ConfigStatus

// MarshalJSON implements json.Marshaler. Lists are never null.
func (s ConfigStatus) MarshalJSON() ([]byte, error) {
	s.Errors, s.Warnings = orEmpty(s.Errors), orEmpty(s.Warnings)
	return encode(configStatusWire(s))
}

// ConfigStatus returns what became of the newest attempt to load the configuration.
func (c *Client) ConfigStatus(ctx context.Context) (ConfigStatus, error) {
	return get[ConfigStatus](ctx, c, "/config/status")
}

// Reload asks the agent to read its configuration again. Files with errors are no error
// here: the status then says ConfigFailed and what is wrong, and nothing has changed.
func (c *Client) Reload(ctx context.Context) (ConfigStatus, error) {
	body, err := c.do(ctx, http.MethodPost, "/reload", "application/json")
	var refused *Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusUnprocessableEntity {
		body, err = []byte(refused.Body), nil
	}
	if err != nil {
		return ConfigStatus{}, err
	}
	var status ConfigStatus
	if err := json.Unmarshal(body, &status); err != nil {
		return ConfigStatus{}, fmt.Errorf("%s/reload: %w: %w", c.address, ErrNotAgent, err)
	}
	return status, nil
}
