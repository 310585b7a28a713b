package gossip

import (
	"context"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Who holds firings can be told, and when that process was heard of last, also when it is
// gone and its own vote with it.
func TestProbeFindsTheHolder(t *testing.T) {
	firings, jobs := batch(time.Time{}, 3)
	c := agreed(t, func(c *Config) { c.LeaderJobs = jobs })
	at := unfenced(t)
	for i := range firings {
		firings[i].At = at
	}
	holder := c.nodes["b"].InstanceID()
	for _, v := range c.nodes["b"].Claim(context.Background(), firings[:2]) {
		if v.Outcome != election.Granted {
			t.Fatalf("%+v", v)
		}
	}
	find := func(when string) {
		t.Helper()
		verdicts := c.nodes["c"].Probe(context.Background(), firings)
		for _, v := range verdicts[:2] {
			if v.HolderID != holder || !v.Held {
				t.Errorf("%s: %+v", when, v)
			}
		}
		if v := verdicts[2]; v.HolderID != "" || v.Held {
			t.Errorf("%s: nobody has claimed the last one: %+v", when, v)
		}
	}
	find("while it lives")
	before := time.Now()
	wait(t, "b is heard of", func() bool {
		_, heard := c.nodes["c"].Witness(firings[0], holder)
		return heard.After(before)
	})
	// Its vote was not needed, so it may come later than the grant.
	wait(t, "c has voted", func() bool {
		voted, _ := c.nodes["c"].Witness(firings[0], holder)
		return !voted.IsZero() && !voted.After(time.Now())
	})
	if voted, heard := c.nodes["c"].Witness(firings[2], holder); !voted.IsZero() || heard.IsZero() {
		t.Errorf("voted at %v, heard at %v", voted, heard)
	}
	if voted, heard := c.nodes["c"].Witness(firings[0], newInstanceID()); !voted.IsZero() || !heard.IsZero() {
		t.Errorf("a stranger: voted at %v, heard at %v", voted, heard)
	}
	c.nodes["b"].kill()
	find("when it is gone")
}

func TestSignsAreBounded(t *testing.T) {
	var s signs
	began := time.Now()
	for i := range signsKept + 10 {
		s.note(newInstanceID(), began.Add(time.Duration(i)*time.Second))
	}
	s.note("last", began.Add(time.Hour))
	if n := len(s.last); n != signsKept {
		t.Errorf("%d are kept", n)
	}
	if s.of("last") != began.Add(time.Hour) {
		t.Error("the newest one is not")
	}
}
