package agent

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/yacron2/yacron2/api"
)

// How event streams are kept alive.
const (
	// pingInterval is the longest silence: proxies close what is silent longer.
	pingInterval = 15 * time.Second
	// streamWriteTimeout ends a stream whose reader has stopped reading.
	streamWriteTimeout = 30 * time.Second
)

// streamsContext is the key under which the context of a request holds the one that
// ends when the address is closed: open streams must not hold that up.
type streamsContext struct{}

// eventStream writes server-sent events.
type eventStream struct {
	ctx   context.Context // ends with the request, or with the address
	close func()
	w     http.ResponseWriter
	ctrl  *http.ResponseController
	buf   bytes.Buffer
}

// stream answers with the head of an event stream, which the caller must close.
func (a *httpAPI) stream(w http.ResponseWriter, r *http.Request) *eventStream {
	ctx, cancel := context.WithCancel(r.Context())
	s := &eventStream{ctx: ctx, close: cancel, w: w, ctrl: http.NewResponseController(w)}
	if address, ok := r.Context().Value(streamsContext{}).(context.Context); ok {
		detach := context.AfterFunc(address, cancel)
		s.close = func() { detach(); cancel() }
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // or nginx would collect the lines
	for _, header := range a.settings().headers {
		h.Set(header.Name, header.Value)
	}
	h.Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = s.ctrl.Flush()
	return s
}

// send writes events of one name, and hands them over at once.
func (s *eventStream) send(name string, events ...any) error {
	for _, event := range events {
		data, err := api.Marshal(event)
		if err != nil {
			return err
		}
		s.buf.WriteString("event: " + name + "\ndata: ")
		s.buf.Write(data)
		s.buf.WriteString("\n\n")
	}
	return s.flush()
}

// comment writes what readers ignore.
func (s *eventStream) comment(text string) error {
	s.buf.WriteString(": " + text + "\n\n")
	return s.flush()
}

func (s *eventStream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	defer s.buf.Reset()
	if err := s.ctrl.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil {
		return err
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.ctrl.Flush()
}
