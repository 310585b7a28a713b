package scheduler

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

func (m *memory) AddStarted(r history.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.going == nil {
		m.going = map[string]bool{}
	}
	m.going[r.ID] = true
	return nil
}

func (m *memory) DropStarted(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.going, id)
	return nil
}

// unfinished counts the started runs that neither ended nor were dropped.
func (m *memory) unfinished() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	open := maps.Clone(m.going)
	for _, r := range m.runs {
		delete(open, r.ID)
	}
	return len(open)
}

func (m *memory) Pause(job string) (history.Pause, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pauses[job]
	return p, ok
}

func (m *memory) SetPause(p history.Pause) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pauses == nil {
		m.pauses = map[string]history.Pause{}
	}
	m.pauses[p.Job] = p
	return nil
}

func (m *memory) ClearPause(job string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.pauses[job]
	delete(m.pauses, job)
	return ok, nil
}

// noPauses is a history that keeps none, and nothing of what goes on.
type noPauses struct{}

func (noPauses) AddStarted(history.Run) error            { return nil }
func (noPauses) DropStarted(string) error                { return nil }
func (noPauses) Pause(string) (p history.Pause, ok bool) { return p, false }
func (noPauses) SetPause(history.Pause) error            { return nil }
func (noPauses) ClearPause(string) (bool, error)         { return false, nil }

func TestPauseSkipsFirings(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "minutely", "* * * * *"), testJob(t, "other", "* * * * *"))
		wait(90 * time.Second)
		until := h.now().Add(10 * time.Minute)
		if err := h.PauseJob(history.Pause{Job: "minutely", Since: h.now(), Until: until, Note: "full disk", By: "ops"}); err != nil {
			t.Fatal(err)
		}
		wait(5 * time.Minute)
		if n := len(h.runner.of("minutely")); n != 1 {
			t.Errorf("%d starts in spite of the pause", n)
		}
		if n := len(h.runner.of("other")); n != 6 {
			t.Errorf("the other job started %d times", n)
		}
		equal(t, "verdicts", h.verdicts("minutely"), []string{"run election-off x1", "skipped paused x5"})
		status, _ := h.Job("minutely")
		if status.Pause == nil || status.Pause.Note != "full disk" {
			t.Errorf("status: %+v", status.Pause)
		}
		if reason := status.LastDecision.Reason; reason != "the job is paused on this node until 2000-01-01T00:11:30Z by ops: full disk" {
			t.Errorf("reason: %s", reason)
		}
		// Nobody is kept from starting it by hand.
		if err := h.StartJob(t.Context(), "minutely"); err != nil {
			t.Fatal(err)
		}
		wait(0)
		if n := len(h.runner.of("minutely")); n != 2 {
			t.Errorf("%d starts after one by hand", n)
		}
		wait(6 * time.Minute) // the pause ends by itself at 11:30; the next firing is at 12:00
		if n := len(h.runner.of("minutely")); n != 3 {
			t.Errorf("%d starts after the pause", n)
		}
		if status, _ := h.Job("minutely"); status.Pause != nil {
			t.Errorf("still shown as paused: %+v", status.Pause)
		}
		if err := h.ResumeJob("minutely"); !errors.Is(err, ErrNotPaused) {
			t.Errorf("resume after the end: %v", err)
		}
	})
}

func TestPauseUntilResumed(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "job", "* * * * *"))
		for _, err := range []error{h.PauseJob(history.Pause{Job: "nobody"}), h.ResumeJob("nobody")} {
			if !errors.Is(err, ErrUnknownJob) {
				t.Errorf("an unknown job: %v", err)
			}
		}
		if err := h.ResumeJob("job"); !errors.Is(err, ErrNotPaused) {
			t.Errorf("resume without a pause: %v", err)
		}
		if err := h.PauseJob(history.Pause{Job: "job", Since: h.now()}); err != nil {
			t.Fatal(err)
		}
		wait(24 * time.Hour)
		if n := len(h.runner.of("job")); n != 0 {
			t.Errorf("%d starts in spite of the pause", n)
		}
		if err := h.ResumeJob("job"); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		if n := len(h.runner.of("job")); n != 1 {
			t.Errorf("%d starts in the minute after", n)
		}
	})
}

func TestPauseDefersRetriesAndOneShots(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(job string, n int) behaviour {
			if job == "retried" && n == 1 {
				return behaviour{code: 1}
			}
			return behaviour{}
		}
		h.begin(true, nil,
			testJob(t, "retried", "0 * * * *", retries(3, 10*time.Second, time.Minute)),
			testJob(t, "boot", "@reboot", policy(election.PreferLeader)))
		wait(0)
		before := len(h.runner.of("boot"))
		wait(time.Hour + time.Second) // the first attempt has failed
		if err := h.PauseJob(history.Pause{Job: "retried", Since: h.now()}); err != nil {
			t.Fatal(err)
		}
		wait(10 * time.Minute)
		if n := len(h.runner.of("retried")); n != 1 {
			t.Errorf("%d starts in spite of the pause", n)
		}
		if status, _ := h.Job("retried"); status.Retry == nil || status.Retry.Deferred == "" {
			t.Errorf("the retry is not shown as deferred: %+v", status.Retry)
		}
		if err := h.ResumeJob("retried"); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		if n := len(h.runner.of("retried")); n != 2 {
			t.Errorf("%d starts after the pause", n)
		}
		if before != 1 {
			t.Errorf("the one-shot of a node without a manager ran %d times", before)
		}
	})
}

// What goes on is noted while it does, so that the history can tell of runs that died
// with the agent.
func TestStartedRunsAreNoted(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: 90 * time.Second} }
		h.begin(false, nil, testJob(t, "job", "* * * * *", concurrency(Replace)))
		wait(time.Minute + time.Second)
		if n := h.history.unfinished(); n != 1 {
			t.Errorf("%d runs noted while one goes on", n)
		}
		wait(10 * time.Minute) // each replaces the one before, which leaves no record
		if n := h.history.unfinished(); n != 1 {
			t.Errorf("%d runs noted after ten replaced ones", n)
		}
	})
}
