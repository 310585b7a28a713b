package agent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/yacron2/yacron2/api"
)

// How event streams are kept alive.
const (
	// pingInterval is the longest silence: proxies close what is silent longer.
	pingInterval = 15 * time.Second
	// writeTimeout ends an answer whose reader has stopped reading.
	writeTimeout = 30 * time.Second
)

// streamsContext is the key under which the context of a request holds the one that
// ends when the address is closed: open streams must not hold that up.
type streamsContext struct{}

// streamSlots bounds how many event streams are open.
type streamSlots struct {
	limit int64
	open  atomic.Int64
}

func (s *streamSlots) take() bool {
	if s.open.Add(1) <= s.limit {
		return true
	}
	s.open.Add(-1)
	return false
}

func (s *streamSlots) give() { s.open.Add(-1) }

// eventStream writes server-sent events.
type eventStream struct {
	ctx   context.Context // ends with the request, with the address, or with other tokens
	close func()
	w     http.ResponseWriter
	ctrl  *http.ResponseController
	buf   bytes.Buffer
}

// stream prepares an event stream, which the caller must begin and close. It returns nil
// if the answer is given: after a HEAD, or if there are too many.
func (a *httpAPI) stream(w http.ResponseWriter, r *http.Request) *eventStream {
	if !a.slots.take() {
		w.Header().Set("Retry-After", "30")
		a.refuse(w, r, http.StatusServiceUnavailable, "too many event streams are open")
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &eventStream{ctx: ctx, w: w, ctrl: http.NewResponseController(w)}
	var detach []func() bool
	for _, key := range []any{streamsContext{}, guardContext{}} {
		if life, ok := r.Context().Value(key).(context.Context); ok {
			detach = append(detach, context.AfterFunc(life, cancel))
		}
	}
	s.close = func() {
		for _, stop := range detach {
			stop()
		}
		cancel()
		a.slots.give()
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // or nginx would collect the lines
	// Or nginx would compress what it is told to compress, and collect the lines for that.
	h.Set("Content-Encoding", "identity")
	for _, header := range a.settings().headers {
		h.Set(header.Name, header.Value)
	}
	h.Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		s.begin()
		s.close()
		return nil
	}
	return s
}

// begin sends the head. Whoever has it may cause at once what the stream is to tell: what
// the stream reads must know its place before.
func (s *eventStream) begin() {
	s.w.WriteHeader(http.StatusOK)
	_ = s.ctrl.Flush()
}

// add puts an event into the buffer. Readers that were cut off go on after its id; ""
// gives none.
func (s *eventStream) add(id, name string, event any) error {
	data, err := api.Marshal(event)
	if err != nil {
		return err
	}
	s.addData(id, name, data)
	return nil
}

// addData is add of an event that is encoded already, in one line.
func (s *eventStream) addData(id, name string, data []byte) {
	if id != "" {
		s.buf.WriteString("id: " + id + "\n")
	}
	s.buf.WriteString("event: " + name + "\ndata: ")
	s.buf.Write(data)
	s.buf.WriteString("\n\n")
}

// comment puts what readers ignore into the buffer.
func (s *eventStream) comment(text string) { s.buf.WriteString(": " + text + "\n\n") }

// flush sends what is in the buffer.
func (s *eventStream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	defer s.buf.Reset()
	limitWrite(s.w)
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.ctrl.Flush()
}

// limitWrite gives the reader of an answer a limited time to take what is written next.
func limitWrite(w http.ResponseWriter) {
	// Answers that are recorded in tests know no deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// lastOf returns the parameter last, of how many kept entries a stream begins with: 0 if
// it is not there. A value that is not one from 0 to most is refused, and then ok is false.
func (a *httpAPI) lastOf(w http.ResponseWriter, r *http.Request, most int) (n int, ok bool) {
	query := r.URL.Query()
	if !query.Has("last") {
		return 0, true
	}
	n, err := strconv.Atoi(query.Get("last"))
	if err != nil || n < 0 || n > most {
		a.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("last must be a number from 0 to %d, not %s", most, quoteName(query.Get("last"))))
		return 0, false
	}
	return n, true
}
