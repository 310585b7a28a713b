package api

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
)

func TestClientEvents(t *testing.T) {
	var asked, after string
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, after = r.URL.RequestURI(), r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: x-1\nevent: role\ndata: {\"kind\": \"role\", \"role\": {\"leader\": \"b\"}}\n\n"+
			": ping\n\nevent: lost\ndata: {\"kind\": \"lost\", \"lost\": 3}\n\n")
	}), "")
	var got []Event
	enough := errors.New("enough")
	err := c.Events(t.Context(), EventFilter{Job: "a b", Kinds: []string{EventRole, EventLost}, After: "x-0"}, func(e Event) error {
		if got = append(got, e); len(got) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || asked != "/events?job=a+b&kind=role%2Clost" || after != "x-0" {
		t.Errorf("asked %s after %q: %v", asked, after, err)
	}
	if len(got) != 2 || got[0].ID != "x-1" || got[0].Role.Leader != "b" || got[1].ID != "x-1" || *got[1].Lost != 3 {
		t.Errorf("got %+v", got)
	}
	// An agent that goes away is an error.
	err = c.Events(t.Context(), EventFilter{}, func(Event) error { return nil })
	var gone *UnreachableError
	if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &gone) || !gone.Began || asked != "/events" || after != "" {
		t.Errorf("asked %s after %q: %v", asked, after, err)
	}
}

func TestEventKindsAreWhole(t *testing.T) {
	for _, e := range sampleEvents() {
		if !slices.Contains(EventKinds(), e.Kind) {
			t.Errorf("%s is not listed", e.Kind)
		}
	}
}

func TestClientReady(t *testing.T) {
	code, text := http.StatusServiceUnavailable, `{"ok": false, "reason": "the agent is stopping"}`
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}), "")
	if h, err := c.Ready(t.Context()); err != nil || h != (Health{Reason: "the agent is stopping"}) {
		t.Errorf("got %+v, %v", h, err)
	}
	code = http.StatusNotFound
	if _, err := c.Ready(t.Context()); StatusOf(err) != code {
		t.Errorf("got %v", err)
	}
	code, text = http.StatusOK, "ok"
	if _, err := c.Ready(t.Context()); !errors.Is(err, ErrNotAgent) {
		t.Errorf("got %v", err)
	}
}
