package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yacron2/yacron2/election"
)

func granted(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Granted} }
func pendingFor(reason string) func(election.Firing) election.Verdict {
	return func(election.Firing) election.Verdict { return election.Verdict{Reason: reason} }
}

func TestClaims(t *testing.T) {
	leader := policy(election.Leader)
	t.Run("granted firings run with their token", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(func(election.Firing) election.Verdict {
				return election.Verdict{Outcome: election.Granted, Token: 42}
			})
			h.begin(true, c, testJob(t, "j", "* * * * *", leader), testJob(t, "k", "* * * * *", leader))
			wait(2 * time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:02:00"})
			equal(t, "asked", c.askedFor("j"), []string{"00:01:00", "00:02:00"})
			if c.calls != 2 {
				t.Errorf("%d claims for two instants", c.calls)
			}
			if s := h.runner.all()[0]; s.token != "42" || s.firing != "2000-01-01T00:01:00Z" {
				t.Errorf("start %+v", s)
			}
			equal(t, "decisions", h.verdicts("j"), []string{"run granted x2"})
		})
	})
	t.Run("denied firings do not run", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(func(election.Firing) election.Verdict {
				return election.Verdict{Outcome: election.Denied, Holder: "c"}
			})
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(90 * time.Second)
			equal(t, "starts", h.runner.of("j"), nil)
			equal(t, "asked", c.askedFor("j"), []string{"00:01:00"})
			equal(t, "missed", h.history.missedOf("j"), nil)
			last := h.Decisions("j")[0]
			if last.Outcome != DecidedDenied || last.Owner != "c" || last.Reason != "this firing is held by c" {
				t.Errorf("decided %+v", last)
			}
		})
	})
	t.Run("denied firings that nobody holds are missed", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(func(election.Firing) election.Verdict {
				return election.Verdict{Outcome: election.Denied, Code: election.CodeSplit, Reason: "competing claims"}
			})
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(90 * time.Second)
			equal(t, "starts", h.runner.of("j"), nil)
			equal(t, "asked", c.askedFor("j"), []string{"00:01:00"})
			equal(t, "missed", h.history.missedOf("j"), []string{"00:01:00 split"})
		})
	})
	t.Run("pending claims are repeated until they are granted", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(pendingFor("1 of 3 votes"))
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(70 * time.Second)
			if n := len(c.askedFor("j")); n < 5 || n > 40 {
				t.Errorf("asked %d times in 10 s", n)
			}
			equal(t, "decisions", h.verdicts("j"), []string{"pending unsettled x1"})
			c.answers(granted)
			wait(3 * time.Second)
			if got := h.runner.of("j"); len(got) != 1 {
				t.Errorf("starts %v", got)
			}
			equal(t, "decisions", h.verdicts("j"), []string{"run granted x1"})
		})
	})
	t.Run("a new view repeats a claim at once", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(pendingFor("1 of 3 votes"))
			h.begin(true, c, testJob(t, "j", "* * * * *", leader))
			wait(70 * time.Second)
			c.answers(granted)
			c.set(leading(time.Now()))
			wait(claimPauseMin)
			if got := h.runner.of("j"); len(got) != 1 {
				t.Errorf("starts %v", got)
			}
		})
	})
	t.Run("unsettled claims are missed at the deadline, with the reason", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(pendingFor("1 of 3 votes, 2 are needed"))
			h.begin(true, c, testJob(t, "j", "0 * * * *", leader, startsWithin(10*time.Second)))
			wait(time.Hour + 15*time.Second)
			c.answers(granted)
			wait(10 * time.Minute)
			equal(t, "starts", h.runner.of("j"), nil)
			equal(t, "missed", h.history.missedOf("j"), []string{"01:00:00 unsettled"})
			if s, _ := h.Job("j"); s.LastMissed.Reason != "not granted within the starting deadline of 10s: 1 of 3 votes, 2 are needed" {
				t.Errorf("reason %q", s.LastMissed.Reason)
			}
			last := c.asked[len(c.asked)-1]
			if n := len(c.asked); n < 5 || last.At.IsZero() {
				t.Errorf("asked %d times", n)
			}
		})
	})
	t.Run("a grant after the deadline is not used", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			release := make(chan struct{})
			c.answers(func(election.Firing) election.Verdict {
				<-release // beyond the context
				return election.Verdict{Outcome: election.Granted}
			})
			h.begin(true, c, testJob(t, "j", "0 * * * *", leader, startsWithin(10*time.Second)))
			wait(time.Hour + 11*time.Second)
			close(release)
			synctest.Wait()
			equal(t, "starts", h.runner.of("j"), nil)
			equal(t, "missed", h.history.missedOf("j"), []string{"01:00:00 late"})
		})
	})
	t.Run("a job with its own deadline is not held up by the batch", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.wait = time.Hour // until the context ends
			c.answers(func(f election.Firing) election.Verdict { return election.Verdict{Reason: "silence"} })
			h.begin(true, c, testJob(t, "short", "0 * * * *", leader, startsWithin(2*time.Second)),
				testJob(t, "long", "0 * * * *", leader, startsWithin(time.Minute)))
			wait(time.Hour + 3*time.Second)
			equal(t, "missed", h.history.missedOf("short"), []string{"01:00:00 unsettled"})
			c.mu.Lock()
			c.wait = 0
			c.mu.Unlock()
			c.answers(granted)
			wait(time.Minute)
			if got := h.runner.of("long"); len(got) != 1 {
				t.Errorf("starts %v", got)
			}
		})
	})
	t.Run("nothing is claimed while a conflict lasts", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(pendingFor("1 of 3 votes"))
			h.begin(true, c, testJob(t, "j", "0 * * * *", leader))
			wait(time.Hour)
			c.answers(granted)
			c.set(conflicted())
			wait(20 * time.Second)
			equal(t, "starts in conflict", h.runner.of("j"), nil)
			if v := h.verdicts("j"); v[len(v)-1] != "pending conflict x1" {
				t.Errorf("decisions %v", v)
			}
			c.set(leading(time.Now()))
			wait(time.Second)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:20"})
		})
	})
	t.Run("ownership that moves does not end a claim", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(pendingFor("answers lost"))
			h.begin(true, c, testJob(t, "j", "0 * * * *", leader))
			wait(time.Hour + time.Second)
			c.set(following())
			wait(5 * time.Second)
			c.answers(func(election.Firing) election.Verdict {
				return election.Verdict{Outcome: election.Denied, Holder: "a"}
			})
			wait(5 * time.Second)
			if v := h.Decisions("j"); v[len(v)-1].Outcome != DecidedDenied || v[len(v)-1].Owner != "a" {
				t.Errorf("decided %+v", v)
			}
		})
	})
	t.Run("a slow claim holds up nothing else", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.wait = 5 * time.Second
			h.begin(true, c, testJob(t, "j", "* * * * * * *", leader), testJob(t, "k", "* * * * * * *"))
			wait(20 * time.Second)
			if got := len(h.runner.of("k")); got != 20 {
				t.Errorf("%d starts of the ungated job in 20 s", got)
			}
			if got := len(h.runner.of("j")); got != 15 {
				t.Errorf("%d starts of the gated job in 20 s, want 15", got)
			}
		})
	})
	t.Run("Forbid and Replace wait for other nodes, Allow does not", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(func(election.Firing) election.Verdict {
				return election.Verdict{Outcome: election.Granted, RunningOn: "a"}
			})
			h.begin(true, c, testJob(t, "allow", "* * * * *", leader),
				testJob(t, "forbid", "* * * * *", leader, concurrency(Forbid)),
				testJob(t, "replace", "* * * * *", leader, concurrency(Replace)))
			wait(time.Minute)
			for job, want := range map[string]string{
				"allow": "run granted x1", "forbid": "skipped running-elsewhere x1", "replace": "skipped running-elsewhere x1",
			} {
				equal(t, job, h.verdicts(job), []string{want})
			}
			if v := h.Decisions("replace")[0]; v.Reason != "the job still runs on a, and concurrencyPolicy is Replace" {
				t.Errorf("reason %q", v.Reason)
			}
		})
	})
	t.Run("no firing is claimed that Forbid would not start", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(string, int) behaviour { return behaviour{lasts: 90 * time.Second} }
			c := newFakeCoordinator(leading(time.Now()))
			h.begin(true, c, testJob(t, "j", "* * * * *", leader, concurrency(Forbid)))
			wait(3 * time.Minute)
			equal(t, "asked", c.askedFor("j"), []string{"00:01:00", "00:03:00"})
			equal(t, "decisions", h.verdicts("j"), []string{"run granted x1", "skipped running x1", "run granted x1"})
		})
	})
	t.Run("big batches are split", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			c := newFakeCoordinator(leading(time.Now()))
			c.answers(func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Denied} })
			jobs := make([]*Job, claimBatch+1)
			for i := range jobs {
				jobs[i] = testJob(t, fmt.Sprint("j", i), "0 1 * * *", leader)
			}
			h.begin(true, c, jobs...)
			wait(time.Hour)
			if c.calls != 2 || len(c.asked) != claimBatch+1 {
				t.Errorf("%d calls for %d firings", c.calls, len(c.asked))
			}
		})
	})
}

