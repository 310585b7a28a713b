package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// epoch is an instant on a whole second, as firings are.
var epoch = time.Date(2031, time.March, 1, 12, 0, 0, 0, time.UTC)

// opener opens one store; reopen closes it and opens the same again.
type opener struct {
	limits Limits
	now    func() time.Time
	path   string // "": in memory
}

func (o *opener) open(t *testing.T) Store {
	t.Helper()
	if o.path == "" {
		return NewMemoryWith(o.limits, o.now)
	}
	cfg := DefaultFileConfig(o.path)
	cfg.Limits, cfg.Now = o.limits, o.now
	f, err := OpenFile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// eachStore runs a test with every kind of store. reopen leaves a Memory as it is.
func eachStore(t *testing.T, limits Limits, test func(t *testing.T, s Store, reopen func() Store)) {
	now := func() time.Time { return epoch.Add(time.Hour) }
	t.Run("memory", func(t *testing.T) {
		s := NewMemoryWith(limits, now)
		defer s.Close()
		test(t, s, func() Store { return s })
	})
	t.Run("file", func(t *testing.T) {
		o := opener{limits: limits, now: now, path: filepath.Join(t.TempDir(), "history.db")}
		s := o.open(t)
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, s, func() Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = o.open(t)
			return s
		})
	})
}

func finished(job string, n int) Run {
	code := n % 3
	outcome := Success
	reason := ""
	if code != 0 {
		outcome, reason = Failure, fmt.Sprintf("failsWhen=nonzeroReturn and retcode=%d", code)
	}
	at := epoch.Add(time.Duration(n) * time.Second)
	return Run{
		ID: fmt.Sprintf("%s-%d", job, n), Job: job, Firing: at, Trigger: "schedule", Attempt: 1, Node: "a",
		Outcome: outcome, ExitCode: &code, StartedAt: at.Add(1500 * time.Microsecond), FinishedAt: at.Add(time.Duration(n+1) * 100 * time.Millisecond),
		FailReason: reason, Notes: []string{"note"}, UserCPU: 3 * time.Millisecond, SystemCPU: time.Millisecond, MaxRSS: 1 << 20,
	}
}

func ids(runs []Run) []string {
	all := make([]string, len(runs))
	for i, r := range runs {
		all[i] = r.ID
	}
	return all
}

func wantIDs(job string, from, to int) []string {
	all := []string{}
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("%s-%d", job, i))
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equalRuns compares what time.Time and pointers hold, not how.
func equalRuns(a, b Run) bool {
	code := func(r Run) int {
		if r.ExitCode == nil {
			return 1 << 20
		}
		return *r.ExitCode
	}
	return a.ID == b.ID && a.Job == b.Job && a.Firing.Equal(b.Firing) && a.Trigger == b.Trigger &&
		a.Attempt == b.Attempt && a.Node == b.Node && a.Outcome == b.Outcome && code(a) == code(b) &&
		a.StartedAt.Equal(b.StartedAt) && a.FinishedAt.Equal(b.FinishedAt) && a.FailReason == b.FailReason &&
		slices.Equal(a.Notes, b.Notes) && a.UserCPU == b.UserCPU && a.SystemCPU == b.SystemCPU && a.MaxRSS == b.MaxRSS
}

