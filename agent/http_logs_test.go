package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/yacron2/yacron2/api"
)

func TestLogsReplayAndFollow(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
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
