package agent

import (
	"testing"
	"time"
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
	eventually(t, "three firings in a row ran", func() bool {
		why, err := a.client.Why(ctx, "ticking", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if len(why.Decisions) != 1 || why.Decisions[0].Count < 3 || len(why.Runs) < 3 {
			return false
		}
		if d := why.Decisions[0]; d.Outcome != "run" || d.Reason == "" || d.Trigger != "schedule" {
			t.Fatalf("decision: %+v", d)
		}
		if why.Now == nil || why.Now.Action != "run" || why.Node != "node-a" {
			t.Fatalf("now: %+v on %q", why.Now, why.Node)
		}
		firing = why.Decisions[0].First.Add(time.Second)
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
