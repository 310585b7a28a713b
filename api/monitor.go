package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// LogLevels lists the levels of an agent's own log, from the one that tells most.
func LogLevels() []string { return []string{"trace", "debug", "info", "warn", "error"} }

// AgentLine is one line of an agent's own log.
type AgentLine struct {
	// ID lets a client go on after this line, see MonitorFilter. It is not part of the
	// data.
	ID string `json:"-"`

	At        Instant           `json:"at"`
	Level     string            `json:"level"`
	Component string            `json:"component"` // of the agent; "" for none in particular
	Message   string            `json:"message"`
	Fields    map[string]string `json:"fields,omitempty"`
	// Lost is set where lines are missing and this one stands in their place: how many
	// they are, of whatever level, 0 if nobody knows.
	Lost *int `json:"lost,omitempty"`
}

// MonitorFilter says which lines to follow.
type MonitorFilter struct {
	Level string // the lowest; "": info
	Last  int    // so many of the lines before now come first, as far as they are kept
	// After goes on after the line of that ID, as far as the agent still has what
	// followed it; Last counts for nothing then.
	After string
}

// Monitor follows the agent's own log, which takes a token that may operate. It returns
// when take fails, with ctx, or when the agent goes away, and never without an error.
func (c *Client) Monitor(ctx context.Context, filter MonitorFilter, take func(AgentLine) error) error {
	query := url.Values{}
	if filter.Level != "" {
		query.Set("level", filter.Level)
	}
	if filter.Last > 0 && filter.After == "" {
		query.Set("last", strconv.Itoa(filter.Last))
	}
	path := "/monitor"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.events(ctx, path, filter.After, func(m message) error {
		var line AgentLine
		if err := json.Unmarshal(m.data, &line); err != nil {
			return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
		}
		line.ID = m.id
		return take(line)
	})
}
