package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The events of a log stream.
const (
	EventLine = "line"
	EventEnd  = "end"
)

// LogEndNoOutput is the reason of an end where the job has never run.
const LogEndNoOutput = "no-output"

// LogLine is one captured line.
type LogLine struct {
	Stream string `json:"stream"` // stdout or stderr
	Line   string `json:"line"`   // without the newline
}

// LogEnd tells that the run has no more output.
type LogEnd struct {
	Reason string `json:"reason,omitempty"`
}

// maxEventSize bounds one line of an event stream, in bytes.
const maxEventSize = 64 << 20

// Logs follows the output of the newest run of a job: first the lines that are kept,
// then those that come. It returns after the end of the run, when take fails, or with
// ctx.
func (c *Client) Logs(ctx context.Context, job string, take func(LogLine) error) (LogEnd, error) {
	var end LogEnd
	err := c.events(ctx, jobPath(job, "logs"), func(name string, data []byte) error {
		switch name {
		case EventLine:
			var line LogLine
			if err := json.Unmarshal(data, &line); err != nil {
				return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
			}
			return take(line)
		case EventEnd:
			if err := json.Unmarshal(data, &end); err != nil {
				return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
			}
			return io.EOF
		}
		return nil // of a later version
	})
	return end, err
}

// events reads a stream of server-sent events until take returns an error; io.EOF from
// take is the regular end.
func (c *Client) events(ctx context.Context, path string, take func(name string, data []byte) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorSize))
		return &Error{Method: http.MethodGet, Path: path, StatusCode: resp.StatusCode, Body: string(body)}
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return fmt.Errorf("%s%s: %w: no event stream", c.address, path, ErrNotAgent)
	}
	scanner := bufio.NewScanner(resp.Body)
	scanner.Buffer(nil, maxEventSize)
	var name string
	var data []byte
	for scanner.Scan() {
		field, value, _ := bytes.Cut(scanner.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			data = append(data, value...)
		}
		if len(scanner.Bytes()) > 0 || data == nil {
			continue
		}
		err := take(name, data)
		name, data = "", nil
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return c.unreachable(ctx, err)
	}
	return c.unreachable(ctx, io.ErrUnexpectedEOF)
}
