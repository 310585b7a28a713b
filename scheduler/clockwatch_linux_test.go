package scheduler

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// The clock is set by a billionth of a second: the system tells of that as of any step.
func TestClockWatch(t *testing.T) {
	w, err := WatchClock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, ns := range []int64{1, -1} {
		step := unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO}
		// A negative step is a whole second back and the rest forward.
		step.Time.Sec = time.Duration(ns).Nanoseconds() >> 63
		step.Time.Usec = ns - step.Time.Sec*1e9
		if _, err := unix.Adjtimex(&step); errors.Is(err, unix.EPERM) {
			t.Skip("this process may not set the clock")
		} else if err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.C():
		case <-time.After(30 * time.Second):
			t.Fatal("not told that the clock was set")
		}
	}
}

func TestClockWatchCloses(t *testing.T) {
	w, err := WatchClock()
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.Close()
}

// An agent that is told of clock changes looks at the clock at once after one, and
// hardly ever otherwise.
func TestClockChangesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		told := make(chan struct{}, 1)
		h.cfg.ClockSet = told
		h.begin(false, nil, testJob(t, "j", "0 * * * *"))
		wait(10 * time.Minute)
		h.offset.Add(int64(50 * time.Minute)) // now 01:00
		wait(2 * clockCheck)
		equal(t, "starts before it was told", h.runner.of("j"), nil)
		told <- struct{}{}
		synctest.Wait()
		if got := h.runner.of("j"); len(got) != 1 {
			t.Errorf("starts after it was told: %v", got)
		}
	})
}
