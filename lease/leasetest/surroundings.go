package leasetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// A one-shot runs once under a job-set id, and again under another.
func testReboot(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	claim := func(c *client, hold lease.Hold, set string, jobs ...string) []election.Verdict {
		t.Helper()
		verdicts, _, err := c.ClaimReboot(c.ctx(), hold, set, jobs, nil)
		if err != nil || len(verdicts) != len(jobs) {
			t.Fatalf("%s claims one-shots: %d verdicts, %v", c.NodeName, len(verdicts), err)
		}
		return verdicts
	}
	hold := a.acquire()
	outcomes(t, "first claims", claim(a, hold, "v1:a", "x", "y"), "GG")
	outcomes(t, "the same again, and a new one", claim(a, hold, "v1:a", "x", "z"), "GG")
	for _, c := range []*client{a, b} {
		if ran := c.read().Ran.Jobs("v1:a"); !slices.Equal(ran, []string{"x", "y", "z"}) {
			t.Errorf("%s reads that %v ran", c.NodeName, ran)
		}
		if ran := c.read().Ran.Jobs("v1:b"); ran != nil {
			t.Errorf("%s reads that %v ran under another job set", c.NodeName, ran)
		}
	}
	a.release(hold)
	next := b.acquire()
	outcomes(t, "claims of the next holder", claim(b, next, "v1:a", "x", "new", "y"), "DGD")
	outcomes(t, "the same under another job set", claim(b, next, "v1:b", "x"), "G")
	if instance, ran := a.read().Ran.Ran("v1:a", "x"); !ran || instance != a.InstanceID {
		t.Errorf("the one-shot of %s ran by %q, %t", a.InstanceID, instance, ran)
	}
	b.release(next)
	last := a.acquire()
	outcomes(t, "what the holder between ran", claim(a, last, "v1:b", "x", "y"), "DG")
}

