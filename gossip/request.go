package gossip

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The bounds of a request.
const (
	maxRequest     = 1 << 20 // bytes, and of an answer too
	maxRequests    = 4       // at a time, of one session
	requestTimeout = 5 * time.Second
)

// request is one question to a peer, on a stream of its own.
type request struct {
	Type    string     `json:"type"` // claim, sync or news
	Claim   *wireClaim `json:"claim,omitempty"`
	Version uint64     `json:"version,omitempty"` // sync, news
}

// response answers a request.
type response struct {
	Error  string      `json:"error,omitempty"`
	Answer *wireAnswer `json:"answer,omitempty"`
	News   *wireNews   `json:"news,omitempty"`
}

// The types of requests.
const (
	typeClaim = "claim" // grant these firings
	typeSync  = "sync"  // exchange with me until you have this version, then answer
	typeNews  = "news"  // I have this version of your state: is that still it?
)

// writeMessage sends v as a 32-bit big-endian length and its JSON.
func writeMessage(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxRequest {
		return fmt.Errorf("a message of %d bytes: at most %d are allowed", len(body), maxRequest)
	}
	frame := make([]byte, 4, 4+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body))) //nolint:gosec // at most maxRequest
	_, err = w.Write(append(frame, body...))
	return err
}

// readMessage reads the body of a message.
func readMessage(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n == 0 || n > maxRequest {
		return nil, fmt.Errorf("a message of %d bytes: at most %d are allowed", n, maxRequest)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// ask sends one request over a session and waits for the answer.
func ask(ctx context.Context, s *session, q *request) (*response, error) {
	stream, err := s.open(kindRequest)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	stream.budget = maxRequest + 4
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := writeMessage(stream, q); err != nil {
		return nil, because(ctx, s.explain(err))
	}
	body, err := readMessage(stream)
	if err != nil {
		return nil, because(ctx, s.explain(err))
	}
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if r.Error != "" {
		return nil, &refusedRequest{clean(r.Error)}
	}
	return &r, nil
}

// refusedRequest is the error that a peer answered with.
type refusedRequest struct{ text string }

func (e *refusedRequest) Error() string { return e.text }

// because prefers the end of the context as the reason of an error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
