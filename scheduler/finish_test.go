package scheduler

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/scheduler/history"
	"github.com/yacron2/yacron2/scheduler/run"
)

func TestFailReason(t *testing.T) {
	text := run.Stream{Captured: true, Text: "\n"}
	dropped := run.Stream{Captured: true, Discarded: 3}
	silent := run.Stream{Captured: true}
	ignored := run.Stream{}
	all := FailsWhen{ProducesStdout: true, ProducesStderr: true, NonzeroReturn: true}
	for name, c := range map[string]struct {
		fails  FailsWhen
		result run.Result
		want   string
	}{
		"success":             {all, run.Result{Stdout: silent, Stderr: silent}, ""},
		"always":              {FailsWhen{Always: true, NonzeroReturn: true}, run.Result{ExitCode: 3}, "failsWhen=always"},
		"code first":          {all, run.Result{ExitCode: 3, Stdout: text, Stderr: text}, "failsWhen=nonzeroReturn and retcode=3"},
		"signal":              {all, run.Result{ExitCode: -9}, "failsWhen=nonzeroReturn and retcode=-9"},
		"time-out":            {all, run.Result{ExitCode: run.ExitTimeout, TimedOut: true}, "failsWhen=nonzeroReturn and retcode=-100"},
		"not started":         {all, run.Result{ExitCode: 127, StartError: "x"}, "failsWhen=nonzeroReturn and retcode=127"},
		"code ignored":        {FailsWhen{}, run.Result{ExitCode: 3}, ""},
		"stdout before":       {all, run.Result{Stdout: text, Stderr: text}, "failsWhen=producesStdout and stdout is not empty"},
		"stderr":              {all, run.Result{Stdout: silent, Stderr: text}, "failsWhen=producesStderr and stderr is not empty"},
		"only dropped lines":  {all, run.Result{Stdout: dropped}, "failsWhen=producesStdout and stdout is not empty"},
		"stdout is allowed":   {FailsWhen{NonzeroReturn: true}, run.Result{Stdout: text}, ""},
		"stderr not captured": {all, run.Result{Stderr: ignored}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failReason(c.fails, c.result); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRecordedRun(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.runner.behave = func(string, int) behaviour {
			return behaviour{lasts: 3 * time.Second, code: 127, result: run.Result{
				StartError: "/nowhere: no such file", Notes: []string{"a note"}, MaxRSS: 4096, UserCPU: time.Second,
			}}
		}
		h.begin(false, nil, testJob(t, "j", "* * * * *"))
		wait(65 * time.Second)
		got, ok := h.history.LastRun("j")
		at := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
		if !ok || got.Outcome != history.Failure || *got.ExitCode != 127 || got.Node != me || got.Trigger != "schedule" ||
			!got.Firing.Equal(at) || !got.StartedAt.Equal(at) || !got.FinishedAt.Equal(at.Add(3*time.Second)) ||
			got.MaxRSS != 4096 || got.UserCPU != time.Second || len(got.ID) != 32 {
			t.Errorf("%+v", got)
		}
		equal(t, "notes", got.Notes, []string{"not started: /nowhere: no such file", "a note"})
		for _, e := range h.events {
			if e.Kind == RunFinished && (e.RunID != got.ID || e.Result.MaxRSS != 4096 || !e.Permanent) {
				t.Errorf("event %+v", e)
			}
		}
	})
}
