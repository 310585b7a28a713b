package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestConcurrencyPolicies(t *testing.T) {
	for policy, c := range map[ConcurrencyPolicy]struct {
		starts []string
		peak   int
	}{
		Allow:   {[]string{"00:01:00", "00:02:00", "00:03:00", "00:04:00"}, 3},
		Forbid:  {[]string{"00:01:00", "00:04:00"}, 1},
		Replace: {[]string{"00:01:00", "00:02:05", "00:03:05", "00:04:05"}, 1},
	} {
		t.Run(string(policy), func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				h.runner.behave = func(string, int) behaviour {
					return behaviour{lasts: 150 * time.Second, stubborn: 5 * time.Second}
				}
				h.begin(false, nil, testJob(t, "j", "* * * * *", concurrency(policy)), testJob(t, "k", "* * * * *"))
				wait(4*time.Minute + 10*time.Second)
				equal(t, "starts", h.runner.of("j"), c.starts)
				if h.runner.peak["j"] != c.peak {
					t.Errorf("%d at a time", h.runner.peak["j"])
				}
				equal(t, "the other job", h.runner.of("k"), []string{"00:01:00", "00:02:00", "00:03:00", "00:04:00"})
			})
		})
	}
}

func TestReplacedRunsLeaveNoRecord(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(_ string, n int) behaviour {
			return behaviour{lasts: time.Hour, code: 1, stubborn: time.Second}
		}
		h.begin(false, nil, testJob(t, "j", "* * * * *", concurrency(Replace), retries(3, 2*time.Second, 2*time.Second)))
		wait(3*time.Minute + 30*time.Second)
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:02:01", "00:03:01"})
		equal(t, "history", h.history.of("j"), nil)
		if n := h.kinds(RunReplaced, "j"); n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

// An instance that waits for the end of the one it replaces is itself replaced.
func TestReplaceTwiceWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(_ string, n int) behaviour {
			return behaviour{lasts: time.Hour, stubborn: 150 * time.Second}
		}
		h.begin(false, nil, testJob(t, "j", "* * * * *", concurrency(Replace)))
		wait(5 * time.Minute) // 00:01 runs until 00:04:30; those of 00:02 to 00:04 wait
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:04:30"})
		if !h.IsRunning("j") || h.runner.peak["j"] != 1 {
			t.Error("not exactly one runs")
		}
		for _, s := range h.runner.all()[1:] {
			if s.firing != "2000-01-01T00:04:00Z" {
				t.Errorf("firing %s", s.firing)
			}
		}
	})
}

func TestManualStart(t *testing.T) {
	ctx := context.Background()
	t.Run("errors", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.begin(false, nil, testJob(t, "j", "0 * * * *"), testJob(t, "off", "0 * * * *", func(j *Job) { j.Enabled = false }))
			for job, want := range map[string]error{"j": nil, "off": ErrDisabled, "none": ErrUnknownJob} {
				if err := h.StartJob(ctx, job); !errors.Is(err, want) {
					t.Errorf("%s: %v", job, err)
				}
			}
			h.Quiesce()
			if err := h.StartJob(ctx, "j"); !errors.Is(err, ErrStopping) {
				t.Errorf("stopping: %v", err)
			}
			synctest.Wait()
			equal(t, "starts", h.runner.of("j"), []string{"00:00:00"})
			if s := h.runner.all()[0]; s.firing != "" || s.attempt != "1" {
				t.Errorf("%+v", s)
			}
		})
	})
	t.Run("replace waits", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, stubborn: 7 * time.Second} }
			h.begin(false, nil, testJob(t, "j", "0 * * * *", concurrency(Replace)))
			begin := time.Now()
			for range 3 {
				if err := h.StartJob(ctx, "j"); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(begin); took != 14*time.Second {
				t.Errorf("took %s", took)
			}
			if h.runner.peak["j"] != 1 {
				t.Error("two at a time")
			}
		})
	})
	t.Run("forbid starts nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour} }
			h.begin(false, nil, testJob(t, "j", "0 * * * *", concurrency(Forbid)))
			for range 2 {
				if err := h.StartJob(ctx, "j"); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, "starts", h.runner.of("j"), []string{"00:00:00"})
		})
	})
	t.Run("an impatient caller", func(t *testing.T) {
		bubble(t, func(t *testing.T, h *harness) {
			h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, stubborn: 7 * time.Second} }
			h.begin(false, nil, testJob(t, "j", "0 * * * *", concurrency(Replace)))
			if err := h.StartJob(ctx, "j"); err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if err := h.StartJob(short, "j"); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			wait(10 * time.Second)
			equal(t, "starts", h.runner.of("j"), []string{"00:00:00", "00:00:07"})
		})
	})
}

