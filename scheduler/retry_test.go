package scheduler

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

func fails(string, int) behaviour { return behaviour{code: 1} }

func TestRetries(t *testing.T) {
	const failed = "failsWhen=nonzeroReturn and retcode=1"
	t.Run("back off, then fail for good", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = fails
			h.begin(false, nil, testJob(t, "j", "0 * * * *", retries(4, 2*time.Second, 10*time.Second)))
			wait(time.Hour + time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:00:02", "01:00:06", "01:00:14", "01:00:24"})
			for i, s := range h.runner.all() {
				if s.attempt != string(rune('1'+i)) || s.firing != "2000-01-01T01:00:00Z" {
					t.Errorf("start %d: %+v", i, s)
				}
			}
			equal(t, "history", h.history.of("j"), []string{
				"failure 1 " + failed, "failure 2 " + failed, "failure 3 " + failed, "failure 4 " + failed, "failure 5 " + failed})
			var permanent, promised int
			for _, e := range h.events {
				if e.Kind == RunFinished && e.Permanent {
					permanent++
				}
				if e.Kind == RunFinished && !e.RetryAt.IsZero() {
					promised++
				}
			}
			if permanent != 1 || promised != 4 {
				t.Errorf("%d permanent failures, %d retries promised", permanent, promised)
			}
		})
	})
	t.Run("success ends them", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(_ string, n int) behaviour { return behaviour{code: max(0, 3-n)} }
			h.begin(false, nil, testJob(t, "j", "0 * * * *", retries(-1, time.Second, 10*time.Second)))
			wait(time.Hour + time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:00:01", "01:00:03"})
			if s, _ := h.Job("j"); s.Retry != nil {
				t.Errorf("retry %+v", s.Retry)
			}
		})
	})
	t.Run("the next firing takes the place of a pending one", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = fails
			h.begin(false, nil, testJob(t, "j", "* * * * *", concurrency(Forbid),
				func(j *Job) {
					j.Retry = Retry{Maximum: 20, InitialDelay: 7 * time.Second, MaximumDelay: 7 * time.Second, Multiplier: 1}
				}))
			wait(2*time.Minute + 10*time.Second)
			equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:01:07", "00:01:14", "00:01:21", "00:01:28",
				"00:01:35", "00:01:42", "00:01:49", "00:01:56", "00:02:00", "00:02:07"})
		})
	})
	t.Run("a firing that Forbid keeps from starting leaves them alone", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(_ string, n int) behaviour { return behaviour{code: 1, lasts: 70 * time.Second} }
			h.begin(false, nil, testJob(t, "j", "* * * * *", concurrency(Forbid), retries(3, 5*time.Second, 5*time.Second)))
			wait(2*time.Minute + 20*time.Second)
			equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:02:15"})
		})
	})
	t.Run("a retry that Forbid keeps from starting waits", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(_ string, n int) behaviour {
				if n == 2 {
					return behaviour{code: 1, lasts: 30 * time.Second} // started by hand
				}
				return behaviour{code: 1}
			}
			h.begin(false, nil, testJob(t, "j", "0 * * * *", concurrency(Forbid), retries(1, 10*time.Second, 10*time.Second)))
			wait(time.Hour + 5*time.Second)
			if err := h.StartJob(context.Background(), "j"); err != nil {
				t.Fatal(err)
			}
			wait(10 * time.Second) // 01:00:15: the retry was due at :10
			s, _ := h.Job("j")
			if s.Retry == nil || s.Retry.Attempt != 2 || !s.Retry.At.IsZero() {
				t.Errorf("retry %+v", s.Retry)
			}
			if s.LastDecision.Outcome != DecidedDeferred || s.LastDecision.Code != CodeRunning {
				t.Errorf("decided %+v", s.LastDecision)
			}
			wait(time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:00:05", "01:00:35"})
			equal(t, "history", h.history.of("j"), []string{"failure 1 " + failed, "failure 1 " + failed, "failure 2 " + failed})
		})
	})
	t.Run("a manual start begins none", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = fails
			h.begin(false, nil, testJob(t, "j", "0 * * * *", retries(3, time.Second, time.Second)))
			if err := h.StartJob(context.Background(), "j"); err != nil {
				t.Fatal(err)
			}
			wait(time.Minute)
			if got := h.runner.of("j"); len(got) != 1 {
				t.Errorf("starts %v", got)
			}
		})
	})
	t.Run("a manual start joins what is going on", func(t *testing.T) {
		for name, c := range map[string]struct {
			code   int // of the manual run
			starts []string
		}{
			// It fails: the pending retry stays the only one. It succeeds: none is needed.
			"and fails":    {1, []string{"01:00:00", "01:00:05", "01:00:10", "01:00:30"}},
			"and succeeds": {0, []string{"01:00:00", "01:00:05"}},
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, h *harness) {
					h.runner.behave = func(_ string, n int) behaviour {
						if n == 2 {
							return behaviour{code: c.code}
						}
						return behaviour{code: 1}
					}
					h.begin(false, nil, testJob(t, "j", "0 * * * *", retries(2, 10*time.Second, time.Minute)))
					wait(time.Hour + 5*time.Second)
					if err := h.StartJob(context.Background(), "j"); err != nil {
						t.Fatal(err)
					}
					wait(5 * time.Minute)
					equal(t, "starts", h.runner.of("j"), c.starts)
				})
			})
		}
	})
	t.Run("a cancelled job has none", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(_ string, n int) behaviour {
				return behaviour{code: 1, lasts: time.Duration(n-1) * time.Hour}
			}
			h.begin(false, nil, testJob(t, "j", "0 1 * * *", retries(2, 10*time.Second, time.Minute)))
			wait(time.Hour + 5*time.Second) // the first run failed
			if err := errors.Join(h.StartJob(context.Background(), "j"), h.CancelJob(context.Background(), "j")); err != nil {
				t.Fatal(err)
			}
			wait(5 * time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:00:05"})
		})
	})
	t.Run("a cancelled older instance ends them as well", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(_ string, n int) behaviour {
				if n == 1 {
					return behaviour{lasts: time.Hour}
				}
				return behaviour{code: 1}
			}
			h.begin(false, nil, testJob(t, "j", "1,2 0 * * *", retries(2, 10*time.Second, time.Minute)))
			wait(2*time.Minute + time.Second)
			if err := h.CancelJob(context.Background(), "j"); err != nil {
				t.Fatal(err)
			}
			wait(5 * time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:02:00"})
		})
	})
	t.Run("none begins while the agent stops", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(string, int) behaviour { return behaviour{code: 1, lasts: time.Minute} }
			h.begin(false, nil, testJob(t, "j", "0 * * * *", retries(2, 10*time.Second, time.Minute)))
			wait(time.Hour + time.Second)
			h.Quiesce()
			wait(5 * time.Minute)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00"})
			if s, _ := h.Job("j"); s.Retry != nil {
				t.Errorf("retry %+v", s.Retry)
			}
			for _, e := range h.events {
				if e.Kind == RunFinished && (e.Permanent || !e.RetryAt.IsZero()) {
					t.Errorf("event %+v", e)
				}
			}
		})
	})
	t.Run("one that was about to start when its job was cancelled", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.launcher.width = 1
			release := make(chan struct{})
			h.runner.behave = func(job string, n int) behaviour {
				switch {
				case job == "slow":
					return behaviour{hang: release}
				case n == 2: // by hand
					return behaviour{lasts: time.Hour}
				}
				return behaviour{code: 1}
			}
			h.begin(false, nil, testJob(t, "j", "0 1 * * *", retries(2, 30*time.Second, time.Minute)), testJob(t, "slow", "10 0 1 * * * *"))
			wait(time.Hour + time.Minute) // the retry waits behind the slow one
			if err := errors.Join(h.StartJob(context.Background(), "j"), h.CancelJob(context.Background(), "j")); err != nil {
				t.Fatal(err)
			}
			close(release)
			wait(time.Hour)
			equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:01:00"})
		})
	})
	t.Run("the job's end is theirs", func(t *testing.T) {
		for name, c := range map[string]struct {
			end  func(*harness, *Job)
			want string
		}{
			"disabled": {func(h *harness, j *Job) {
				off := *j
				off.Enabled = false
				h.Apply(Plan{Jobs: []*Job{&off}})
			}, "cancelled 2 retry abandoned: the job was disabled"},
			"removed": {func(h *harness, _ *Job) { h.Apply(Plan{}) },
				"cancelled 2 retry abandoned: the job was removed from the configuration"},
			"stopping": {func(h *harness, _ *Job) { h.Quiesce() }, "cancelled 2 retry abandoned: the agent is stopping"},
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, h *harness) {
					h.runner.behave = fails
					j := testJob(t, "j", "0 * * * *", retries(3, 30*time.Second, 30*time.Second))
					h.begin(false, nil, j)
					wait(time.Hour + time.Second)
					c.end(h, j)
					wait(time.Minute)
					equal(t, "starts", h.runner.of("j"), []string{"01:00:00"})
					equal(t, "history", h.history.of("j"), []string{"failure 1 " + failed, c.want})
					if h.kinds(RunAbandoned, "j") != 1 {
						t.Error("nobody was told")
					}
				})
			})
		}
	})
	t.Run("a reload keeps them, with the new definition", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = fails
			j := testJob(t, "j", "0 * * * *", retries(1, 30*time.Second, 30*time.Second))
			h.begin(false, nil, j)
			wait(time.Hour + time.Second)
			changed := *j
			changed.Retry.Maximum = 3
			h.Apply(Plan{Jobs: []*Job{&changed}})
			wait(5 * time.Minute)
			if got := len(h.runner.of("j")); got != 4 {
				t.Errorf("%d starts", got)
			}
		})
	})
}

