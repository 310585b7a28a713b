package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/yacron2/yacron2/api"
)

func addEvents(t *testing.T, l *eventLog, kind, job string, n int) {
	t.Helper()
	for range n {
		l.add(&api.Event{Kind: kind, Job: job})
	}
}

// read takes what a reader can have without waiting.
func read(t *testing.T, r *eventReader) (ids []string, lost int) {
	t.Helper()
	for {
		events, missed, _ := r.take()
		if lost += missed; len(events) == 0 {
			return ids, lost
		}
		for _, e := range events {
			ids = append(ids, e.id)
		}
	}
}

func TestEventLogFromNowOn(t *testing.T) {
	l := newEventLog("abc")
	addEvents(t, l, api.EventMissed, "a", 3)
	r, known := l.reader(eventFilter{}, "")
	if ids, lost := read(t, r); !known || len(ids) != 0 || lost != 0 {
		t.Errorf("what was before: %q, %d lost", ids, lost)
	}
	addEvents(t, l, api.EventMissed, "a", 2)
	if ids, lost := read(t, r); strings.Join(ids, " ") != "abc-3 abc-4" || lost != 0 {
		t.Errorf("got %q, %d lost", ids, lost)
	}
}

func TestEventLogGoesOnAfterAnID(t *testing.T) {
	l := newEventLog("abc")
	addEvents(t, l, api.EventMissed, "a", 5)
	for after, want := range map[string]int{"abc-0": 4, "abc-3": 1, "abc-4": 0} {
		r, known := l.reader(eventFilter{}, after)
		if ids, lost := read(t, r); !known || len(ids) != want || lost != 0 {
			t.Errorf("after %s: %q, %d lost, known %v", after, ids, lost, known)
		}
	}
	for _, after := range []string{"abc-5", "abd-3", "abc", "abc-", "abc--1", "abc-99999999999999999999", "-3", "x"} {
		if r, known := l.reader(eventFilter{}, after); known || r.cursor != 5 {
			t.Errorf("%q is known, and goes on at %d", after, r.cursor)
		}
	}
}

func TestEventLogTellsWhatIsLost(t *testing.T) {
	l := newEventLog("abc")
	addEvents(t, l, api.EventMissed, "a", 1)
	slow, _ := l.reader(eventFilter{}, "")
	addEvents(t, l, api.EventMissed, "a", eventsKept+10)
	ids, lost := read(t, slow)
	if len(ids) != eventsKept || lost != 10 || ids[0] != "abc-11" || ids[len(ids)-1] != fmt.Sprintf("abc-%d", eventsKept+10) {
		t.Errorf("%d events from %s on, %d lost", len(ids), ids[0], lost)
	}
	if again, _ := l.reader(eventFilter{}, "abc-0"); again != nil {
		if ids, lost := read(t, again); len(ids) != eventsKept || lost != 10 {
			t.Errorf("going on from long ago: %d events, %d lost", len(ids), lost)
		}
	}
	if len(l.ring) != eventsKept {
		t.Errorf("the ring holds %d", len(l.ring))
	}
}

func TestEventLogFilters(t *testing.T) {
	l := newEventLog("abc")
	all, _ := l.reader(eventFilter{}, "")
	ofA, _ := l.reader(eventFilter{job: "a"}, "")
	roles, _ := l.reader(eventFilter{kinds: map[string]bool{api.EventRole: true}}, "")
	addEvents(t, l, api.EventMissed, "a", 1)
	addEvents(t, l, api.EventMissed, "b", 1)
	addEvents(t, l, api.EventRole, "", 1)
	for want, r := range map[string]*eventReader{"abc-0 abc-1 abc-2": all, "abc-0": ofA, "abc-2": roles} {
		if ids, _ := read(t, r); strings.Join(ids, " ") != want {
			t.Errorf("got %q, want %q", ids, want)
		}
	}
}

func TestEventLogWakesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog("abc")
		results := make(chan string)
		const readers = 50
		ctx, cancel := context.WithCancel(t.Context())
		for range readers {
			r, _ := l.reader(eventFilter{}, "")
			go func() {
				events, _, err := r.wait(ctx)
				if err != nil {
					results <- err.Error()
					return
				}
				results <- events[0].id
			}()
		}
		synctest.Wait()
		addEvents(t, l, api.EventMissed, "a", 1)
		for range readers {
			if got := <-results; got != "abc-0" {
				t.Errorf("got %s", got)
			}
		}
		r, _ := l.reader(eventFilter{}, "")
		go func() {
			_, _, err := r.wait(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			close(results)
		}()
		synctest.Wait()
		cancel()
		<-results
	})
}
