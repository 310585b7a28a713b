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

// events streams what happens on this node from now on, beginning with the last so many
// that are kept, or with what followed the event that the header Last-Event-ID names. The
// parameters job and kind restrict it.
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
	last, ok := a.lastOf(w, r, eventsKept)
	if !ok {
		return
	}
	s := a.stream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	reader, known := a.happenings.list.reader(filter.wants, r.Header.Get("Last-Event-ID"), last)
	err := s.follow(reader, known, func(lost int) told {
		e := api.Event{Kind: api.EventLost, At: api.At(time.Now()), Node: a.node, Lost: &lost}
		return told{kind: e.Kind, wire: &wireValue{value: e}}
	})
	a.log.Trace("event stream ended", "error", err)
}

// eventFilter is what a reader wants.
type eventFilter struct {
	job   string          // "": of all jobs, and those that are of none
	kinds map[string]bool // nil: all
}

func (f eventFilter) wants(t *told) bool {
	return (f.job == "" || f.job == t.job) && (f.kinds == nil || f.kinds[t.kind])
}

// follow begins the stream and sends what a reader gets of its feed until it goes away, and
// returns why. What is sent in place of what is lost says how many, 0 if nobody knows: so
// it begins if known is false.
func (s *eventStream) follow(reader *feedReader, known bool, inPlace func(lost int) told) error {
	s.begin()
	pause := time.NewTimer(0)
	defer pause.Stop()
	sent := time.Now()
	gap, lost := !known, 0
	var list []numbered
	for {
		if gap {
			list = slices.Insert(list, 0, numbered{told: inPlace(lost)})
		}
		for _, t := range list {
			data, err := t.wire.bytes()
			if err != nil {
				return err
			}
			s.addData(t.id, t.kind, data)
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
		list, lost, err = reader.wait(wait)
		gap = lost > 0
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		pause.Reset(eventPause)
	}
}