// A claimed firing is never asked for again: not after a reload, not by another
// coordinator, not when the clock is set back.
func TestClaimedFiringsStayClaimed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		plan := func() Plan {
			return Plan{Elect: true, Jobs: []*Job{testJob(t, "j", "*/10 * * * *", policy(election.Leader))}}
		}
		c := newFakeCoordinator(leading(time.Now()))
		h.begin(true, c, plan().Jobs...)
		wait(35 * time.Minute) // 00:35
		h.Apply(plan())
		h.SetCoordinator(nil)
		c2 := newFakeCoordinator(leading(time.Now()))
		h.SetCoordinator(c2)
		h.offset.Add(-int64(30 * time.Minute))
		wait(clockCheck) // 00:05
		h.Apply(Plan{Elect: true})
		h.Apply(plan())
		wait(40 * time.Minute) // 00:45
		equal(t, "asked first", c.askedFor("j"), []string{"00:10:00", "00:20:00", "00:30:00"})
		equal(t, "asked then", c2.askedFor("j"), []string{"00:40:00"})
		if v := h.verdicts("j"); !slices.Equal(v, []string{"skipped already-claimed x3", "run granted x1"}) {
			t.Errorf("decisions %v", v)
		}
	})
}

// A clock that jumps ahead and comes back blocks nothing that was not claimed.
func TestClaimsAfterAJumpAhead(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		h.begin(true, c, testJob(t, "j", "*/10 * * * *", policy(election.Leader)))
		wait(10*time.Minute + 30*time.Second)
		h.offset.Add(int64(6*time.Hour + 9*time.Minute + 40*time.Second)) // 06:20:10
		wait(clockCheck)
		h.offset.Store(0)
		wait(20 * time.Minute)
		equal(t, "asked", c.askedFor("j"), []string{"00:10:00", "06:20:00", "00:20:00", "00:30:00"})
	})
}

