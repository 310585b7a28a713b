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
	"github.com/yacron2/yacron2/scheduler/run"
)

// start is one process that a fakeRunner was asked for.
type start struct {
	job     string
	firing  string // as the job sees it
	attempt string
	token   string
	at      time.Time
}

func (s start) String() string { return s.job + "@" + s.at.Format("15:04:05") }

// behaviour is what a fake process does.
type behaviour struct {
	lasts    time.Duration // 0: it ends at once
	code     int
	stubborn time.Duration // how long it outlives Cancel
	result   run.Result    // further fields
	hang     chan struct{} // Start returns when it is closed
}

// fakeRunner starts nothing: its processes end by the clock, so that timing can be
// tested in a bubble.
type fakeRunner struct {
	behave func(job string, n int) behaviour // n counts the job's starts from 1

	mu     sync.Mutex
	starts []start
	counts map[string]int
	live   map[string]int
	peak   map[string]int
}

func newFakeRunner() *fakeRunner {
	return &fakeRunner{
		behave: func(string, int) behaviour { return behaviour{} },
		counts: map[string]int{}, live: map[string]int{}, peak: map[string]int{},
	}
}

func variable(env []string, name string) string {
	for _, pair := range env {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

func (r *fakeRunner) Start(spec run.Spec) Process {
	r.mu.Lock()
	r.counts[spec.JobName]++
	n := r.counts[spec.JobName]
	r.starts = append(r.starts, start{
		job: spec.JobName, firing: variable(spec.Env, "YACRON2_FIRING"), attempt: variable(spec.Env, "YACRON2_ATTEMPT"),
		token: variable(spec.Env, "YACRON2_FENCING_TOKEN"), at: time.Now().UTC(),
	})
	r.live[spec.JobName]++
	r.peak[spec.JobName] = max(r.peak[spec.JobName], r.live[spec.JobName])
	r.mu.Unlock()
	b := r.behave(spec.JobName, n)
	if b.hang != nil {
		<-b.hang
	}
	p := &fakeProcess{runner: r, job: spec.JobName, b: b, done: make(chan struct{}), started: time.Now()}
	p.timer = time.AfterFunc(b.lasts, func() { p.finish(b.code) })
	return p
}

// of lists the starts of a job as instants.
func (r *fakeRunner) of(job string) (at []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.starts {
		if s.job == job {
			at = append(at, s.at.Format("15:04:05"))
		}
	}
	return at
}

func (r *fakeRunner) all() []start {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.starts)
}

type fakeProcess struct {
	runner  *fakeRunner
	job     string
	b       behaviour
	started time.Time
	timer   *time.Timer
	done    chan struct{}

	mu        sync.Mutex
	cancelled bool
	result    run.Result
	over      bool
}

func (p *fakeProcess) finish(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	p.result = p.b.result
	p.result.ExitCode, p.result.Cancelled = code, p.cancelled
	p.result.StartedAt, p.result.FinishedAt, p.result.PID = p.started, time.Now(), 1
	p.runner.mu.Lock()
	p.runner.live[p.job]--
	p.runner.mu.Unlock()
	close(p.done)
}

func (p *fakeProcess) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return 0
	}
	return 1
}
func (p *fakeProcess) Done() <-chan struct{} { return p.done }
func (p *fakeProcess) Result() run.Result    { <-p.done; return p.result }
func (p *fakeProcess) Log() *run.Log         { return nil }
func (p *fakeProcess) Cancel() {
	p.mu.Lock()
	p.cancelled = true
	p.mu.Unlock()
	p.timer.Stop()
	time.AfterFunc(p.b.stubborn, func() { p.finish(-15) })
}

// memory is a History that forgets nothing.
type memory struct {
	mu     sync.Mutex
	runs   []history.Run
	missed []history.Missed
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

// fakeCoordinator answers claims as the test says.
type fakeCoordinator struct {
	updates chan struct{}

	mu     sync.Mutex
	view   *election.View
	answer func(election.Firing) election.Verdict
	wait   time.Duration // before a claim is answered
	asked  []election.Firing
	calls  int
	ran    map[string]bool
	marks  []string
	fail   error // of MarkRebootRan
}

var _ Coordinator = (*fakeCoordinator)(nil)

func newFakeCoordinator(v *election.View) *fakeCoordinator {
	return &fakeCoordinator{
		updates: make(chan struct{}, 1), view: v, ran: map[string]bool{},
		answer: func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Granted} },
	}
}