// Who does not hold the record tells what it ran, all at the same time, and nothing of it
// is lost.
func testMarkRan(t *testing.T, s *Setup) {
	all := s.openAll(t, 5)
	hold := all[0].acquire()
	var wg sync.WaitGroup
	for i, c := range all {
		ctx := c.ctx()
		wg.Go(func() {
			if err := c.MarkRan(ctx, "v1:a", fmt.Sprintf("job-%d", i)); err != nil {
				t.Errorf("%s records a run: %v", c.NodeName, err)
			}
		})
	}
	wg.Wait()
	want := []string{"job-0", "job-1", "job-2", "job-3", "job-4"}
	for _, c := range all {
		if ran := c.read().Ran.Jobs("v1:a"); !slices.Equal(ran, want) {
			t.Errorf("%s reads that %v ran, want %v", c.NodeName, ran, want)
		}
	}
	hold = all[0].renew(hold) // nobody took it for another's
	verdicts, _, err := all[0].ClaimReboot(all[0].ctx(), hold, "v1:a", []string{"job-3", "job-9"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	outcomes(t, "claims of what ran elsewhere", verdicts, "DG")
}

// marksOf returns the marks as a text, sorted by instance.
func marksOf(marks []lease.Mark) string {
	var lines []string
	for _, m := range marks {
		lines = append(lines, fmt.Sprintf("%s of %s: %v", m.NodeName, m.InstanceID[len(m.InstanceID)-2:], m.Jobs))
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func (c *client) mark(beat uint64, jobs ...string) lease.Mark {
	return lease.Mark{InstanceID: c.InstanceID, NodeName: c.NodeName, Jobs: jobs, Beat: beat}
}

func (c *client) setMark(beat uint64, jobs ...string) {
	c.t.Helper()
	if err := c.SetMark(c.ctx(), c.mark(beat, jobs...)); err != nil {
		c.t.Errorf("%s marks %v: %v", c.NodeName, jobs, err)
	}
}

// Each process has a mark of its own, with or without the record.
func testMarks(t *testing.T, s *Setup) {
	all := s.openAll(t, 5)
	hold := all[0].acquire()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.setMark(1, "job of "+c.NodeName) })
	}
	wg.Wait()
	all[0].renew(hold)
	want := "[node-a of a0: [job of node-a] node-b of a1: [job of node-b] node-c of a2: [job of node-c]" +
		" node-d of a3: [job of node-d] node-e of a4: [job of node-e]]"
	for _, c := range all {
		if got := marksOf(c.read().Marks); got != want {
			t.Errorf("%s reads the marks %s, want %s", c.NodeName, got, want)
		}
	}
	b, c := all[1], all[2]
	b.setMark(2, "x", "y") // replaces
	c.setMark(2)           // removes
	if err := all[0].DropMarks(all[0].ctx(), []string{all[3].InstanceID, all[4].InstanceID}); err != nil {
		t.Error(err)
	}
	if got, want := marksOf(all[4].read().Marks), "[node-a of a0: [job of node-a] node-b of a1: [x y]]"; got != want {
		t.Errorf("the marks are %s, want %s", got, want)
	}
	for _, m := range c.read().Marks {
		if m.InstanceID == b.InstanceID && m.Beat != 2 {
			t.Errorf("the mark of %s beats %d, want 2", b.NodeName, m.Beat)
		}
	}
	// A mark outlives the hold of who set it: what runs there still runs.
	all[0].release(hold)
	next := b.acquire()
	if got, want := marksOf(b.read().Marks), "[node-a of a0: [job of node-a] node-b of a1: [x y]]"; got != want {
		t.Errorf("after the release the marks are %s, want %s", got, want)
	}
	b.release(next)
}

// A claim writes the mark of its job in the same step, and tells what others have marked.
func testMarkWithClaim(t *testing.T, s *Setup) {
	a, b := s.open(t, 0), s.open(t, 1)
	hold := a.acquire()
	mark := a.mark(1, "guarded")
	outcomes(t, "a marked claim", a.claim(hold, &mark, at(0, "guarded")), "G")
	if got, want := marksOf(b.read().Marks), "[node-a of a0: [guarded]]"; got != want {
		t.Errorf("the marks are %s, want %s", got, want)
	}
	a.release(hold)
	next := b.acquire()
	mine := b.mark(1, "guarded")
	verdicts, others, err := b.Claim(b.ctx(), next, []election.Firing{at(1, "guarded")}, &mine)
	if err != nil {
		t.Fatal(err)
	}
	outcomes(t, "the next holder's claim", verdicts, "G")
	if got, want := marksOf(slices.DeleteFunc(others, func(m lease.Mark) bool { return m.InstanceID == b.InstanceID })),
		"[node-a of a0: [guarded]]"; got != want {
		t.Errorf("the claim tells of the marks %s, want %s", got, want)
	}
	shot := b.mark(2, "guarded", "one-shot")
	verdicts, others, err = b.ClaimReboot(b.ctx(), next, "v1:a", []string{"one-shot"}, &shot)
	if err != nil || len(others) == 0 {
		t.Fatalf("claiming a one-shot tells of %d marks, %v", len(others), err)
	}
	outcomes(t, "a marked one-shot", verdicts, "G")
	if got, want := marksOf(a.read().Marks), "[node-a of a0: [guarded] node-b of a1: [guarded one-shot]]"; got != want {
		t.Errorf("the marks are %s, want %s", got, want)
	}
	// A claim without the record leaves no mark behind.
	stale := a.mark(9, "not to be seen")
	if _, _, err := a.Claim(a.ctx(), hold, []election.Firing{at(2, "guarded")}, &stale); err == nil {
		t.Error("a hold that is over was good for a claim")
	}
	if got, want := marksOf(b.read().Marks), "[node-a of a0: [guarded] node-b of a1: [guarded one-shot]]"; got != want {
		t.Errorf("after a claim that was refused the marks are %s, want %s", got, want)
	}
}