func TestRuns(t *testing.T) {
	eachStore(t, DefaultLimits(), func(t *testing.T, s Store, reopen func() Store) {
		if _, ok := s.LastRun("j"); ok || len(s.Runs("j")) != 0 {
			t.Error("runs of a job that never ran")
		}
		for i := range 60 {
			must(t, s.AddRun(finished("j", i)))
		}
		must(t, s.AddRun(finished("other", 0)))
		abandoned := Run{ID: "x", Job: "other", Trigger: "retry", Attempt: 2, Outcome: Cancelled, FinishedAt: epoch, FailReason: "retry abandoned"}
		must(t, s.AddRun(abandoned))
		for range 2 {
			if got := ids(s.Runs("j")); !slices.Equal(got, wantIDs("j", 10, 60)) {
				t.Errorf("runs %v", got)
			}
			if got := ids(s.RecentRuns("j", 3)); !slices.Equal(got, wantIDs("j", 57, 60)) {
				t.Errorf("recent runs %v", got)
			}
			if got, ok := s.LastRun("j"); !ok || !equalRuns(got, finished("j", 59)) {
				t.Errorf("last run %+v", got)
			}
			other := s.Runs("other")
			if len(other) != 2 || !equalRuns(other[0], finished("other", 0)) || !equalRuns(other[1], abandoned) {
				t.Errorf("runs %+v", other)
			}
			s = reopen()
		}
		must(t, s.AddRun(finished("j", 60)))
		if got := ids(s.Runs("j")); !slices.Equal(got, wantIDs("j", 11, 61)) {
			t.Errorf("after reopening: runs %v", got)
		}
	})
}

func TestReturnedRunsAreCopies(t *testing.T) {
	eachStore(t, DefaultLimits(), func(t *testing.T, s Store, _ func() Store) {
		must(t, s.AddRun(finished("j", 0)))
		s.Runs("j")[0].ID = "changed"
		if r, _ := s.LastRun("j"); r.ID != "j-0" {
			t.Errorf("id %q", r.ID)
		}
	})
}

func TestMissedFirings(t *testing.T) {
	limits := DefaultLimits()
	limits.MissedPerJob = 5
	eachStore(t, limits, func(t *testing.T, s Store, reopen func() Store) {
		for i := range 8 {
			must(t, s.AddMissed(Missed{Job: "j", Firing: epoch.Add(time.Duration(i) * time.Second), At: epoch.Add(30 * time.Second), Code: "no-quorum", Reason: "2 of 3 nodes are away"}))
		}
		for range 2 {
			got := s.Missed("j", 3)
			if len(got) != 3 || !got[0].Firing.Equal(epoch.Add(5*time.Second)) || got[2].Code != "no-quorum" || got[2].Reason != "2 of 3 nodes are away" || !got[2].At.Equal(epoch.Add(30*time.Second)) {
				t.Errorf("missed %+v", got)
			}
			if n := len(s.Missed("j", 100)); n != 5 {
				t.Errorf("%d missed firings kept", n)
			}
			if len(s.Missed("other", 10)) != 0 {
				t.Error("missed firings of another job")
			}
			s = reopen()
		}
	})
}

func TestBusyJobsMakeRoom(t *testing.T) {
	limits := DefaultLimits()
	limits.RunsPerJob, limits.Runs = 10, 20
	eachStore(t, limits, func(t *testing.T, s Store, reopen func() Store) {
		must(t, s.AddRun(finished("monthly", 0)))
		for i := range 100 {
			must(t, s.AddRun(finished("busy", i)))
			must(t, s.AddRun(finished("bee", i)))
		}
		for i := range 5 {
			must(t, s.AddRun(finished(fmt.Sprint("once", i), 0)))
		}
		for range 2 {
			total := 0
			for _, job := range []string{"monthly", "busy", "bee", "once0", "once1", "once2", "once3", "once4"} {
				n := len(s.Runs(job))
				if n == 0 {
					t.Errorf("%s lost its only run", job)
				}
				total += n
			}
			if total != 20 {
				t.Errorf("%d runs kept, the limit is 20", total)
			}
			if r, _ := s.LastRun("busy"); r.ID != "busy-99" {
				t.Errorf("last run %q", r.ID)
			}
			s = reopen()
		}
	})
}

func TestManyNamesAreBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.Runs = 100
	eachStore(t, limits, func(t *testing.T, s Store, _ func() Store) {
		for i := range 1000 {
			must(t, s.AddRun(finished(fmt.Sprint("line:", i), 0)))
		}
		kept := 0
		for i := range 1000 {
			kept += len(s.Runs(fmt.Sprint("line:", i)))
		}
		if _, ok := s.LastRun("line:999"); kept != 100 || !ok {
			t.Errorf("%d runs kept, the newest among them: %v", kept, ok)
		}
	})
}

