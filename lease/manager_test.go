package lease

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// member is a process in a test.
type member struct {
	*Manager
	store *memoryStore
	log   *logBuffer
	runs  *runs
}

// runs are the guarded jobs that run at a member.
type runs struct {
	mu   sync.Mutex
	jobs []string
}

func (r *runs) set(jobs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = jobs
}

func (r *runs) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// join starts a process; the test stops it.
func join(t *testing.T, world *memory, n int) *member {
	t.Helper()
	start := time.Now()
	x := &member{store: world.open(n), log: &logBuffer{}, runs: &runs{}}
	m, err := New(Config{
		Backend: "memory", Identity: x.store.who, JobSetID: "v1:a", Timing: simTiming(), Store: x.store,
		NeedRunning: func(job string) bool { return strings.HasPrefix(job, "forbid") },
		Guarded:     x.runs.list,
		Clock:       func() time.Duration { return time.Since(start) },
		Logger:      hclog.New(&hclog.LoggerOptions{Output: x.log, Level: hclog.Debug}),
	})
	if err != nil {
		t.Fatal(err)
	}
	x.Manager = m
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *member) stop(t *testing.T) {
	t.Helper()
	if err := x.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func pass(d time.Duration) { <-time.After(d) }

func firing(job string) []election.Firing {
	return []election.Firing{{Job: job, At: time.Now().UTC().Truncate(time.Second)}}
}

func inBubble(t *testing.T, f func(t *testing.T, world *memory)) {
	for _, stands := range []bool{false, true} {
		name := "ends by itself"
		if stands {
			name = "stands"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, newMemory(stands, simTTL)) })
		})
	}
}

func TestResignHandsOverAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a, b := join(t, world, 0), join(t, world, 1)
		pass(3 * time.Second)
		if !a.View().IsLeader() || b.View().Leader() != "node-a" {
			t.Fatalf("a leads %v, b sees %q", a.View().IsLeader(), b.View().Leader())
		}
		claimed := firing("j")
		if v := a.Claim(t.Context(), claimed)[0]; v.Outcome != election.Granted {
			t.Fatalf("the claim: %+v", v)
		}
		if err := a.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v := a.View(); v.IsLeader() || !v.Stopping() {
			t.Errorf("the one that resigned: leads %v, stops %v", v.IsLeader(), v.Stopping())
		}
		pass(simTiming().Observe + time.Millisecond)
		if l := b.View().Lease(); !l.Leading || l.Former != "node-a" || time.Since(l.FormerSeen) > 2*simTiming().Observe+handOver {
			t.Errorf("the next one: %+v", l)
		}
		told := b.Probe(t.Context(), claimed)[0]
		if told.Outcome != election.Denied || !told.Held || told.Holder != "node-a" {
			t.Errorf("what the former leader claimed: %+v", told)
		}
		if _, heard := b.Witness(claimed[0], told.HolderID); !heard.Equal(time.Now()) {
			t.Errorf("one that gave the lease up was heard of until %v", heard)
		}
		if _, heard := b.Witness(claimed[0], b.View().Lease().HolderID); time.Since(heard) > simTiming().Observe {
			t.Errorf("the one that leads was heard of until %v", heard)
		}
		pass(2 * simTTL)
		if a.View().Leader() != "node-b" {
			t.Errorf("the one that resigned sees %q lead", a.View().Leader())
		}
		a.stop(t)
		b.stop(t)
	})
}

// Somebody removes the record of a holder that does not hear of it. Where a challenger
// judges how long a record stands, it waits until that holder has stopped by itself.
func TestRemovedRecordStandsForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := newMemory(true, simTTL)
		a, b := join(t, world, 0), join(t, world, 1)
		pass(simTiming().Observe + 10*time.Millisecond)
		a.store.setCut(true)
		world.mu.Lock()
		world.holder = nil
		world.mu.Unlock()
		for range 3 * simTTL / (10 * time.Millisecond) {
			pass(10 * time.Millisecond)
			if a.View().IsLeader() && b.View().IsLeader() {
				t.Fatal("both lead")
			}
		}
		if !b.View().IsLeader() {
			t.Error("nobody leads")
		}
		a.store.setCut(false)
		pass(simTTL)
		a.stop(t)
		b.stop(t)
	})
}

