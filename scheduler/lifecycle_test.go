package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yacron2/yacron2/election"
)

// What is granted or reaches a launcher after the running jobs were cancelled does not
// start any more: nobody would cancel it, and the agent would wait for it.
func TestNothingStartsAfterCancelAll(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour} }
		c := newFakeCoordinator(leading(time.Now()))
		c.wait = 3 * time.Second
		h.begin(true, c, testJob(t, "claimed", "0 * * * *", policy(election.Leader)))
		wait(time.Hour + time.Millisecond)
		begin := time.Now()
		h.Quiesce()
		h.CancelAll()
		if err := h.Stop(context.Background()); err != nil || time.Since(begin) > 5*time.Second {
			t.Errorf("stopped after %s: %v", time.Since(begin), err)
		}
		equal(t, "starts", h.runner.of("claimed"), nil)
		equal(t, "missed", h.history.missedOf("claimed"), []string{"01:00:00 stopping"})
	})
	bubble(t, func(t *testing.T, h *harness) {
		h.launcher.width = 1
		release := make(chan struct{})
		h.runner.behave = func(string, int) behaviour { return behaviour{lasts: time.Hour, hang: release} }
		h.begin(false, nil, testJob(t, "slow", "0 * * * *"), testJob(t, "queued", "0 * * * *"))
		wait(time.Hour + time.Millisecond)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		time.AfterFunc(5*time.Second, func() { close(release) })
		if err := h.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		equal(t, "starts", h.runner.of("queued"), nil)
		equal(t, "missed", h.history.missedOf("queued"), []string{"01:00:00 stopping"})
	})
}

// Firings that wait here for an owner that nobody knows are lost to this node when it
// stops, and are recorded; those of another node are its own affair.
func TestQuiesceRecordsParkedFirings(t *testing.T) {
	for name, test := range map[string]struct {
		view func(time.Time) *election.View
		want []string
	}{
		"without quorum":    {alone, []string{"01:00:00 no-quorum"}},
		"another node owns": {func(time.Time) *election.View { return following() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				h.begin(true, newFakeCoordinator(test.view(time.Now())), testJob(t, "j", "0 * * * *", policy(election.Leader)))
				wait(time.Hour + time.Second)
				h.Quiesce()
				synctest.Wait()
				equal(t, "missed", h.history.missedOf("j"), test.want)
			})
		})
	}
}

// When a whole cluster is stopped, each node owns the jobs for a moment, and asks in vain
// for what those before it have long run. That is no loss, and nobody is to be alarmed:
// only what was due when the one before had stopped already is.
func TestStopOfTheWholeCluster(t *testing.T) {
	for name, resumed := range map[string]bool{"claims under way": true, "no quorum any more": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				c := &probed{fakeCoordinator: newFakeCoordinator(following())}
				c.answers(func(election.Firing) election.Verdict {
					return election.Verdict{Code: election.CodeUnanswered, Reason: "no answer from 2"}
				})
				h.begin(true, c, testJob(t, "j", "*/10 * * * * * *", policy(election.Leader), startsWithin(2*time.Minute)))
				wait(60*time.Second + 500*time.Millisecond)
				if resumed {
					c.set(clusterOf(time.Now(), nil, []string{"a"})) // b leads, with c
				} else {
					s := clusterOf(time.Now(), []string{"a", "c"}, nil).State()
					s.Peers = slices.Clone(s.Peers)
					s.Peers[0].Stopping = true
					c.set(election.NewView(s))
				}
				wait(time.Second)
				if asked := c.askedFor("j"); (len(asked) > 0) != resumed {
					t.Fatalf("asked for %v", asked)
				}
				h.Quiesce()
				wait(5 * time.Second)
				got := h.history.missedOf("j")
				if len(got) != 1 || !strings.HasPrefix(got[0], "00:01:00 ") { // a stopped half a second later
					t.Errorf("missed: %q", got)
				}
			})
		})
	}
}

// What came due by the old plan while a new one is put into effect is fired by the old.
func TestApplyLosesNothingDue(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		// The minute ends between two looks at the clock.
		var ending atomic.Bool
		h.cfg.Now = func() time.Time {
			if ending.CompareAndSwap(true, false) {
				defer h.offset.Store(int64(31 * time.Second))
				return time.Now().Add(29 * time.Second)
			}
			return time.Now().Add(time.Duration(h.offset.Load()))
		}
		h.begin(false, nil, testJob(t, "j", "1 * * * *"))
		wait(30 * time.Second)
		ending.Store(true)
		h.Apply(Plan{Jobs: []*Job{testJob(t, "j", "2 * * * *")}})
		synctest.Wait()
		equal(t, "starts", h.runner.of("j"), []string{"00:00:30"})
	})
}