// hastyCoordinator is gone by the time its view is used.
type hastyCoordinator struct {
	*fakeCoordinator
	hook func()
}

func (c *hastyCoordinator) View() *election.View {
	v := c.fakeCoordinator.View()
	c.hook()
	return v
}

// A view is only used for as long as its coordinator is in charge.
func TestCoordinatorReplacedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		next := newFakeCoordinator(following())
		c := &hastyCoordinator{newFakeCoordinator(leading(time.Now())), func() {}}
		at := time.Now().Add(time.Minute)
		c.hook = func() {
			if !time.Now().Before(at) {
				h.SetCoordinator(next)
			}
		}
		h.begin(true, c, testJob(t, "j", "* * * * *", policy(election.Leader)))
		wait(90 * time.Second)
		equal(t, "asked", append(c.askedFor("j"), next.askedFor("j")...), nil)
		equal(t, "decisions", h.verdicts("j"), []string{"skipped not-leader x1"})
	})
}

func TestQuiesceEndsClaims(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		c.answers(pendingFor("1 of 3 votes"))
		h.begin(true, c, testJob(t, "j", "0 * * * *", policy(election.Leader)))
		wait(time.Hour + time.Second)
		h.Quiesce()
		if err := h.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		equal(t, "missed", h.history.missedOf("j"), []string{"01:00:00 stopping"})
	})
}

// What was granted before the agent began to stop runs: nobody else ever will.
func TestGrantDuringQuiesceRuns(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		c := newFakeCoordinator(leading(time.Now()))
		c.wait = time.Second
		h.begin(true, c, testJob(t, "j", "0 * * * *", policy(election.Leader)))
		wait(time.Hour + time.Millisecond)
		h.Quiesce()
		if err := h.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		equal(t, "starts", h.runner.of("j"), []string{"01:00:01"})
	})
}