func TestLeadershipEndsByTheOwnClock(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a := join(t, world, 0)
		pass(time.Second + time.Millisecond)
		a.store.setCut(true)
		// At the latest a moment ago was the newest renewal.
		pass(simTTL - ClockMargin)
		if v := a.View(); v.IsLeader() || !v.Lease().Expiry.IsZero() {
			t.Error("it leads although nothing renewed its lease")
		}
		if v := election.Decide(election.PreferLeader, true, a.View(), "j"); v.Action != election.Run {
			t.Errorf("a PreferLeader job: %+v", v)
		}
		pass(ClockMargin + time.Second)
		if a.View().Quorate() {
			t.Error("a read is fresh that is older than the lease")
		}
		if v := a.Claim(t.Context(), firing("j"))[0]; v.Outcome != election.Pending || v.Code != CodeNotHolder {
			t.Errorf("a claim: %+v", v)
		}
		if n := a.log.count("does not serve this node"); n > 2 {
			t.Errorf("one failure was logged %d times", n)
		}
		a.store.setCut(false)
		pass(2 * simTTL)
		if !a.View().IsLeader() || a.log.count("the lease store answers again") != 1 {
			t.Error("it does not lead again")
		}
		a.stop(t)
	})
}

func TestNobodyIsSkippedWhenTheStoreCannotBeSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a, b := join(t, world, 0), join(t, world, 1)
		pass(3 * time.Second)
		b.store.setCut(true)
		seen := time.Now()
		pass(simTTL + time.Second)
		l := b.View().Lease()
		if l.Fresh || l.Former != "node-a" || l.FormerSeen.After(seen) {
			t.Errorf("without a store: %+v", l)
		}
		b.store.setCut(false)
		pass(3 * time.Second)
		if v := election.Decide(election.PreferLeader, true, b.View(), "j"); v.Action != election.Skip || v.Owner != "node-a" {
			t.Errorf("with the store again: %+v", v)
		}
		a.stop(t)
		b.stop(t)
	})
}

func TestRunningElsewhereIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a, b := join(t, world, 0), join(t, world, 1)
		pass(3 * time.Second)
		if v := a.Claim(t.Context(), firing("forbid"))[0]; v.Outcome != election.Granted || v.RunningOn != "" {
			t.Fatalf("the first claim: %+v", v)
		}
		a.runs.set("forbid")
		pass(time.Second)
		if err := a.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		// For as long as the former leader is there, and for all that it does not lead.
		pass(4 * simTTL)
		if v := b.Claim(t.Context(), firing("forbid"))[0]; v.Outcome != election.Granted || v.RunningOn != "node-a" {
			t.Errorf("while the job runs at the former leader: %+v", v)
		}
		if v := b.Claim(t.Context(), firing("other"))[0]; v.Outcome != election.Granted || v.RunningOn != "" {
			t.Errorf("a job that may overlap: %+v", v)
		}
		a.runs.set()
		pass(2 * time.Second)
		if v := b.Claim(t.Context(), firing("forbid"))[0]; v.Outcome != election.Granted || v.RunningOn != "" {
			t.Errorf("after its end: %+v", v)
		}
		// A process that ends without a word is not waited for longer than a lease.
		a.runs.set("forbid")
		pass(2 * time.Second)
		a.store.setCut(true)
		pass(time.Second)
		if v := b.Claim(t.Context(), firing("forbid"))[0]; v.RunningOn != "node-a" {
			t.Errorf("just after it fell silent: %+v", v)
		}
		pass(simTTL)
		if v := b.Claim(t.Context(), firing("forbid"))[0]; v.RunningOn != "" {
			t.Errorf("a lease later: %+v", v)
		}
		a.store.setCut(false)
		a.runs.set()
		a.stop(t)
		b.stop(t)
		if len(world.marks) != 0 {
			t.Errorf("marks are left: %v", world.marks)
		}
	})
}