func TestOldRecordsGo(t *testing.T) {
	limits := DefaultLimits()
	limits.Age = 24 * time.Hour
	for _, path := range []string{"", filepath.Join(t.TempDir(), "history.db")} {
		now := epoch
		o := opener{limits: limits, path: path, now: func() time.Time { return now }}
		s := o.open(t)
		must(t, s.AddRun(finished("old", 0)))
		must(t, s.AddMissed(Missed{Job: "old", Firing: epoch, At: epoch}))
		now = now.Add(limits.Age / 2)
		young := finished("young", 0)
		young.FinishedAt = now
		must(t, s.AddRun(young))
		now = now.Add(limits.Age/2 + time.Minute)
		must(t, s.AddRun(finished("other", 0)))
		for range 2 {
			if len(s.Runs("old")) != 0 || len(s.Missed("old", 1)) != 0 {
				t.Error("old records are still there")
			}
			if len(s.Runs("young")) != 1 {
				t.Error("a young record went")
			}
			must(t, s.Close())
			if path == "" {
				break
			}
			s = o.open(t)
		}
		s.Close()
	}
}

func TestOutput(t *testing.T) {
	limits := DefaultLimits()
	limits.RunsPerJob, limits.Output = 3, 4096
	eachStore(t, limits, func(t *testing.T, s Store, reopen func() Store) {
		for i := range 4 {
			r := finished("j", i)
			for n := range 150 {
				r.Output = append(r.Output, Line{"stdout", fmt.Sprintf("run %d line %d", i, n)})
			}
			must(t, s.AddRun(r))
			if r.Output[0].Text == "" {
				t.Error("the caller's lines were changed")
			}
		}
		big := finished("j", 4)
		big.Output = []Line{{"stdout", "lost"}, {"stdout", string(make([]byte, OutputBytes-20))}, {"stderr", "end"}}
		must(t, s.AddRun(big))
		for range 2 {
			if r, _ := s.LastRun("j"); r.Output != nil {
				t.Error("a run carries its output")
			}
			if got, err := s.Output("j", "j-0"); err != nil || len(got) != 0 {
				t.Errorf("output of a forgotten run: %v, %v", got, err)
			}
			if got, err := s.Output("j", "no-such-run"); err != nil || len(got) != 0 {
				t.Errorf("output of no run: %v, %v", got, err)
			}
			_, durable := s.(*File)
			if got, err := s.Output("j", "j-3"); durable && (err != nil || len(got) != OutputLines || got[OutputLines-1] != (Line{"stdout", "run 3 line 149"})) {
				t.Errorf("output %v, %v", got, err)
			}
			if got, err := s.Output("j", "j-4"); durable && (err != nil || len(got) != 2 || got[1] != (Line{"stderr", "end"})) {
				t.Errorf("output of %d lines, %v", len(got), err)
			}
			s = reopen()
		}
	})
}

func TestOutputInMemoryIsBounded(t *testing.T) {
	limits := DefaultLimits()
	limits.Output = 10_000
	s := NewMemoryWith(limits, time.Now)
	for i := range 100 {
		r := finished(fmt.Sprint("j", i), 0)
		r.Output = []Line{{"stdout", string(make([]byte, 1000))}}
		must(t, s.AddRun(r))
	}
	kept := 0
	for i := range 100 {
		got, err := s.Output(fmt.Sprint("j", i), fmt.Sprintf("j%d-0", i))
		must(t, err)
		kept += len(got)
	}
	if kept != 9 || s.outputs.size > 10_000 {
		t.Errorf("output of %d runs kept in %d bytes", kept, s.outputs.size)
	}
}

