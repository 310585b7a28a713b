package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

func TestLateStartOfLeaderJobs(t *testing.T) {
	leader := policy(election.Leader)
	t.Run("a new owner asks for what the former one did not reach", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			c.answers(func(f election.Firing) election.Verdict {
				if f.At.Second() < 5 {
					return election.Verdict{Outcome: election.Denied, Holder: "a"}
				}
				return election.Verdict{Outcome: election.Granted}
			})
			h.begin(true, c, testJob(t, "j", "* * * * * * *", leader, startsWithin(10*time.Second)))
			wait(15*time.Second + 500*time.Millisecond)
			equal(t, "asked as a follower", c.askedFor("j"), nil)
			c.set(leading(time.Now()))
			wait(time.Millisecond)
			equal(t, "asked", c.askedFor("j"), []string{"00:00:06", "00:00:07", "00:00:08", "00:00:09", "00:00:10",
				"00:00:11", "00:00:12", "00:00:13", "00:00:14", "00:00:15"})
			if got := len(h.runner.of("j")); got != 10 {
				t.Errorf("%d started late", got)
			}
			wait(2 * time.Second)
			if n := len(c.askedFor("j")); n != 12 || c.calls != 3 {
				t.Errorf("%d firings asked for in %d claims", n, c.calls)
			}
			v := h.Decisions("j")
			if last := v[len(v)-1]; last.Trigger != TriggerSchedule || v[len(v)-2].Trigger != TriggerLate {
				t.Errorf("decided %+v", v)
			}
			equal(t, "missed", h.history.missedOf("j"), nil)
		})
	})
	t.Run("each firing is asked for once, however often ownership moves", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			c.answers(func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Denied} })
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(61 * time.Second)
			for range 5 {
				c.set(leading(time.Now()))
				wait(time.Second)
				c.set(following())
				wait(time.Second)
			}
			equal(t, "asked", c.askedFor("j"), []string{"00:01:00"})
		})
	})
	t.Run("not beyond the deadline", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * *", leader, startsWithin(20*time.Second)))
			wait(81 * time.Second)
			c.set(leading(time.Now()))
			wait(time.Second)
			equal(t, "asked", c.askedFor("j"), nil)
			equal(t, "missed", h.history.missedOf("j"), nil) // it was a's
		})
	})
	t.Run("not what was due before this schedule was held", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "old", "* * * * *", leader), testJob(t, "moved", "* * * * *", leader),
				testJob(t, "off", "* * * * *", leader))
			wait(65 * time.Second)
			h.Apply(Plan{Elect: true, Jobs: []*Job{testJob(t, "old", "* * * * *", leader),
				testJob(t, "moved", "*/2 * * * *", leader), testJob(t, "new", "* * * * *", leader),
				testJob(t, "off", "* * * * *", leader, func(j *Job) { j.Enabled = false })}})
			c.set(leading(time.Now()))
			wait(time.Second)
			equal(t, "old", c.askedFor("old"), []string{"00:01:00"})
			for _, j := range []string{"moved", "new", "off"} {
				equal(t, j, c.askedFor(j), nil)
			}
		})
	})
	t.Run("what nobody could run is missed, with the reason of the time", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(alone(time.Now()))
			h.begin(true, c, testJob(t, "j", "0 * * * *", leader))
			wait(time.Hour + 31*time.Second)
			equal(t, "missed", h.history.missedOf("j"), []string{"01:00:00 no-quorum"})
			equal(t, "decisions", h.verdicts("j"), []string{"skipped no-quorum x1", "missed no-quorum x1"})
			c.set(leading(time.Now()))
			wait(time.Minute)
			equal(t, "starts", h.runner.of("j"), nil)
		})
	})
	t.Run("no manager, then one", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.begin(true, nil, testJob(t, "j", "0 * * * *", leader), testJob(t, "k", "30 * * * *", leader))
			wait(31 * time.Minute)
			equal(t, "missed", h.history.missedOf("k"), []string{"00:30:00 no-manager"})
			wait(29*time.Minute + 10*time.Second)
			h.SetCoordinator(newFakeCoordinator(leading(time.Now())))
			wait(time.Second)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:10"})
		})
	})
	t.Run("a late wake-up without a quorum is a loss", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.begin(true, newFakeCoordinator(alone(time.Now())), testJob(t, "j", "* * * * *", leader))
			wait(51 * time.Second)
			h.offset.Add(int64(2*time.Minute + 50*time.Second))
			wait(clockCheck)
			equal(t, "missed", h.history.missedOf("j"), []string{"00:01:00 superseded", "00:02:00 superseded", "00:03:00 no-quorum"})
		})
	})
	t.Run("a follower that wakes up to lead asks for all that it slept through", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * * * *", leader, startsWithin(30*time.Second)))
			wait(500 * time.Millisecond)
			h.offset.Add(int64(40 * time.Second))
			wait(clockCheck)
			equal(t, "asked as a follower", c.askedFor("j"), nil)
			c.set(leading(time.Now()))
			wait(time.Millisecond)
			asked := c.askedFor("j")
			if len(asked) != 30 || asked[0] != "00:00:16" || asked[29] != "00:00:45" {
				t.Errorf("asked for %v", asked)
			}
			equal(t, "missed", h.history.missedOf("j"), nil)
		})
	})
	t.Run("a late wake-up of a follower is not its loss", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(30 * time.Second)
			h.offset.Add(int64(10 * time.Minute))
			wait(time.Minute)
			equal(t, "missed", h.history.missedOf("j"), nil)
		})
	})
}

