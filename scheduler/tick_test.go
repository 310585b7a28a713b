package scheduler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestFiresAtTheInstant(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		wait(20*time.Second + 300*time.Millisecond)
		h.begin(false, nil, testJob(t, "minute", "* * * * *"), testJob(t, "second", "*/20 * * * * * *"),
			testJob(t, "off", "* * * * *", func(j *Job) { j.Enabled = false }))
		wait(100 * time.Second)
		equal(t, "minute", h.runner.of("minute"), []string{"00:01:00", "00:02:00"})
		equal(t, "second", h.runner.of("second"), []string{"00:00:40", "00:01:00", "00:01:20", "00:01:40", "00:02:00"})
		equal(t, "off", h.runner.of("off"), nil)
		for _, s := range h.runner.all() {
			if s.at.Nanosecond() != 0 || s.firing != s.at.Format(time.RFC3339) || s.attempt != "1" {
				t.Errorf("%+v did not start at its instant", s)
			}
		}
		equal(t, "decisions", h.verdicts("minute"), []string{"run election-off x2"})
		equal(t, "history", h.history.of("minute"), []string{"success 1", "success 1"})
		if s, ok := h.Job("minute"); !ok || s.LastRun == nil || !s.NextAt.Equal(time.Date(2000, 1, 1, 0, 3, 0, 0, time.UTC)) {
			t.Errorf("status %+v", s)
		}
	})
}

func TestLocalTimeAndItsChanges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	in := func(j *Job) { j.Location, j.Timezone, j.UTC = berlin, "Europe/Berlin", false }
	for name, c := range map[string]struct {
		from time.Time
		lock time.Duration
		want []string // starts, UTC
	}{
		// 02:30 does not exist: once, right after the gap, at 03:00 CEST.
		"gap": {time.Date(2000, 3, 25, 23, 0, 0, 0, time.UTC), 5 * time.Hour, []string{"01:00:00"}},
		// 02:30 occurs twice: the first time.
		"overlap": {time.Date(2000, 10, 28, 22, 0, 0, 0, time.UTC), 5 * time.Hour, []string{"00:30:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				h.offset.Store(int64(time.Until(c.from)))
				h.begin(false, nil, testJob(t, "j", "30 2 * * *", in))
				wait(c.lock)
				var got []string
				for _, s := range h.runner.all() {
					got = append(got, s.at.Add(time.Duration(h.offset.Load())).Format("15:04:05"))
				}
				equal(t, "starts", got, c.want)
			})
		})
	}
}

// A wall clock that goes ahead of the timers is what a suspended machine looks like.
func TestLateWakeUp(t *testing.T) {
	for name, c := range map[string]struct {
		sleep  time.Duration
		starts int
		missed []string
	}{
		"within the deadline": {10 * time.Second, 1, nil},
		"several instants":    {2*time.Minute + 10*time.Second, 1, []string{"00:01:00 superseded", "00:02:00 superseded"}},
		"past the deadline": {10*time.Minute + 40*time.Second, 0, []string{
			"00:01:00 superseded", "00:02:00 superseded", "00:03:00 superseded", "00:04:00 superseded", "00:05:00 superseded",
			"00:06:00 superseded", "00:07:00 superseded", "00:08:00 superseded", "00:09:00 superseded", "00:10:00 superseded",
			"00:11:00 late"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				h.begin(false, nil, testJob(t, "j", "* * * * *"))
				wait(51 * time.Second)
				h.offset.Add(int64(c.sleep)) // now 00:00:51 + sleep
				wait(clockCheck)
				if n := len(h.runner.of("j")); n != c.starts {
					t.Errorf("%d starts, want %d", n, c.starts)
				}
				equal(t, "missed", h.history.missedOf("j"), c.missed)
				if c.sleep > time.Minute && h.kinds(ClockStepped, "j") != 1 {
					t.Error("the step was not told")
				}
			})
		})
	}
}

