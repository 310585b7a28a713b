package agent

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func TestPauseAndResume(t *testing.T) {
	a := startAgent(t, `
jobs:
  - name: ticking
    command: "true"
    schedule: "* * * * * * *"
`, "  tokens:\n    - {name: alice, scope: operate, value: secret}\n")
	ctx := t.Context()
	eventually(t, "the job runs every second", func() bool {
		runs, err := a.client.Runs(ctx, "ticking")
		return err == nil && runs.Stats.Success > 0
	})
	pause, err := a.client.Pause(ctx, "ticking", api.PauseRequest{Note: "the disk is full"})
	if err != nil {
		t.Fatal(err)
	}
	if pause.By != "alice" || pause.Note != "the disk is full" || pause.Until.Sub(pause.Since.Time) != time.Hour || time.Since(pause.Since.Time) > time.Minute {
		t.Errorf("got %+v", pause)
	}
	job, err := a.client.Job(ctx, "ticking")
	if err != nil || job.Paused == nil || *job.Paused != pause {
		t.Errorf("the job shows %+v, %v", job.Paused, err)
	}
	eventually(t, "firings are skipped with that reason", func() bool {
		why, err := a.client.Why(ctx, "ticking", time.Time{})
		if err != nil || why.Now == nil || why.Now.Action != "skip" || why.Now.Code != "paused" || !strings.Contains(why.Now.Reason, "the disk is full") {
			t.Fatalf("why: %+v, %v", why.Now, err)
		}
		last := why.Decisions[len(why.Decisions)-1]
		return last.Outcome == "skipped" && last.Code == "paused"
	})
	if err := a.client.Start(ctx, "ticking"); err != nil {
		t.Errorf("a manual start while paused: %v", err)
	}
	longer, err := a.client.Pause(ctx, "ticking", api.PauseRequest{Seconds: new(30 * 86400.0), By: "bob"})
	if err != nil || longer.By != "bob" || longer.Note != "" || longer.Until.Sub(longer.Since.Time) != 30*24*time.Hour {
		t.Errorf("a second pause: %+v, %v", longer, err)
	}
	if err := a.client.Resume(ctx, "ticking"); err != nil {
		t.Fatal(err)
	}
	if job, err := a.client.Job(ctx, "ticking"); err != nil || job.Paused != nil {
		t.Errorf("after the resume the job shows %+v, %v", job.Paused, err)
	}
	if err := a.client.Resume(ctx, "ticking"); api.StatusOf(err) != 409 || !strings.Contains(err.Error(), "job 'ticking' is not paused") {
		t.Errorf("a second resume: %v", err)
	}
	for _, err := range []error{a.client.Resume(ctx, "nobody"), func() error { _, err := a.client.Pause(ctx, "nobody", api.PauseRequest{}); return err }()} {
		if api.StatusOf(err) != 404 {
			t.Errorf("an unknown job: %v", err)
		}
	}
}

func TestPauseReadsItsBody(t *testing.T) {
	for _, body := range []string{"", " \n", "{}", `{"seconds": 1}`, `{"seconds": 2592000, "note": "x", "by": "y"}`, `{"note": "` + strings.Repeat("ü", maxPauseNote) + `"}`} {
		if _, problem := pauseRequest(strings.NewReader(body)); problem != "" {
			t.Errorf("%q: %s", body, problem)
		}
	}
	for body, want := range map[string]string{
		"{":                      "the body must be JSON",
		"[]":                     "the body must be JSON",
		"seconds=5":              "the body must be JSON",
		`{"for": 5}`:             `unknown field "for"`,
		`{} {}`:                  "something follows it",
		`{"seconds": "5"}`:       "the body must be JSON",
		`{"seconds": 0}`:         "seconds must be 1 to 2592000",
		`{"seconds": 0.99}`:      "seconds must be 1 to 2592000",
		`{"seconds": -1}`:        "seconds must be 1 to 2592000",
		`{"seconds": 2592000.1}`: "seconds must be 1 to 2592000",
		`{"seconds": 1e300}`:     "seconds must be 1 to 2592000",
		`{"note": "` + strings.Repeat("x", maxPauseNote+1) + `"}`: "the note is too long",
		`{"by": "` + strings.Repeat("x", maxPauseBy+1) + `"}`:     "by is too long",
	} {
		if _, problem := pauseRequest(strings.NewReader(body)); !strings.Contains(problem, want) {
			t.Errorf("%.40q: %q, want %q", body, problem, want)
		}
	}
}

func TestPauseRefusesHugeBodies(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent/jobs/long/pause", io.LimitReader(zeros{}, 100<<20))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := a.transport().RoundTrip(req)
	if err != nil {
		return // the agent hung up in the middle, which is fine as well
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
