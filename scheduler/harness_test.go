package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// memory is a History that forgets nothing.
type memory struct {
	mu     sync.Mutex
	runs   []history.Run
	missed []history.Missed
	going  map[string]bool // ids of started runs without an end
	pauses map[string]history.Pause
}

func (m *memory) AddRun(r history.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, r)
	return nil
}

func (m *memory) AddMissed(r history.Missed) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missed = append(m.missed, r)
	return nil
}

func (m *memory) LastRun(job string) (history.Run, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(m.runs) {
		if r.Job == job {
			return r, true
		}
	}
	return history.Run{}, false
}

// of tells a job's runs in short: outcome, attempt and reason.
func (m *memory) of(job string) (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runs {
		if r.Job == job {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %d %s", r.Outcome, r.Attempt, r.FailReason)))
		}
	}
	return texts
}

// missedOf tells a job's missed firings in short: instant and code.
func (m *memory) missedOf(job string) (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.missed {
		if r.Job == job {
			texts = append(texts, r.Firing.Format("15:04:05")+" "+r.Code)
		}
	}
	return texts
}

// harness is a Dispatcher with everything around it.
type harness struct {
	*Dispatcher
	t       *testing.T
	runner  *fakeRunner
	history *memory
	offset  atomic.Int64 // of the wall clock

	mu     sync.Mutex
	events []Event
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, runner: newFakeRunner(), history: &memory{}}
	d, err := NewDispatcher(DispatcherConfig{
		Node: me, Runner: h.runner, History: h.history, Environ: []string{"PATH=/bin"},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: logTo{t}}),
		Now:    func() time.Time { return time.Now().Add(time.Duration(h.offset.Load())) },
		Random: func() float64 { return 0.5 },
		Events: func(e Event) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, e)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Dispatcher = d
	return h
}

// logTo writes log lines to a test.
type logTo struct{ t *testing.T }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// begin applies the jobs and starts; the end of the test's function must stop.
func (h *harness) begin(elect bool, c Coordinator, jobs ...*Job) {
	h.t.Helper()
	h.Apply(Plan{Jobs: jobs, Elect: elect})
	h.SetCoordinator(c)
	if err := h.Start(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// stop ends everything; what runs is cancelled.
func (h *harness) stop() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
		h.t.Error(err)
	}
}

// kinds counts the events of a kind that are about a job.
func (h *harness) kinds(kind EventKind, job string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if e.Kind == kind && (e.Job == nil || e.Job.Name == job) {
			n++
		}
	}
	return n
}

// verdicts tells a job's decisions in short.
func (h *harness) verdicts(job string) (texts []string) {
	for _, v := range h.Decisions(job) {
		texts = append(texts, fmt.Sprintf("%s %s x%d", v.Outcome, v.Code, v.Count))
	}
	return texts
}

// wait lets time pass until everybody is idle.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of a bubble: this is how its time passes
	synctest.Wait()
}

// bubble runs a test in fake time. It begins at midnight, 2000-01-01 UTC.
func bubble(t *testing.T, f func(t *testing.T, h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		f(t, h)
		h.stop()
	})
}

// testJob is an enabled job that runs on every node.
func testJob(t testing.TB, name, schedule string, change ...func(*Job)) *Job {
	t.Helper()
	s, err := ParseSchedule(schedule, DayMatchAnd)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{
		Name: name, Command: Command{Line: "true"}, Enabled: true, Schedule: s, ScheduleText: schedule, UTC: true,
		Timezone: "UTC", Location: time.UTC, ConcurrencyPolicy: Allow, ClusterPolicy: election.EveryNode,
		StartingDeadline: 30 * time.Second, KillTimeout: 30 * time.Second,
		FailsWhen: FailsWhen{NonzeroReturn: true, ProducesStderr: true}, CaptureStderr: true, SaveLimit: 100,
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func policy(p election.Policy) func(*Job)        { return func(j *Job) { j.ClusterPolicy = p } }
func concurrency(p ConcurrencyPolicy) func(*Job) { return func(j *Job) { j.ConcurrencyPolicy = p } }
func startsWithin(d time.Duration) func(*Job)    { return func(j *Job) { j.StartingDeadline = d } }
func retries(n int, d, m time.Duration) func(*Job) {
	return func(j *Job) { j.Retry = Retry{Maximum: n, InitialDelay: d, MaximumDelay: m, Multiplier: 2} }
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
