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

// The reasons of an end that is not the end of a run.
const (
	LogEndNoOutput = "no-output" // the job has never run
	LogEndRunning  = "running"   // the run goes on, but only what there was was asked for
)

// LogLine is one captured line.
type LogLine struct {
	ID     string `json:"-"`      // to go on after it, see LogsAfter
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
	return c.LogsAfter(ctx, job, "", take)
}

// LogsAfter is Logs, but goes on after the line of that ID, if the newest run is still
// the one that it belongs to; "" begins with the lines that are kept.
func (c *Client) LogsAfter(ctx context.Context, job, id string, take func(LogLine) error) (LogEnd, error) {
	return c.logs(ctx, jobPath(job, "logs"), id, take)
}

// LogsSoFar is Logs, but returns after the lines that are kept.
func (c *Client) LogsSoFar(ctx context.Context, job string, take func(LogLine) error) (LogEnd, error) {
	return c.logs(ctx, jobPath(job, "logs")+"?follow=false", "", take)
}

func (c *Client) logs(ctx context.Context, path, id string, take func(LogLine) error) (LogEnd, error) {
	var end LogEnd
	err := c.events(ctx, path, id, func(m message) error {
		switch m.name {
		case EventLine:
			line := LogLine{ID: m.id}
			if err := json.Unmarshal(m.data, &line); err != nil {
				return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
			}
			return take(line)
		case EventEnd:
			if err := json.Unmarshal(m.data, &end); err != nil {
				return fmt.Errorf("%s: %w: %w", c.address, ErrNotAgent, err)
			}
			return io.EOF
		}
		return nil // of a later version
	})
	return end, err
}

// message is one server-sent event.
type message struct {
	name, id string
	data     []byte
}

// events reads a stream of server-sent events, from the one after an id on, until take
// returns an error; io.EOF from take is the regular end.
func (c *Client) events(ctx context.Context, path, after string, take func(message) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
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
	var m message
	for scanner.Scan() {
		field, value, _ := bytes.Cut(scanner.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			m.name = string(value)
		case "id":
			m.id = string(value)
		case "data":
			m.data = append(m.data, value...)
		}
		if len(scanner.Bytes()) > 0 || m.data == nil {
			continue
		}
		err := take(m)
		m = message{id: m.id} // an id stands until the next one
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	err = scanner.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	err = c.unreachable(ctx, err)
	var gone *UnreachableError
	if errors.As(err, &gone) {
		gone.Began = true
	}
	return err
}