func TestPauses(t *testing.T) {
	eachStore(t, DefaultLimits(), func(t *testing.T, s Store, reopen func() Store) {
		for _, p := range []Pause{
			{Job: "b", Since: epoch, Until: epoch.Add(time.Hour), Note: "upgrade", By: "ops"},
			{Job: "a", Since: epoch},
			{Job: "c", Since: epoch, Note: "first"},
			{Job: "c", Since: epoch.Add(time.Minute), Note: "second"},
			{Job: "d", Since: epoch},
		} {
			must(t, s.SetPause(p))
		}
		if found, err := s.ClearPause("d"); !found || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
		if found, err := s.ClearPause("d"); found || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
		for range 2 {
			all := s.Pauses()
			if len(all) != 3 || all[0].Job != "a" || all[1].Job != "b" || all[2].Note != "second" {
				t.Errorf("pauses %+v", all)
			}
			p, ok := s.Pause("b")
			if !ok || p.Note != "upgrade" || p.By != "ops" || !p.Since.Equal(epoch) || !p.Until.Equal(epoch.Add(time.Hour)) {
				t.Errorf("pause %+v", p)
			}
			if !p.Active(epoch.Add(time.Hour-1)) || p.Active(epoch.Add(time.Hour)) {
				t.Error("a pause ends at another instant than its own")
			}
			if p, ok := s.Pause("a"); !ok || !p.Active(epoch.Add(1e6*time.Hour)) {
				t.Error("a pause without an end ended")
			}
			if p, ok := s.Pause("d"); ok || p.Active(epoch) {
				t.Errorf("a cleared pause %+v", p)
			}
			s = reopen()
		}
	})
}

func TestStartedRunsThatEnd(t *testing.T) {
	eachStore(t, DefaultLimits(), func(t *testing.T, s Store, reopen func() Store) {
		for i := range 3 {
			must(t, s.AddStarted(finished("j", i)))
		}
		if f, ok := s.(*File); ok {
			must(t, f.Flush(t.Context())) // so that they are in the file
		}
		must(t, s.AddRun(finished("j", 0)))
		must(t, s.DropStarted("j-1"))
		must(t, s.AddRun(finished("j", 2)))
		must(t, s.AddStarted(finished("j", 3))) // never in the file
		must(t, s.DropStarted("j-3"))
		must(t, s.DropStarted("unknown"))
		s = reopen()
		if got := ids(s.Runs("j")); !slices.Equal(got, []string{"j-0", "j-2"}) {
			t.Errorf("runs %v", got)
		}
	})
}

func TestClosedStore(t *testing.T) {
	eachStore(t, DefaultLimits(), func(t *testing.T, s Store, _ func() Store) {
		must(t, s.AddRun(finished("j", 0)))
		must(t, s.Close())
		must(t, s.Close())
		_, clearErr := s.ClearPause("j")
		for _, err := range []error{
			s.AddRun(finished("j", 1)), s.AddMissed(Missed{Job: "j"}), s.AddStarted(finished("j", 2)),
			s.DropStarted("x"), s.SetPause(Pause{Job: "j"}), clearErr,
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("error %v, want %v", err, ErrClosed)
			}
		}
		if len(s.Runs("j")) != 1 {
			t.Error("what is in memory can be read no more")
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	limits := DefaultLimits()
	limits.Runs = 60
	eachStore(t, limits, func(t *testing.T, s Store, reopen func() Store) {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				job := fmt.Sprint("j", w)
				for i := range 200 {
					r := finished(job, i)
					r.Output = []Line{{"stdout", "x"}}
					s.AddStarted(r)
					s.AddRun(r)
					s.AddMissed(Missed{Job: job, At: epoch})
				}
			})
			wg.Go(func() {
				for range 200 {
					s.Runs("j0")
					s.LastRun("j1")
					s.Missed("j2", 5)
					s.Pauses()
					s.Output("j3", "j3-1")
				}
			})
		}
		wg.Wait()
		s = reopen()
		total := 0
		for w := range 4 {
			runs := s.Runs(fmt.Sprint("j", w))
			total += len(runs)
			if got := ids(runs); !slices.Equal(got, wantIDs(fmt.Sprint("j", w), 200-len(runs), 200)) {
				t.Errorf("runs %v", got)
			}
		}
		if total != limits.Runs {
			t.Errorf("%d runs, want %d", total, limits.Runs)
		}
	})
}