func TestRetriesUnderElection(t *testing.T) {
	for name, c := range map[string]struct {
		policy election.Policy
		view   func() *election.View // while the retry is due
		then   func() *election.View // ten seconds later
		starts []string
		last   string
	}{
		"owner": {election.Leader, nil, nil, []string{"01:00:00", "01:00:05"}, "success 2"},
		"no quorum defers": {election.Leader, func() *election.View { return alone(time.Now()) },
			func() *election.View { return leading(time.Now()) }, []string{"01:00:00", "01:00:15"}, "success 2"},
		"conflict defers": {election.Leader, conflicted,
			func() *election.View { return leading(time.Now()) }, []string{"01:00:00", "01:00:15"}, "success 2"},
		"another owner": {election.Leader, following, func() *election.View { return leading(time.Now()) },
			[]string{"01:00:00"}, "cancelled 2 retry abandoned: cluster ownership moved to another node"},
		"another owner, never skip": {election.PreferLeader, following, func() *election.View { return leading(time.Now()) },
			[]string{"01:00:00"}, "cancelled 2 retry abandoned: cluster ownership moved to another node"},
		"every node": {election.EveryNode, following, nil, []string{"01:00:00", "01:00:05"}, "success 2"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				h.runner.behave = func(_ string, n int) behaviour { return behaviour{code: max(0, 2-n)} }
				co := newFakeCoordinator(leading(time.Now()))
				co.answers(func(election.Firing) election.Verdict {
					return election.Verdict{Outcome: election.Granted, Token: 7}
				})
				h.begin(true, co, testJob(t, "j", "0 * * * *", policy(c.policy), retries(3, 5*time.Second, 5*time.Second)))
				wait(time.Hour + time.Second)
				if c.view != nil {
					co.set(c.view())
				}
				wait(10 * time.Second)
				if c.then != nil {
					co.set(c.then())
				}
				wait(time.Minute)
				equal(t, "starts", h.runner.of("j"), c.starts)
				runs := h.history.of("j")
				if runs[len(runs)-1] != c.last {
					t.Errorf("history %v", runs)
				}
				if n := len(co.askedFor("j")); c.policy == election.Leader && n != 1 {
					t.Errorf("%d claims: a retry runs under the first one", n)
				}
				if c.policy == election.Leader && len(c.starts) == 2 && h.runner.all()[1].token != "7" {
					t.Error("the retry has not the token of its claim")
				}
			})
		})
	}
}