// What was due while nobody could run it, or somebody who is gone, is lost although there
// is a leader now: unless that one has been there all the time, or somebody has it.
func TestUnclaimedFirings(t *testing.T) {
	// reborn is b's view of another process of a that leads.
	reborn := func() *election.View {
		s := following().State()
		s.Peers = slices.Clone(s.Peers)
		s.Peers[0].InstanceID = "ia2"
		for i := range s.Peers {
			s.Peers[i].Members = slices.Clone(s.Peers[i].Members)
			for k := range s.Peers[i].Members {
				if m := &s.Peers[i].Members[k]; m.NodeName == "a" {
					m.InstanceID = "ia2"
				}
			}
		}
		return election.NewView(s)
	}
	// apart is b's view of an a with other jobs, without a quorum.
	apart := func() *election.View {
		s := clusterOf(time.Now(), []string{"c"}, nil).State()
		s.Peers[0].Status, s.Peers[0].JobSetID = election.StatusDrifted, "v1:y"
		return election.NewView(s)
	}
	lost := func() *election.View { return alone(time.Now()) }
	for name, c := range map[string]struct {
		due, later func() *election.View
		holder     string
		probes     []string
		missed     []string
	}{
		"a new process leads after a time without quorum": {lost, reborn, "",
			[]string{"j 00:01:00"}, []string{"00:01:00 unclaimed"}},
		"a new process leads after the one that was to run it": {following, reborn, "",
			[]string{"j 00:01:00"}, []string{"00:01:00 unclaimed"}},
		"it was claimed all the same":                            {lost, reborn, "ic", []string{"j 00:01:00"}, nil},
		"the process that leads now was there, without a quorum": {apart, following, "", nil, nil},
		"the same process leads all the time":                    {following, following, "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				co := &probed{fakeCoordinator: newFakeCoordinator(c.due()), verdict: heldBy(c.holder)}
				h.begin(true, co, testJob(t, "j", "* * * * *", policy(election.Leader), startsWithin(20*time.Second)),
					testJob(t, "p", "* * * * *", policy(election.EveryNode)))
				wait(61 * time.Second)
				co.set(c.later())
				wait(30 * time.Second)
				equal(t, "probes", co.probes, c.probes)
				equal(t, "missed", h.history.missedOf("j"), c.missed)
				equal(t, "asked", co.askedFor("j"), nil)
			})
		})
	}
}

