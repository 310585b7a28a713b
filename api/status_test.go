package api

import (
	"encoding/json"
	"testing"
)

func TestStatusText(t *testing.T) {
	text := StatusText([]JobStatus{
		{Job: "a", Status: StatusRunning, PIDs: []int{1, 2}},
		{Job: "b", Status: StatusRunning},
		{Job: "c", Status: StatusDisabled},
		{Job: "d", Status: StatusScheduled, ScheduledIn: new(14.9)},
		{Job: "e", Status: StatusScheduled, Reboot: true},
		{Job: "f", Status: StatusScheduled},
		{Job: "g", Status: StatusScheduled, ScheduledIn: new(120.0), Paused: &Pause{Until: At(noon)}},
		{Job: "h", Status: StatusRunning, PIDs: []int{3}, Paused: &Pause{}},
	})
	want := `a: running (pid: 1, 2)
b: running (pid: )
c: disabled
d: scheduled (in 14 seconds)
e: scheduled (@reboot)
f: scheduled (never fires)
g: scheduled (in 2 minutes), paused until 2026-03-01T12:00:00Z
h: running (pid: 3), paused until it is resumed`
	if text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
	if text := StatusText(nil); text != "" {
		t.Errorf("no jobs give %q", text)
	}
}

func TestIn(t *testing.T) {
	for seconds, want := range map[float64]string{
		-3: "in 0 second", 0: "in 0 second", 1.9: "in 1 second", 2: "in 2 seconds", 119.9: "in 119 seconds",
		120: "in 2 minutes", 7199: "in 119 minutes", 7200: "in 2 hours", 48*3600 - 1: "in 47 hours",
		48 * 3600: "in 2 days", 86400 * 365.5: "in 365 days",
	} {
		if got := In(seconds); got != want {
			t.Errorf("%v is %q, want %q", seconds, got, want)
		}
	}
}

func TestStatusRead(t *testing.T) {
	for _, text := range []string{`5`, `{"scheduled_in":"soon"}`, `{"pid":"x"}`, `{"scheduled_in":{}}`} {
		var s JobStatus
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s read as %+v", text, s)
		}
	}
}
