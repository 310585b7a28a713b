package agent

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
)

// eventPause is the least time between two answers to one reader. What happens in it
// is sent together: a thousand readers must not cost a thousand writes per event.
const eventPause = 100 * time.Millisecond

// events streams what happens on this node from now on, or from the event on that the
// header Last-Event-ID names. The parameters job and kind restrict it.
func (a *httpAPI) events(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	filter := eventFilter{job: query.Get("job")}
	for kinds := range slices.Values(query["kind"]) {
		for kind := range strings.SplitSeq(kinds, ",") {
			if !slices.Contains(api.EventKinds(), kind) {
				a.refuse(w, r, http.StatusBadRequest, "there is no kind of event "+quoteName(kind)+": the kinds are "+strings.Join(api.EventKinds(), ", "))
				return
			}
			if filter.kinds == nil {
				filter.kinds = map[string]bool{}
			}
			filter.kinds[kind] = true
		}
	}
	s := a.stream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	if r.Method == http.MethodHead {
		return
	}
	reader, known := a.happenings.list.reader(filter, r.Header.Get("Last-Event-ID"))
	lost := 0
	if !known {
		lost = -1
	}
	if err := a.followEvents(s, reader, lost); err != nil {
		a.log.Trace("event stream ended", "error", err)
	}
}

// followEvents sends events until the reader goes away. lost is how many are missing
// before the first, -1 if nobody knows.
func (a *httpAPI) followEvents(s *eventStream, reader *eventReader, lost int) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	sent := time.Now()
	var events []numberedEvent
	for {
		if lost != 0 {
			e := api.Event{Kind: api.EventLost, At: api.At(time.Now()), Node: a.node, Lost: new(max(lost, 0))}
			if err := s.add("", api.EventLost, e); err != nil {
				return err
			}
		}
		for _, e := range events {
			data, err := e.wire.bytes()
			if err != nil {
				return err
			}
			s.addData(e.id, e.kind, data)
		}
		silence := time.Since(sent)
		if s.buf.Len() == 0 && silence >= pingInterval {
			s.comment("ping")
		}
		if s.buf.Len() > 0 {
			if err := s.flush(); err != nil {
				return err
			}
			sent, silence = time.Now(), 0
		}
		select {
		case <-pause.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		wait, cancel := context.WithTimeout(s.ctx, pingInterval-silence)
		var err error
		events, lost, err = reader.wait(wait)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		pause.Reset(eventPause)
	}
}