func (c *fakeCoordinator) Start(context.Context) error  { return nil }
func (c *fakeCoordinator) Resign(context.Context) error { return nil }
func (c *fakeCoordinator) Stop(context.Context) error   { return nil }
func (c *fakeCoordinator) Updates() <-chan struct{}     { return c.updates }

func (c *fakeCoordinator) View() *election.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

func (c *fakeCoordinator) set(v *election.View) {
	c.mu.Lock()
	c.view = v
	c.mu.Unlock()
	select {
	case c.updates <- struct{}{}:
	default:
	}
}

func (c *fakeCoordinator) answers(f func(election.Firing) election.Verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

func (c *fakeCoordinator) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	c.mu.Lock()
	c.calls++
	c.asked = append(c.asked, firings...)
	answer, wait := c.answer, c.wait
	c.mu.Unlock()
	if wait > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	verdicts := make([]election.Verdict, len(firings))
	for i, f := range firings {
		verdicts[i] = answer(f)
	}
	return verdicts
}

// askedFor lists how often each instant of a job was asked for, in the order asked.
func (c *fakeCoordinator) askedFor(job string) (at []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.asked {
		if f.Job == job {
			at = append(at, f.At.Format("15:04:05"))
		}
	}
	return at
}

func (c *fakeCoordinator) RebootRan(job string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[job]
}

func (c *fakeCoordinator) MarkRebootRan(_ context.Context, job string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.marks = append(c.marks, job)
	c.ran[job] = true
	return nil
}

// The nodes of the test cluster are a, b and c; the tests are b.
const me = "b"

// clusterOf returns b's view of the three: what is named in gone is unreachable since
// the instant, and what is named in stopping hands over.
func clusterOf(lastSeen time.Time, gone, stopping []string) *election.View {
	members := func() (m []election.Member) {
		for _, n := range []string{"a", "b", "c"} {
			m = append(m, election.Member{NodeName: n, InstanceID: "i" + n, Agreed: true})
		}
		return m
	}
	s := election.State{
		Backend: "gossip", NodeName: me, InstanceID: "i" + me, JobSetID: "v1:x", ElectLeader: true,
		Distribution: election.SingleLeader, ConfiguredSize: 3, Rounds: 10,
	}
	for _, n := range []string{"a", "c"} {
		p := election.Peer{Host: n + ":1", NodeName: n, InstanceID: "i" + n, LastSeen: lastSeen, JobSetID: "v1:x"}
		if slices.Contains(gone, n) {
			p.Status = election.StatusUnreachable
		} else {
			p.Status = election.StatusAgreed
			p.Members = members()
			p.MutualAgreeing = slices.DeleteFunc([]string{"a", "b", "c"}, func(x string) bool { return x == n || slices.Contains(gone, x) })
			p.QuorateVouched = p.MutualAgreeing
			p.DeclaredSize, p.DeclaredPolicy = 3, election.SingleLeader
			p.Stopping = slices.Contains(stopping, n)
		}
		s.Peers = append(s.Peers, p)
	}
	return election.NewView(s)
}

// following is b's view while a leads, leading while a is gone, alone without quorum.
func following() *election.View                    { return clusterOf(time.Now(), nil, nil) }
func leading(lastSeenOfA time.Time) *election.View { return clusterOf(lastSeenOfA, []string{"a"}, nil) }
func alone(lastSeen time.Time) *election.View      { return clusterOf(lastSeen, []string{"a", "c"}, nil) }

// conflicted is b's view as the leader while a peer declares another size.
func conflicted() *election.View {
	s := leading(time.Now()).State()
	s.Peers = slices.Clone(s.Peers)
	for i := range s.Peers {
		if s.Peers[i].NodeName == "c" {
			s.Peers[i].DeclaredSize = 5
		}
	}
	return election.NewView(s)
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
