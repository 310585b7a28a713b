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

func addEvents(f *feed, kind, job string, n int) {
	for range n {
		f.add(told{kind: kind, job: job, wire: &wireValue{value: api.Event{Kind: kind, Job: job}}})
	}
}

// read takes what a reader can have without waiting.
func read(t *testing.T, r *feedReader) (ids []string, lost int) {
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

func TestFeedFromNowOn(t *testing.T) {
	f := newFeed("abc", eventsKept)
	addEvents(f, api.EventMissed, "a", 3)
	r, known := f.reader(eventFilter{}.wants, "", 0)
	if ids, lost := read(t, r); !known || len(ids) != 0 || lost != 0 {
		t.Errorf("what was before: %q, %d lost", ids, lost)
	}
	addEvents(f, api.EventMissed, "a", 2)
	if ids, lost := read(t, r); strings.Join(ids, " ") != "abc-3 abc-4" || lost != 0 {
		t.Errorf("got %q, %d lost", ids, lost)
	}
}

func TestFeedGoesOnAfterAnID(t *testing.T) {
	f := newFeed("abc", eventsKept)
	addEvents(f, api.EventMissed, "a", 5)
	for after, want := range map[string]int{"abc-0": 4, "abc-3": 1, "abc-4": 0} {
		r, known := f.reader(eventFilter{}.wants, after, 0)
		if ids, lost := read(t, r); !known || len(ids) != want || lost != 0 {
			t.Errorf("after %s: %q, %d lost, known %v", after, ids, lost, known)
		}
	}
	for _, after := range []string{"abc-5", "abd-3", "abc", "abc-", "abc--1", "abc-99999999999999999999", "-3", "x"} {
		if r, known := f.reader(eventFilter{}.wants, after, 0); known || r.cursor != 5 {
			t.Errorf("%q is known, and goes on at %d", after, r.cursor)
		}
	}
}

func TestFeedTellsWhatIsLost(t *testing.T) {
	f := newFeed("abc", eventsKept)
	addEvents(f, api.EventMissed, "a", 1)
	slow, _ := f.reader(eventFilter{}.wants, "", 0)
	addEvents(f, api.EventMissed, "a", eventsKept+10)
	ids, lost := read(t, slow)
	if len(ids) != eventsKept || lost != 10 || ids[0] != "abc-11" || ids[len(ids)-1] != fmt.Sprintf("abc-%d", eventsKept+10) {
		t.Errorf("%d events from %s on, %d lost", len(ids), ids[0], lost)
	}
	if again, _ := f.reader(eventFilter{}.wants, "abc-0", 0); again != nil {
		if ids, lost := read(t, again); len(ids) != eventsKept || lost != 10 {
			t.Errorf("going on from long ago: %d events, %d lost", len(ids), lost)
		}
	}
	if len(f.ring) != eventsKept {
		t.Errorf("the ring holds %d", len(f.ring))
	}
}

func TestFeedFilters(t *testing.T) {
	f := newFeed("abc", eventsKept)
	all, _ := f.reader(eventFilter{}.wants, "", 0)
	ofA, _ := f.reader(eventFilter{job: "a"}.wants, "", 0)
	roles, _ := f.reader(eventFilter{kinds: map[string]bool{api.EventRole: true}}.wants, "", 0)
	addEvents(f, api.EventMissed, "a", 1)
	addEvents(f, api.EventMissed, "b", 1)
	addEvents(f, api.EventRole, "", 1)
	for want, r := range map[string]*feedReader{"abc-0 abc-1 abc-2": all, "abc-0": ofA, "abc-2": roles} {
		if ids, _ := read(t, r); strings.Join(ids, " ") != want {
			t.Errorf("got %q, want %q", ids, want)
		}
	}
}

func TestFeedWakesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed("abc", eventsKept)
		results := make(chan string)
		const readers = 50
		ctx, cancel := context.WithCancel(t.Context())
		for range readers {
			r, _ := f.reader(eventFilter{}.wants, "", 0)
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
		addEvents(f, api.EventMissed, "a", 1)
		for range readers {
			if got := <-results; got != "abc-0" {
				t.Errorf("got %s", got)
			}
		}
		r, _ := f.reader(eventFilter{}.wants, "", 0)
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
