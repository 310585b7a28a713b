package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

func TestRebootJobsRunOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		boot := testJob(t, "boot", "@reboot")
		h.begin(false, nil, boot, testJob(t, "off", "@reboot", func(j *Job) { j.Enabled = false }))
		wait(time.Second)
		h.Apply(Plan{Jobs: []*Job{boot, testJob(t, "later", "@reboot")}})
		wait(time.Hour)
		equal(t, "boot", h.runner.of("boot"), []string{"00:00:00"})
		equal(t, "off", h.runner.of("off"), nil)
		equal(t, "later", h.runner.of("later"), nil)
		if s := h.runner.all()[0]; s.firing != "" {
			t.Errorf("a boot run has the firing %q", s.firing)
		}
	})
}

func TestRebootUnderElection(t *testing.T) {
	type step func(t *testing.T, h *harness, c *fakeCoordinator)
	job := func(t *testing.T, p election.Policy) *Job { return testJob(t, "boot", "@reboot", policy(p)) }
	apply := func(elect bool, change ...func(*Job)) step {
		return func(t *testing.T, h *harness, _ *fakeCoordinator) {
			j := testJob(t, "boot", "@reboot", append([]func(*Job){policy(election.Leader)}, change...)...)
			h.Apply(Plan{Elect: elect, Jobs: []*Job{j}})
		}
	}
	lead := func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.set(leading(time.Now())) }
	for name, c := range map[string]struct {
		policy  election.Policy
		view    func() *election.View
		manager bool
		prepare step
		steps   []step // ten seconds each
		starts  []string
		claims  int // 0: none; -1: several
		marks   []string
	}{
		"every node": {policy: election.EveryNode, view: following, manager: true, starts: []string{"00:00:00"}},
		"owner":      {policy: election.Leader, view: func() *election.View { return leading(time.Now()) }, manager: true, starts: []string{"00:00:00"}, claims: 1},
		"owner, never skip": {policy: election.PreferLeader, view: func() *election.View { return leading(time.Now()) }, manager: true,
			starts: []string{"00:00:00"}, marks: []string{"boot"}},
		"not the owner": {policy: election.Leader, view: following, manager: true},
		"owner later":   {policy: election.Leader, view: following, manager: true, steps: []step{lead}, starts: []string{"00:00:10"}, claims: 1},
		"no manager":    {policy: election.Leader},
		"no manager, then one": {policy: election.Leader, view: func() *election.View { return leading(time.Now()) },
			steps:  []step{func(_ *testing.T, h *harness, c *fakeCoordinator) { h.SetCoordinator(c) }},
			starts: []string{"00:00:10"}, claims: 1},
		"no manager, never skip": {policy: election.PreferLeader, starts: []string{"00:00:00"}},
		"ran elsewhere": {policy: election.Leader, view: following, manager: true,
			prepare: func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.ran["boot"] = true }, steps: []step{lead}},
		"denied": {policy: election.Leader, view: func() *election.View { return leading(time.Now()) }, manager: true,
			prepare: func(_ *testing.T, _ *harness, c *fakeCoordinator) {
				c.answers(func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Denied} })
			},
			steps:  []step{func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.answers(granted) }, lead},
			claims: 1},
		"pending, then granted": {policy: election.Leader, view: func() *election.View { return leading(time.Now()) }, manager: true,
			prepare: func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.answers(pendingFor("peers do not know yet")) },
			steps:   []step{func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.answers(granted); c.set(leading(time.Now())) }},
			starts:  []string{"00:00:10"}, claims: -1},
		"absent for a moment": {policy: election.Leader, view: following, manager: true,
			steps: []step{
				func(_ *testing.T, h *harness, _ *fakeCoordinator) { h.Apply(Plan{Elect: true}) },
				lead, apply(true),
			}, starts: []string{"00:00:30"}, claims: 1},
		"election switched off": {policy: election.Leader, view: following, manager: true,
			steps: []step{apply(false)}, starts: []string{"00:00:10"}},
		"disabled": {policy: election.Leader, view: following, manager: true,
			steps: []step{apply(true, func(j *Job) { j.Enabled = false }), apply(true), lead}},
		"every node from now on": {policy: election.Leader, view: following, manager: true,
			steps: []step{apply(true, policy(election.EveryNode)), apply(true), lead}},
		"scheduled from now on": {policy: election.Leader, view: following, manager: true,
			steps: []step{func(t *testing.T, h *harness, _ *fakeCoordinator) {
				h.Apply(Plan{Elect: true, Jobs: []*Job{testJob(t, "boot", "@yearly", policy(election.Leader))}})
			}, apply(true), lead}},
		"started by hand": {policy: election.Leader, view: following, manager: true,
			steps: []step{func(t *testing.T, h *harness, _ *fakeCoordinator) {
				if err := h.StartJob(context.Background(), "boot"); err != nil {
					t.Error(err)
				}
			}, lead}, starts: []string{"00:00:10"}, marks: []string{"boot"}},
		"not to be recorded, never skip": {policy: election.PreferLeader, view: func() *election.View { return leading(time.Now()) }, manager: true,
			prepare: func(_ *testing.T, _ *harness, c *fakeCoordinator) { c.fail = errors.New("store away") },
			starts:  []string{"00:00:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				view := following
				if c.view != nil {
					view = c.view
				}
				co := newFakeCoordinator(view())
				if c.prepare != nil {
					c.prepare(t, h, co)
				}
				h.Apply(Plan{Elect: true, Jobs: []*Job{job(t, c.policy)}})
				if c.manager {
					h.SetCoordinator(co)
				}
				if err := h.Start(context.Background()); err != nil {
					t.Fatal(err)
				}
				for _, s := range c.steps {
					wait(10 * time.Second)
					s(t, h, co)
				}
				wait(10 * time.Second)
				equal(t, "starts", h.runner.of("boot"), c.starts)
				if n := len(co.asked); n != c.claims && (c.claims >= 0 || n < 3) {
					t.Errorf("%d claims", n)
				}
				for _, f := range co.asked {
					if !f.Reboot() {
						t.Errorf("claimed %v", f)
					}
				}
				equal(t, "marks", co.marks, c.marks)
				if s, ok := h.Job("boot"); !ok || s.RebootPending != (len(h.reboots) == 1) {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// A grant that comes after the one-shot was started by hand is void.
func TestManualStartBeatsTheBootClaim(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		c.wait = 5 * time.Second
		h.begin(true, c, testJob(t, "boot", "@reboot", policy(election.Leader)))
		wait(time.Second)
		if err := h.StartJob(context.Background(), "boot"); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		equal(t, "starts", h.runner.of("boot"), []string{"00:00:01"})
	})
}

// A one-shot that is granted while the agent begins to stop runs: the grant is the
// record that it ran, and nobody else will run it.
func TestBootClaimGrantedDuringQuiesce(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		c.wait = 2 * time.Second
		h.begin(true, c, testJob(t, "boot", "@reboot", policy(election.Leader)))
		wait(time.Second)
		h.Quiesce()
		if err := h.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		equal(t, "starts", h.runner.of("boot"), []string{"00:00:02"})
	})
}

// A claim changes the view by itself when votes become records: that must not make it be
// repeated without a pause.
func TestRebootClaimThatChangesTheViewIsRepeatedAfterAPause(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		c.answers(func(election.Firing) election.Verdict {
			c.set(leading(time.Now()))
			return election.Verdict{Reason: "some votes are missing"}
		})
		h.begin(true, c, testJob(t, "boot", "@reboot", policy(election.Leader)))
		wait(2 * time.Second)
		if n := len(c.askedFor("boot")); n < 2 || n > 50 {
			t.Errorf("asked %d times within two seconds", n)
		}
	})
}
