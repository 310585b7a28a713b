package scheduler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/scheduler/history"
)

// A receiver that hangs delays nothing, costs bounded memory, and gets what was kept.
func TestSlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		got := 0
		r := newRecorder(&memory{}, func(Event) { <-release; got++ }, hclog.NewNullLogger())
		r.start()
		r.event(Event{})
		synctest.Wait() // the receiver has it in hand
		for range recorderLimit + 100 {
			r.event(Event{Kind: ViewChanged})
		}
		if r.dropped != 100 {
			t.Errorf("%d dropped", r.dropped)
		}
		close(release)
		r.stop()
		if got != recorderLimit+1 {
			t.Errorf("%d received", got)
		}
	})
}

type brokenHistory struct{ memory }

func (*brokenHistory) AddRun(history.Run) error       { return fmt.Errorf("disk full") }
func (*brokenHistory) AddMissed(history.Missed) error { return fmt.Errorf("disk full") }

// A history that cannot be written keeps no job from running.
func TestBrokenHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.cfg.History = &brokenHistory{}
		h.records.history = h.cfg.History
		h.runner.behave = fails
		h.begin(false, nil, testJob(t, "j", "* * * * *", retries(1, time.Second, time.Second)))
		wait(time.Minute + 10*time.Second)
		equal(t, "starts", h.runner.of("j"), []string{"00:01:00", "00:01:01"})
		h.stop()
	})
}

func TestNewDispatcherNeeds(t *testing.T) {
	if _, err := NewDispatcher(DispatcherConfig{History: &memory{}}); err == nil {
		t.Error("no runner")
	}
	if _, err := NewDispatcher(DispatcherConfig{Runner: newFakeRunner()}); err == nil {
		t.Error("no history")
	}
}
