package scheduler

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestConsumedNeverForgetsAndBlocksLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newConsumed()
		base := time.Unix(1_900_000_000, 0)
		now, set := base, 0
		asked := map[time.Time]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case set < spansKept-1 && rapid.IntRange(0, 9).Draw(t, "what") == 0:
				now = base.Add(time.Duration(rapid.Int64Range(-1e6, 1e6).Draw(t, "to")) * time.Second)
				c.clockSet()
				set++
			default:
				now = now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "by")) * time.Second)
				if c.has("j", now) {
					continue
				}
				if asked[now] {
					t.Fatalf("%s was forgotten", now)
				}
				c.add("j", now)
				asked[now] = true
			}
		}
		for at := range asked {
			if !c.has("j", at) {
				t.Fatalf("%s was forgotten", at)
			}
		}
		if c.has("k", now) || len(c.spans["j"]) > spansKept {
			t.Fatal("too much")
		}
	})
}

// A clock that once jumped ahead blocks what was claimed there, and nothing before.
func TestConsumedAfterAJumpAhead(t *testing.T) {
	c := newConsumed()
	now := time.Unix(1_900_000_000, 0)
	c.add("j", now)
	c.clockSet()
	c.add("j", now.Add(365*24*time.Hour))
	c.clockSet()
	for i := 1; i < 1000; i++ {
		at := now.Add(time.Duration(i) * time.Minute)
		if c.has("j", at) {
			t.Fatalf("%s is blocked", at)
		}
		c.add("j", at)
	}
	if !c.has("j", now.Add(365*24*time.Hour)) {
		t.Error("the claim of the jump is forgotten")
	}
}

func TestConsumedForgetsRemovedJobs(t *testing.T) {
	c := newConsumed()
	for i := range absentKept + 50 {
		c.add(fmt.Sprint("j", i), time.Unix(int64(i), 0))
	}
	present := map[string]*entry{"j0": {}, "j1": {}}
	c.forget(present)
	if len(c.spans) != absentKept+2 || !c.has("j0", time.Unix(0, 0)) || c.has("j2", time.Unix(2, 0)) ||
		!c.has(fmt.Sprint("j", absentKept+49), time.Unix(absentKept+49, 0)) {
		t.Errorf("%d are left", len(c.spans))
	}
}
