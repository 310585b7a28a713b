package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/api"
)

func TestLogsReplayAndFollow(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	makeFIFO(t, pipe)
	a := startAgent(t, `
jobs:
  - name: talker
    command: |
      echo one; echo two >&2; printf 'b\001d \033[31mred\033[0m \303\n'; cat `+pipe+`; printf last
    schedule: "@yearly"
    captureStdout: true
`, "")
	ctx := t.Context()
	end, err := a.client.Logs(ctx, "talker", func(l api.LogLine) error { t.Errorf("a job that never ran said %q", l); return nil })
	if err != nil || end.Reason != api.LogEndNoOutput {
		t.Fatalf("before the first run: %+v, %v", end, err)
	}
	if err := a.client.Start(ctx, "talker"); err != nil {
		t.Fatal(err)
	}
	var got []api.LogLine
	seen := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := a.client.Logs(ctx, "talker", func(l api.LogLine) error {
			if got = append(got, l); len(got) == 3 {
				close(seen)
			}
			return nil
		})
		ended <- err
	}()
	<-seen
	if err := os.WriteFile(pipe, []byte("live\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := []api.LogLine{{Stream: "stdout", Line: "one"}, {Stream: "stderr", Line: "two"},
		{Stream: "stdout", Line: "b\x01d \x1b[31mred\x1b[0m \ufffd"}, {Stream: "stdout", Line: "live"}, {Stream: "stdout", Line: "last"}}
	// Two pipes have no order between them.
	sortLines := func(x, y api.LogLine) int {
		switch {
		case x.Line < y.Line:
			return -1
		case x.Line > y.Line:
			return 1
		}
		return 0
	}
	ids := map[string]bool{}
	for i, line := range got {
		ids[line.ID] = true
		got[i].ID = ""
	}
	if len(ids) != len(got) || ids[""] {
		t.Errorf("ids %v", ids)
	}
	slices.SortFunc(got, sortLines)
	slices.SortFunc(want, sortLines)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	var replay []api.LogLine
	eventually(t, "the finished run is replayed", func() bool {
		replay = nil
		_, err := a.client.Logs(ctx, "talker", func(l api.LogLine) error { replay = append(replay, l); return nil })
		return err == nil && len(replay) == len(want)
	})
	if _, err := a.client.Logs(ctx, "nobody", nil); api.StatusOf(err) != 404 {
		t.Errorf("an unknown job: %v", err)
	}
}

// lines reads the log of a job after a line, until it ends or take returns an error.
func (a *testAgent) lines(job, after string, take func(api.LogLine) error) []api.LogLine {
	a.t.Helper()
	var got []api.LogLine
	_, err := a.client.LogsAfter(a.t.Context(), job, after, func(l api.LogLine) error {
		got = append(got, l)
		if take == nil {
			return nil
		}
		return take(l)
	})
	if err != nil && !errors.Is(err, errEnough) {
		a.t.Fatal(err)
	}
	return got
}

// A reader that is cut off loses no line and sees none twice.
func TestLogsGoOnAfterABreak(t *testing.T) {
	a := startAgent(t, `
jobs:
  - name: counter
    command: seq 1 500
    schedule: "@yearly"
    captureStdout: true
`, "")
	for round := range 2 {
		if err := a.client.Start(t.Context(), "counter"); err != nil {
			t.Fatal(err)
		}
		var got []string
		last := ""
		for len(got) < 500 {
			// Each connection breaks after some lines.
			part := 0
			for _, l := range a.lines("counter", last, func(api.LogLine) error {
				if part++; part == 70 {
					return errEnough
				}
				return nil
			}) {
				got, last = append(got, l.Line), l.ID
			}
		}
		for i, line := range got {
			if line != strconv.Itoa(i+1) {
				t.Fatalf("round %d: line %d is %q", round, i+1, line)
			}
		}
		eventually(t, "the run has ended", func() bool {
			runs, err := a.client.Runs(t.Context(), "counter")
			return err == nil && runs.Stats.Total == round+1
		})
		if newest, err := a.client.Job(t.Context(), "counter"); err != nil || newest.LastRun == nil || last != newest.LastRun.ID+"-500" {
			t.Errorf("the last line has the id %q: %+v, %v", last, newest.LastRun, err)
		}
		if rest := a.lines("counter", last, nil); len(rest) != 0 {
			t.Errorf("after the last line come %d", len(rest))
		}
		for _, strange := range []string{"x", "-", last + "0", strings.Repeat("9", 5000)} {
			if all := a.lines("counter", strange, nil); len(all) != 500 && len(all) != 0 {
				t.Errorf("after %.20q come %d lines", strange, len(all))
			}
		}
		if round == 0 {
			continue
		}
		if all := a.lines("counter", "another-250", nil); len(all) != 500 {
			t.Errorf("after a line of another run come %d lines", len(all))
		}
	}
}

