package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrNotAgent says that something answered, but not in the words of an agent.
var ErrNotAgent = errors.New("not the answer of a yacron2 agent")

// ErrorBody is the JSON form of an error answer.
type ErrorBody struct {
	Error string `json:"error"`
}

// Error is an answer of an agent that is not a success.
type Error struct {
	Method, Path string
	StatusCode   int
	Body         string // text of the answer, at most 64 KiB
}

// Error returns what the agent said, or what its status code stands for.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %s (%d)", e.Method, e.Path, e.Message(), e.StatusCode)
}

// Message returns the reason the agent gave, in one line.
func (e *Error) Message() string {
	text := strings.TrimSpace(e.Body)
	var body ErrorBody
	if json.Unmarshal([]byte(text), &body) == nil && body.Error != "" {
		text = body.Error
	}
	// The text form of the router's own errors repeats the status code.
	text = strings.TrimPrefix(text, fmt.Sprintf("%d: ", e.StatusCode))
	if text == "" {
		text = http.StatusText(e.StatusCode)
	}
	return strings.Join(strings.Fields(text), " ")
}

// StatusOf returns the status code of the answer that err reports, 0 if err is not an
// *Error.
func StatusOf(err error) int {
	var answer *Error
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// UnreachableError says that nobody answered at an address.
type UnreachableError struct {
	Address string
	Err     error
	// Began says that the answer, a stream, had begun: the agent was there, and went
	// away.
	Began bool
}

// Error names the address and what went wrong there.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no agent answers at %s: %v", e.Address, e.Err)
}

// Unwrap returns the error of the connection.
func (e *UnreachableError) Unwrap() error { return e.Err }