func TestLateStartOfPreferLeaderJobs(t *testing.T) {
	prefer := policy(election.PreferLeader)
	for name, c := range map[string]struct {
		view func(lastSeen time.Time) *election.View // when a is gone, at 00:02:20
		seen time.Duration                           // when b last heard of a
		want []string
	}{
		"since the last good exchange": {leading, 90 * time.Second, []string{"00:02:20"}},
		"not what a could have run":    {leading, 121 * time.Second, nil},
		"alone as well":                {alone, 90 * time.Second, []string{"00:02:20"}},
		"a stopping owner": {func(seen time.Time) *election.View { return clusterOf(seen, nil, []string{"a"}) },
			90 * time.Second, []string{"00:02:20"}},
		"an owner that is there": {clusterWithout, 90 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				begin := time.Now()
				co := newFakeCoordinator(following())
				h.begin(true, co, testJob(t, "j", "* * * * *", prefer, startsWithin(30*time.Second)))
				wait(140 * time.Second)
				equal(t, "as a follower", h.runner.of("j"), nil)
				co.set(c.view(begin.Add(c.seen)))
				wait(time.Second)
				equal(t, "starts", h.runner.of("j"), c.want)
				wait(39 * time.Second)
				equal(t, "missed", h.history.missedOf("j"), nil)
				if len(co.asked) > 0 {
					t.Error("a PreferLeader job was claimed")
				}
			})
		})
	}
	t.Run("of an owner that said that it stops just after it was due", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * * * *", prefer))
			wait(5*time.Second + 50*time.Millisecond)
			c.set(clusterOf(time.Now(), nil, []string{"a"}))
			wait(time.Second / 2)
			equal(t, "starts", h.runner.of("j"), []string{"00:00:05"})
		})
	})
	t.Run("once, although the clock was set back over it", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			begin := time.Now()
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * * * *", prefer, startsWithin(5*time.Minute)))
			wait(3 * time.Minute)
			h.offset.Add(-int64(2 * time.Minute))
			wait(time.Minute) // 00:02
			c.set(leading(begin.Add(-time.Second)))
			wait(time.Millisecond)
			if got := len(h.runner.of("j")); got != 180 {
				t.Errorf("%d late starts of 180 firings", got)
			}
		})
	})
	t.Run("a hold is a loss", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			s := following().State()
			s.Peers[0].Status, s.Peers[0].NodeName = election.StatusUnknown, ""
			c := newFakeCoordinator(election.NewView(s))
			h.begin(true, c, testJob(t, "j", "0 * * * *", prefer))
			wait(time.Hour + 10*time.Second)
			c.set(leading(time.Now()))
			wait(time.Minute)
			equal(t, "starts", h.runner.of("j"), nil)
			equal(t, "missed", h.history.missedOf("j"), []string{"01:00:00 hold"})
		})
	})
}

// clusterWithout is b's view while a is reachable, but runs other jobs.
func clusterWithout(lastSeen time.Time) *election.View {
	s := clusterOf(lastSeen, nil, nil).State()
	s.Peers[0].Status, s.Peers[0].JobSetID = election.StatusDrifted, "v1:y"
	s.Peers[1].MutualAgreeing = []string{"b"}
	return election.NewView(s)
}

func TestElsewhere(t *testing.T) {
	d := newHarness(t)
	for want, decisions := range map[bool][]election.Decision{
		true: {{Code: election.CodeNotLeader, Owner: "a"}, {Code: election.CodeNotOwner, Owner: "c"}, {Code: election.CodeTwin, Owner: me}},
		false: {{Code: election.CodeNotLeader, Owner: me}, {Code: election.CodeConflict, Owner: "a"}, {Code: election.CodeNoQuorum},
			{Code: election.CodeHold, Owner: "a"}, {Code: election.CodeNoLeader}, {Code: election.CodeNoManager}},
	} {
		for _, v := range decisions {
			if d.elsewhere(v) != want {
				t.Errorf("%+v: %t", v, !want)
			}
		}
	}
}

// Of several firings of one job that are granted at once and must not overlap, the oldest
// one starts, whichever launcher comes first.
func TestLateFiringsStartInOrder(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T, h *harness) {
			h.log.SetLevel(0)
			h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Minute} }
			c := newFakeCoordinator(following())
			h.begin(true, c, testJob(t, "j", "* * * * * * *", policy(election.Leader), concurrency(Forbid)))
			wait(8*time.Second + time.Second/2)
			c.set(leading(time.Now()))
			wait(0)
			if starts := h.runner.all(); len(starts) != 1 || starts[0].firing != "2000-01-01T00:00:01Z" {
				t.Errorf("started %+v", starts)
			}
		})
	}
}