func TestNextDelay(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		r    Retry
		want []time.Duration
	}{
		"doubling":           {Retry{InitialDelay: s, MaximumDelay: 5 * s, Multiplier: 2}, []time.Duration{s, 2 * s, 4 * s, 5 * s, 5 * s}},
		"first one capped":   {Retry{InitialDelay: 9 * s, MaximumDelay: 5 * s, Multiplier: 2}, []time.Duration{5 * s, 5 * s}},
		"none to begin with": {Retry{InitialDelay: 0, MaximumDelay: 3 * s, Multiplier: 2}, []time.Duration{0, s, 2 * s, 3 * s}},
		"shrinking":          {Retry{InitialDelay: 4 * s, MaximumDelay: 9 * s, Multiplier: 0.5}, []time.Duration{4 * s, 2 * s, s, s}},
		"short on purpose":   {Retry{InitialDelay: s / 5, MaximumDelay: s / 5, Multiplier: 1}, []time.Duration{s / 5, s / 5}},
		"overflow":           {Retry{InitialDelay: s, MaximumDelay: math.MaxInt64, Multiplier: 1e300}, []time.Duration{s, math.MaxInt64}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			var prev time.Duration
			for i := range c.want {
				prev = nextDelay(c.r, i, prev)
				got = append(got, prev)
			}
			equal(t, "delays", got, c.want)
		})
	}
}

func TestDelaysStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Retry{
			InitialDelay: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "initial")),
			MaximumDelay: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "maximum")),
			Multiplier:   rapid.Float64Range(1e-9, 1e9).Draw(t, "multiplier"),
		}
		share := rapid.Float64Range(0, 1).Draw(t, "jitter")
		var delay time.Duration
		for i := range 20 {
			delay = nextDelay(r, i, delay)
			j := jittered(delay, share, rapid.Float64Range(0, 0.999999).Draw(t, "random"))
			if delay > r.MaximumDelay || delay < 0 || j > delay || float64(j) < float64(delay)*(1-share)-1 {
				t.Fatalf("delay %d: %s, jittered %s", i, delay, j)
			}
			if i > 0 && delay < min(time.Second, r.MaximumDelay, max(r.InitialDelay, 1)) {
				t.Fatalf("delay %d: %s never backs off", i, delay)
			}
		}
	})
}