func TestCancel(t *testing.T) {
	ctx := context.Background()
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, stubborn: 3 * time.Second} }
		j := testJob(t, "j", "0 * * * *", retries(5, time.Minute, time.Minute))
		h.begin(false, nil, j)
		if err := h.CancelJob(ctx, "j"); !errors.Is(err, ErrNotRunning) {
			t.Error(err)
		}
		if err := h.CancelJob(ctx, "none"); !errors.Is(err, ErrUnknownJob) {
			t.Error(err)
		}
		wait(time.Hour)
		if err := h.StartJob(ctx, "j"); err != nil {
			t.Fatal(err)
		}
		if s, _ := h.Job("j"); !s.Running || len(s.PIDs) != 2 {
			t.Errorf("status %+v", s)
		}
		begin := time.Now()
		if err := h.CancelJob(ctx, "j"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		equal(t, "history", h.history.of("j"), []string{"cancelled 1 cancelled via web UI", "cancelled 1 cancelled via web UI"})
		if h.IsRunning("j") {
			t.Error("still running")
		}
		wait(10 * time.Minute)
		equal(t, "starts", h.runner.of("j"), []string{"01:00:00", "01:00:00"})

		// Instances outlive their job's place in the configuration, and can be ended.
		if err := h.StartJob(ctx, "j"); err != nil {
			t.Fatal(err)
		}
		h.Apply(Plan{})
		if _, ok := h.Job("j"); ok || !h.IsRunning("j") {
			t.Error("a removed job runs on, and is no job")
		}
		if err := h.CancelJob(ctx, "j"); err != nil {
			t.Error(err)
		}
		if err := h.CancelJob(ctx, "j"); !errors.Is(err, ErrUnknownJob) {
			t.Error(err)
		}
	})
}

// An instance that waits to start is cancelled, too.
func TestCancelWhileReplacing(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, stubborn: 90 * time.Second} }
		h.begin(false, nil, testJob(t, "j", "1,2 * * * *", concurrency(Replace)))
		wait(2*time.Minute + time.Second)
		if err := h.CancelJob(context.Background(), "j"); err != nil {
			t.Error(err)
		}
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00"})
		equal(t, "history", h.history.of("j"), []string{"cancelled 1 cancelled via web UI"})
	})
}

// A process that is being started when its job is cancelled is ended.
func TestCancelWhileStarting(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		release := make(chan struct{})
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, hang: release} }
		h.begin(false, nil, testJob(t, "j", "* * * * *"))
		wait(time.Minute)
		if s, _ := h.Job("j"); !s.Running || len(s.PIDs) != 0 {
			t.Errorf("status %+v", s)
		}
		time.AfterFunc(time.Second, func() { close(release) })
		if err := h.CancelJob(context.Background(), "j"); err != nil {
			t.Error(err)
		}
		if now := time.Now().UTC().Format("15:04:05"); now != "00:01:01" {
			t.Errorf("it ended at %s", now)
		}
		equal(t, "history", h.history.of("j"), []string{"cancelled 1 cancelled via web UI"})
	})
}

// What waits for a launcher when its job is disabled or its deadline passes is not started.
func TestQueuedTooLong(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.launcher.width = 1
		release := make(chan struct{})
		h.runner.behave = func(job string, _ int) behaviour {
			if job == "slow" {
				return behaviour{hang: release}
			}
			return behaviour{}
		}
		jobs := []*Job{testJob(t, "slow", "0 * * * *"), testJob(t, "off", "0 * * * *"),
			testJob(t, "late", "0 * * * *", startsWithin(5*time.Second)), testJob(t, "fine", "0 * * * *")}
		h.begin(false, nil, jobs...)
		wait(time.Hour + 10*time.Second)
		off := *jobs[1]
		off.Enabled = false
		h.Apply(Plan{Jobs: []*Job{jobs[0], &off, jobs[2], jobs[3]}})
		close(release)
		synctest.Wait()
		for job, want := range map[string][]string{"off": nil, "late": nil, "fine": {"01:00:10"}} {
			equal(t, job, h.runner.of(job), want)
		}
		equal(t, "off", h.verdicts("off"), []string{"skipped removed x1"})
		equal(t, "late", h.history.missedOf("late"), []string{"01:00:00 late"})
	})
}

func TestStop(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: 30 * time.Second, stubborn: time.Second} }
		h.begin(false, nil, testJob(t, "j", "* * * * *"))
		wait(time.Minute)
		begin := time.Now()
		if err := h.Stop(context.Background()); err != nil || time.Since(begin) != 30*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		equal(t, "history", h.history.of("j"), []string{"success 1"})
		wait(10 * time.Minute)
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00"})
	})
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, stubborn: time.Second} }
		ctx, cancel := context.WithCancel(context.Background())
		h.Apply(Plan{Jobs: []*Job{testJob(t, "j", "* * * * *")}})
		if err := h.Start(ctx); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		cancel() // of Start's context: no new firings
		wait(2 * time.Minute)
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00"})
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		if err := h.Stop(limit); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 11*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		equal(t, "history", h.history.of("j"), []string{"cancelled 1 cancelled: the agent was stopped"})
	})
	bubble(t, func(t *testing.T, h *harness) {
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := h.Start(context.Background()); err == nil {
			t.Error("started after Stop")
		}
	})
}
