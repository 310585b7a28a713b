package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func TestWhyTellsWhatBecameOfAFiring(t *testing.T) {
	a := startAgent(t, `
jobs:
  - name: ticking
    command: "true"
    schedule: "* * * * * * *"
`, "")
	ctx := t.Context()
	var firing time.Time
	// A firing that this process is too busy for is told beside those that ran, and others
	// that ran come after it.
	eventually(t, "three firings in a row ran", func() bool {
		why, err := a.client.Why(ctx, "ticking", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if len(why.Decisions) == 0 {
			return false
		}
		d := why.Decisions[len(why.Decisions)-1]
		firing = d.First.Add(time.Second)
		if d.Count < 3 || !slices.ContainsFunc(why.Runs, func(r api.Run) bool { return r.Firing.Equal(firing) }) {
			return false
		}
		if d.Outcome != "run" || d.Reason == "" || d.Trigger != "schedule" {
			t.Fatalf("decision: %+v", d)
		}
		if why.Now == nil || why.Now.Action != "run" || why.Node != "node-a" {
			t.Fatalf("now: %+v on %q", why.Now, why.Node)
		}
		return true
	})
	why, err := a.client.Why(ctx, "ticking", firing)
	if err != nil {
		t.Fatal(err)
	}
	if len(why.Runs) != 1 || !why.Runs[0].Firing.Equal(firing) || len(why.Decisions) != 1 || why.Now != nil {
		t.Errorf("of one firing: %+v", why)
	}
	if none, err := a.client.Why(ctx, "ticking", firing.Add(-time.Hour)); err != nil || len(none.Runs)+len(none.Decisions)+len(none.Missed) != 0 {
		t.Errorf("of a firing before the start: %+v, %v", none, err)
	}
	if resp, _ := a.request("GET", "/jobs/ticking/why?at=yesterday", nil); resp.StatusCode != 400 {
		t.Errorf("a bad instant: %d", resp.StatusCode)
	}
}