// What a run printed can be read after a restart.
func TestLogsOutliveTheAgent(t *testing.T) {
	a := startAgent(t, `
dataDir: `+t.TempDir()+`
jobs:
  - name: counter
    command: seq 1 5; echo six >&2
    schedule: "@yearly"
    captureStdout: true
`, "")
	if err := a.client.Start(t.Context(), "counter"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run has ended", func() bool {
		runs, err := a.client.Runs(t.Context(), "counter")
		return err == nil && runs.Stats.Total == 1
	})
	a.startAgain()
	lines := a.lines("counter", "", nil)
	if len(lines) != 6 || !slices.ContainsFunc(lines, func(l api.LogLine) bool { return l.Stream == "stderr" && l.Line == "six" }) {
		t.Fatalf("got %q", lines)
	}
	if rest := a.lines("counter", lines[3].ID, nil); len(rest) != 2 || rest[0] != lines[4] {
		t.Errorf("after the fourth line: %q", rest)
	}
	// Of a run, the history keeps the last lines only: it can't tell where the fourth was.
	live := strings.Replace(lines[3].ID, keptLine, liveLine, 1)
	if all := a.lines("counter", live, nil); live == lines[3].ID || len(all) != 6 {
		t.Errorf("after %q, which was read before the restart: %q", live, all)
	}
}

// An open stream must not hold up the end of the agent, nor that of its address.
func TestLogsEndWithTheirAddress(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx := t.Context()
	if err := a.client.Start(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	const readers = 20
	ended := make(chan error, readers)
	for range readers {
		go func() {
			_, err := a.client.Logs(ctx, "long", func(api.LogLine) error { return nil })
			ended <- err
		}()
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.web.stop(context.Background()) }()
	for i := range readers {
		if err := <-ended; err == nil {
			t.Error("stream " + strconv.Itoa(i) + " ended as if the run had")
		}
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	a.CancelRunning()
}

// follow=false ends with what there is, though the run goes on.
func TestLogsSoFar(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	makeFIFO(t, pipe)
	a := startAgent(t, `
jobs:
  - name: talker
    command: echo one; echo two; cat `+pipe+`
    schedule: "@yearly"
    captureStdout: true
`, "")
	soFar := func() (lines []string, end api.LogEnd) {
		t.Helper()
		end, err := a.client.LogsSoFar(t.Context(), "talker", func(l api.LogLine) error { lines = append(lines, l.Line); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return lines, end
	}
	if lines, end := soFar(); len(lines) > 0 || end.Reason != api.LogEndNoOutput {
		t.Errorf("before the first run: %q, %+v", lines, end)
	}
	if err := a.client.Start(t.Context(), "talker"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both lines", func() bool {
		lines, end := soFar()
		return len(lines) == 2 && end.Reason == api.LogEndRunning
	})
	if err := os.WriteFile(pipe, []byte("three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the run", func() bool {
		lines, end := soFar()
		return len(lines) == 3 && end == (api.LogEnd{})
	})
	// The end tells which run it was, also of one without a line. What it printed has ended
	// before it is recorded.
	var job api.Job
	eventually(t, "the run is recorded", func() bool {
		var err error
		job, err = a.client.Job(t.Context(), "talker")
		return err == nil && job.LastRun != nil
	})
	if _, body := a.request("GET", "/jobs/talker/logs", nil); !strings.HasSuffix(body, "id: "+job.LastRun.ID+"-3\nevent: end\ndata: {}\n\n") {
		t.Errorf("the stream ends with %q", body)
	}
	resp, body := a.request("GET", "/jobs/talker/logs?follow=maybe", nil)
	if resp.StatusCode != 400 || !strings.Contains(body, "follow must be true or false") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}