func TestMissedFiringsTellWhy(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "j", "*/10 * * * *", startsWithin(0)))
		wait(9 * time.Minute)
		h.offset.Add(int64(2 * time.Minute))
		wait(clockCheck)
		s, _ := h.Job("j")
		if s.LastMissed == nil || s.LastMissed.Reason != "reached 1m5s after its instant, the starting deadline is 0s" {
			t.Errorf("missed %+v", s.LastMissed)
		}
		if n := h.kinds(FiringMissed, "j"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

func TestClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "fixed", "30 1 * * *"), testJob(t, "wildcard", "*/10 * * * *"))
		wait(95 * time.Minute) // 01:35
		h.offset.Add(-int64(time.Hour))
		wait(clockCheck) // 00:35
		wait(24*time.Hour + 30*time.Minute)
		if got := len(h.runner.of("fixed")); got != 1 {
			t.Errorf("the fixed job ran %d times before the second day's time", got)
		}
		// 9 firings up to 01:30, then 00:40 to 01:00 on the next day.
		if got := len(h.runner.of("wildcard")); got != 9+24*6+3 {
			t.Errorf("the job with wildcards ran %d times", got)
		}
	})
}

func TestReloadLosesAndDoublesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		plan := func() Plan { return Plan{Jobs: []*Job{testJob(t, "j", "*/5 * * * * * *")}} }
		h.Apply(plan())
		h.begin(false, nil, testJob(t, "j", "*/5 * * * * * *"))
		for range 600 {
			wait(100 * time.Millisecond)
			h.Apply(plan())
		}
		synctest.Wait()
		if got := len(h.runner.of("j")); got != 12 {
			t.Errorf("%d starts in a minute, want 12", got)
		}
		h.Apply(Plan{Jobs: []*Job{testJob(t, "k", "* * * * *")}})
		if _, ok := h.Job("j"); ok {
			t.Error("the removed job is still there")
		}
		wait(time.Minute)
		if got := len(h.runner.of("j")); got != 12 {
			t.Errorf("a removed job ran")
		}
	})
}

// What is due when a reload comes is due by the old configuration.
func TestReloadAtTheInstant(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "j", "* * * * *"))
		wait(59 * time.Second)
		h.offset.Add(int64(time.Second)) // the loop sleeps on
		h.Apply(Plan{Jobs: []*Job{testJob(t, "j", "0 * * * *")}})
		synctest.Wait()
		equal(t, "starts", h.runner.of("j"), []string{"00:00:59"})
	})
}

// One job hangs while it is started: the others are not late.
func TestASlowStartDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		release := make(chan struct{})
		h.runner.behave = func(job string, _ int) behaviour {
			if job == "job-000" {
				return behaviour{hang: release}
			}
			return behaviour{lasts: time.Second}
		}
		jobs := make([]*Job, 1000)
		for i := range jobs {
			jobs[i] = testJob(t, fmt.Sprintf("job-%03d", i), "* * * * *")
		}
		h.begin(false, nil, jobs...)
		wait(time.Minute)
		starts := h.runner.all()
		if len(starts) != 1000 {
			t.Fatalf("%d of 1000 started", len(starts))
		}
		for _, s := range starts {
			if s.at.Second() != 0 {
				t.Fatalf("%s is late", s)
			}
		}
		close(release)
		synctest.Wait()
	})
}

// With a single launcher the order of starts is that of the configuration.
func TestLaunchOrder(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.launcher.width = 1
		var jobs []*Job
		var want []string
		for _, name := range []string{"z", "m", "a", "q", "b"} {
			jobs = append(jobs, testJob(t, name, "* * * * *"))
			want = append(want, name+"@00:01:00")
		}
		h.begin(false, nil, jobs...)
		wait(time.Minute)
		var got []string
		for _, s := range h.runner.all() {
			got = append(got, s.String())
		}
		equal(t, "order", got, want)
	})
}
