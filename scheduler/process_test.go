//go:build unix

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// agent is a Dispatcher that starts real processes.
type agent struct {
	*Dispatcher
	history *memory
	dir     string
	events  chan Event
}

func newAgent(t *testing.T) *agent {
	a := &agent{history: &memory{}, dir: t.TempDir(), events: make(chan Event, 10000)}
	d, err := NewDispatcher(DispatcherConfig{
		Node: "b", Runner: ProcessRunner{}, History: a.history, Stdout: io.Discard, Stderr: io.Discard,
		Logger: hclog.New(&hclog.LoggerOptions{Output: logTo{t}}), Events: func(e Event) { a.events <- e },
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Dispatcher = d
	if err := d.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	over := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-over:
			t.Fatalf("not within 30 s: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// wrote waits until a file of the agent's directory has lines, and returns them.
func (a *agent) wrote(t *testing.T, file string, lines int) []string {
	t.Helper()
	var got []string
	eventually(t, fmt.Sprintf("%d lines in %s", lines, file), func() bool {
		text, _ := os.ReadFile(filepath.Join(a.dir, file))
		got = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return len(text) > 0 && len(got) >= lines
	})
	return got
}

func (a *agent) lastRun(t *testing.T, job string) history.Run {
	t.Helper()
	var last history.Run
	eventually(t, "a run of "+job, func() (ok bool) { last, ok = a.history.LastRun(job); return ok })
	return last
}

// shell is a job that runs a command line in the agent's directory.
func (a *agent) shell(t *testing.T, name, schedule, line string, change ...func(*Job)) *Job {
	return testJob(t, name, schedule, append([]func(*Job){func(j *Job) {
		j.Command = Command{Line: line}
		j.WorkingDirectory = a.dir
		j.CaptureStdout = true
		j.KillTimeout = 30 * time.Second
	}}, change...)...)
}

const never = "0 0 1 1 * 2099"

func TestProcessSeesItsFiring(t *testing.T) {
	a := newAgent(t)
	a.Apply(Plan{Jobs: []*Job{
		a.shell(t, "tick", "* * * * * * *", `echo "$YACRON2_FIRING $YACRON2_JOB_NAME $YACRON2_ATTEMPT $YACRON2_NODE $YACRON2_RUN_ID $EXTRA" >> out`,
			func(j *Job) { j.Environment = []EnvVar{{"EXTRA", "a b"}} }),
		a.shell(t, "manual", never, `echo "[$YACRON2_FIRING] $(pwd) ${HOSTNAME:+host}" >> manual`),
	}})
	lines := a.wrote(t, "out", 3)
	seen := map[time.Time]bool{} // a process that is late writes after the next one
	for _, line := range lines[:3] {
		f := strings.Fields(line)
		at, err := time.Parse(time.RFC3339, f[0])
		if err != nil || seen[at] || f[1] != "tick" || f[2] != "1" || f[3] != "b" || len(f[4]) != 32 || f[5] != "a" {
			t.Errorf("%q: %v", line, err)
		}
		seen[at] = true
	}
	if err := a.StartJob(context.Background(), "manual"); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.wrote(t, "manual", 1)[0]; got != "[] "+dir+" host" && got != "[] "+a.dir+" host" {
		t.Errorf("%q", got)
	}
}

func TestProcessCancelled(t *testing.T) {
	a := newAgent(t)
	a.Apply(Plan{Jobs: []*Job{a.shell(t, "j", never, `trap 'echo told >> out; exit 0' TERM; echo up >> out; while :; do sleep 0.05; done`)}})
	if err := a.StartJob(context.Background(), "j"); err != nil {
		t.Fatal(err)
	}
	a.wrote(t, "out", 1)
	s, _ := a.Job("j")
	if !s.Running || len(s.PIDs) != 1 || !a.IsRunning("j") {
		t.Errorf("status %+v", s)
	}
	if err := a.CancelJob(context.Background(), "j"); err != nil {
		t.Fatal(err)
	}
	last, ok := a.history.LastRun("j") // recorded when CancelJob returns
	if !ok || last.Outcome != history.Cancelled || last.FailReason != "cancelled via web UI" || *last.ExitCode != 0 {
		t.Errorf("%+v", last)
	}
	equal(t, "lines", a.wrote(t, "out", 2), []string{"up", "told"})
	if s, _ := a.Job("j"); s.Running || len(s.PIDs) != 0 || s.LastRun == nil {
		t.Errorf("status %+v", s)
	}
}

func TestProcessReplaced(t *testing.T) {
	a := newAgent(t)
	// A second instance at the same time would find the directory there.
	a.Apply(Plan{Jobs: []*Job{a.shell(t, "j", never,
		`mkdir lock || echo overlap >> out; trap 'rmdir lock; exit 0' TERM; echo up >> out; while :; do sleep 0.05; done`,
		concurrency(Replace))}})
	for i := range 3 {
		if err := a.StartJob(context.Background(), "j"); err != nil {
			t.Fatal(err)
		}
		a.wrote(t, "out", i+1)
	}
	if err := a.CancelJob(context.Background(), "j"); err != nil {
		t.Fatal(err)
	}
	equal(t, "lines", a.wrote(t, "out", 3), []string{"up", "up", "up"})
	equal(t, "history", a.history.of("j"), []string{"cancelled 1 cancelled via web UI"})
}

func TestProcessOutcomes(t *testing.T) {
	a := newAgent(t)
	script := filepath.Join(a.dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	list := func(argv ...string) func(*Job) { return func(j *Job) { j.Command = Command{Argv: argv} } }
	jobs := map[string]struct {
		job  *Job
		code int
		want string
	}{
		"fine":        {a.shell(t, "fine", never, "true"), 0, ""},
		"code":        {a.shell(t, "code", never, "exit 7"), 7, "failsWhen=nonzeroReturn and retcode=7"},
		"signal":      {a.shell(t, "signal", never, "kill -9 $$"), -9, "failsWhen=nonzeroReturn and retcode=-9"},
		"stderr":      {a.shell(t, "stderr", never, "echo oops >&2"), 0, "failsWhen=producesStderr and stderr is not empty"},
		"missing":     {a.shell(t, "missing", never, "", list("/nowhere/at-all")), 127, "failsWhen=nonzeroReturn and retcode=127"},
		"not allowed": {a.shell(t, "not allowed", never, "", list(script)), 126, "failsWhen=nonzeroReturn and retcode=126"},
		"too long": {a.shell(t, "too long", never, "exec sleep 60", func(j *Job) { j.ExecutionTimeout = 50 * time.Millisecond }),
			-100, "failsWhen=nonzeroReturn and retcode=-100"},
	}
	var plan Plan
	for _, c := range jobs {
		plan.Jobs = append(plan.Jobs, c.job)
	}
	a.Apply(plan)
	for name, c := range jobs {
		if err := a.StartJob(context.Background(), name); err != nil {
			t.Fatal(err)
		}
		last := a.lastRun(t, name)
		if *last.ExitCode != c.code || last.FailReason != c.want || (last.Outcome == history.Success) != (c.want == "") ||
			last.StartedAt.IsZero() || last.FinishedAt.Before(last.StartedAt) {
			t.Errorf("%s: %+v", name, last)
		}
		if c.code == -100 && (len(last.Notes) != 1 || last.Notes[0] != "ended by its executionTimeout of 50ms") {
			t.Errorf("%s: notes %q", name, last.Notes)
		}
		if c.code == 127 || c.code == 126 {
			if len(last.Notes) == 0 || !strings.HasPrefix(last.Notes[0], "not started: ") {
				t.Errorf("%s: notes %q", name, last.Notes)
			}
		}
	}
	var failed []string
	for done := 0; done < len(jobs); {
		switch e := <-a.events; e.Kind {
		case StartFailed:
			failed = append(failed, e.Job.Name)
		case RunFinished:
			done++
			if (e.Result.Stderr.Text != "") != (e.Job.Name == "stderr") {
				t.Errorf("%s: stderr %q", e.Job.Name, e.Result.Stderr.Text)
			}
		}
	}
	slices.Sort(failed)
	equal(t, "not started", failed, []string{"missing", "not allowed"})
}

func TestProcessLogs(t *testing.T) {
	a := newAgent(t)
	a.Apply(Plan{Jobs: []*Job{
		a.shell(t, "j", never, "echo one; while ! test -e go; do sleep 0.02; done; echo two"),
		a.shell(t, "k", never, "echo k"),
	}})
	if _, _, ok := a.Logs("j"); ok {
		t.Error("a log before the first run")
	}
	if _, _, ok := a.Logs("none"); ok {
		t.Error("a log of no job")
	}
	if err := a.StartJob(context.Background(), "j"); err != nil {
		t.Fatal(err)
	}
	log, id, ok := a.Logs("j")
	if !ok {
		t.Fatal("no log of a running job")
	}
	sub := log.Subscribe()
	defer sub.Close()
	var got []string
	for {
		lines, _, err := sub.Next(t.Context())
		for _, l := range lines {
			got = append(got, l.Text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 1 {
			if err := os.WriteFile(filepath.Join(a.dir, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	equal(t, "lines", got, []string{"one", "two"})
	if last := a.lastRun(t, "j"); last.ID != id {
		t.Errorf("the log was said to be of run %s, not %s", id, last.ID)
	}
	eventually(t, "the end of the run", func() bool { return !a.IsRunning("j") })
	if log, of, ok := a.Logs("j"); !ok || of != id || len(log.Lines()) != 2 {
		t.Error("the log is gone with the run")
	}

	// Beyond the bound the run that ended longest ago loses its lines.
	a.mu.Lock()
	a.logs.limit = 1
	a.mu.Unlock()
	if err := a.StartJob(context.Background(), "k"); err != nil {
		t.Fatal(err)
	}
	a.lastRun(t, "k")
	eventually(t, "the end of k", func() bool { return !a.IsRunning("k") })
	if _, _, ok := a.Logs("j"); ok {
		t.Error("the bound is not kept")
	}
	if log, _, ok := a.Logs("k"); !ok || len(log.Lines()) != 1 {
		t.Error("the newest log is gone")
	}
	a.Apply(Plan{})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logs.total != 0 || a.logs.order.Len() != 0 {
		t.Errorf("%d bytes of removed jobs are kept", a.logs.total)
	}
}

func TestProcessFencingToken(t *testing.T) {
	a := newAgent(t)
	c := newFakeCoordinator(leading(time.Now()))
	c.answers(func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Granted, Token: 77} })
	a.SetCoordinator(c)
	a.Apply(Plan{Elect: true, Jobs: []*Job{
		a.shell(t, "j", "* * * * * * *", `echo $YACRON2_FENCING_TOKEN $YACRON2_ATTEMPT >> out; test $YACRON2_ATTEMPT = 2`,
			policy(election.Leader), retries(1, 10*time.Millisecond, 10*time.Millisecond)),
	}})
	// The next firing may come before the retry of the first.
	var lines []string
	eventually(t, "a retry", func() bool {
		lines = a.wrote(t, "out", 2)
		return slices.Contains(lines, "77 2")
	})
	if lines[0] != "77 1" || slices.ContainsFunc(lines, func(s string) bool { return s != "77 1" && s != "77 2" }) {
		t.Errorf("lines %q", lines)
	}
}

// What runs ends in peace; what does not end is ended.
func TestProcessesAtTheEnd(t *testing.T) {
	a := newAgent(t)
	a.Apply(Plan{Jobs: []*Job{
		a.shell(t, "short", never, "echo up >> out; while ! test -e go; do sleep 0.02; done"),
		a.shell(t, "long", never, "echo up >> out; exec sleep 600"),
	}})
	for _, job := range []string{"short", "long"} {
		if err := a.StartJob(context.Background(), job); err != nil {
			t.Fatal(err)
		}
	}
	a.wrote(t, "out", 2)
	a.Quiesce()
	if err := os.WriteFile(filepath.Join(a.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if last := a.lastRun(t, "short"); last.Outcome != history.Success {
		t.Errorf("%+v", last)
	}
	soon, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Drain(soon); !errors.Is(err, context.Canceled) {
		t.Errorf("drained while a job runs: %v", err)
	}
	a.CancelAll()
	if err := a.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if last, _ := a.history.LastRun("long"); last.Outcome != history.Cancelled || *last.ExitCode != -15 {
		t.Errorf("%+v", last)
	}
}

// Many short runs at once leave no descriptor behind.
func TestProcessesLeaveNothing(t *testing.T) {
	a := newAgent(t)
	const n = 200
	plan := Plan{}
	for i := range n {
		plan.Jobs = append(plan.Jobs, a.shell(t, fmt.Sprint("j", i), never, "echo x; sleep 0.1 & exit 0"))
	}
	a.Apply(plan)
	before := openFiles(t)
	for i := range n {
		if err := a.StartJob(context.Background(), fmt.Sprint("j", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all descriptors closed", func() bool { return openFiles(t) <= before })
	for i := range n {
		equal(t, "history", a.history.of(fmt.Sprint("j", i)), []string{"success 1"})
	}
}

func openFiles(t *testing.T) int {
	dir := "/dev/fd"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

var _ Runner = ProcessRunner{}