func TestOneShotsRunOncePerJobSet(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a, b := join(t, world, 0), join(t, world, 1)
		pass(3 * time.Second)
		boot := []election.Firing{{Job: "boot"}}
		if a.RebootRan("boot") {
			t.Error("it ran before anything happened")
		}
		if v := a.Claim(t.Context(), boot)[0]; v.Outcome != election.Granted || v.Token == 0 {
			t.Fatalf("the claim: %+v", v)
		}
		if !a.RebootRan("boot") {
			t.Error("the claimant does not know that it ran")
		}
		a.stop(t)
		pass(2 * simTTL)
		if !b.RebootRan("boot") {
			t.Error("the next leader does not know that it ran")
		}
		if v := b.Claim(t.Context(), boot)[0]; v.Outcome != election.Denied || v.Code != string(election.RefusedAlreadyRan) {
			t.Errorf("another claim: %+v", v)
		}
		b.SetJobSet("v1:b")
		pass(time.Second)
		if b.RebootRan("boot") {
			t.Error("it ran under a job set that is new")
		}
		if err := b.MarkRebootRan(t.Context(), "warm"); err != nil || !b.RebootRan("warm") {
			t.Errorf("marking: %v", err)
		}
		b.stop(t)
	})
}

// An answer that is lost must not turn a one-shot that never ran into one that did.
func TestLostAnswerOfAOneShotIsAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a := join(t, world, 0)
		pass(time.Millisecond)
		a.store.line.Lock()
		a.store.after = 1
		a.store.line.Unlock()
		boot := []election.Firing{{Job: "boot"}}
		if v := a.Claim(t.Context(), boot)[0]; v.Outcome != election.Pending || v.Code != CodeNoStore {
			t.Fatalf("without an answer: %+v", v)
		}
		a.store.line.Lock()
		a.store.after = 0
		a.store.line.Unlock()
		pass(2 * simTTL)
		if a.RebootRan("boot") {
			t.Error("what was asked for and not answered counts as run")
		}
		if v := a.Claim(t.Context(), boot)[0]; v.Outcome != election.Granted {
			t.Errorf("asked for again: %+v", v)
		}
		a.stop(t)
	})
}

// A grant too short to lead on is said once, and so is that it is long enough again.
func TestGrantBelowTheFloor(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a := join(t, world, 0)
		pass(time.Second)
		setTTL := func(d time.Duration) {
			world.mu.Lock()
			defer world.mu.Unlock()
			world.ttl = d
		}
		setTTL(1500 * time.Millisecond)
		pass(2 * simTTL)
		if a.View().IsLeader() {
			t.Error("it leads on a grant that leaves half a second")
		}
		if n := a.log.count("for less than this node can lead on"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		setTTL(simTTL)
		pass(simTTL)
		if !a.View().IsLeader() || a.log.count("for long enough again") != 1 {
			t.Error("it does not lead again")
		}
		a.stop(t)
	})
}

func TestResignWithoutStoreGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, world *memory) {
		a := join(t, world, 0)
		pass(time.Second)
		a.store.setCut(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		if v := a.View(); v.IsLeader() || !v.Stopping() {
			t.Error("it still leads")
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Errorf("a second stop: %v", err)
		}
	})
}

func TestTimingIsChecked(t *testing.T) {
	good := simTiming()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Timing){
		"duration":                   func(t *Timing) { t.Duration = 0 },
		"renewal period":             func(t *Timing) { t.Renew = t.Duration - ClockMargin },
		"floor":                      func(t *Timing) { t.Floor = ClockMargin },
		"limit of a call":            func(t *Timing) { t.Call = -1 },
		"duration: must be at least": func(t *Timing) { t.Floor = t.Duration + 1 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
