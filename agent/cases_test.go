package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler/history"
)

// caseText returns a file of the cases. Its jobs fire each second instead of each
// minute if that is asked for, so that a test can see them run.
func caseText(t *testing.T, name string, eachSecond bool) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("config", "testdata", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	if !eachSecond {
		return string(text)
	}
	return strings.ReplaceAll(string(text), `"* * * * *"`, secondly)
}

// runNow starts a job by hand and returns what it printed.
func (a *testAgent) runNow(job string) string {
	a.t.Helper()
	before := a.runs(job)
	if err := a.client.Start(a.t.Context(), job); err != nil {
		a.t.Fatal(err)
	}
	eventually(a.t, job+" has run", func() bool { return len(a.runs(job)) > len(before) })
	return a.output(job)
}

// runs lists the finished runs of a job, the newest first.
func (a *testAgent) runs(job string) []history.Run {
	runs := a.history.Runs(job)
	slices.Reverse(runs)
	return runs
}

// output returns what the newest run of a job printed.
func (a *testAgent) output(job string) string {
	a.t.Helper()
	lines, err := a.history.Output(job, a.runs(job)[0].ID)
	if err != nil {
		a.t.Fatal(err)
	}
	text := ""
	for _, line := range lines {
		text += line.Text + "\n"
	}
	return text
}

// TestCaseBrokenReload: one bad line, and everything stays as it was: the jobs, and the
// agent. What is wrong is in the log and in the API.
func TestCaseBrokenReload(t *testing.T) {
	a := startAgent(t, caseText(t, "CONF-09-1-good.yaml", false), "")
	ctx := t.Context()
	if got := a.runNow("keep-me"); got != "v1\n" {
		t.Fatalf("at first: %q", got)
	}

	a.write("jobs.yaml", caseText(t, "CONF-09-2-broken.yaml", false))
	status, err := a.client.Reload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if status.State != api.ConfigFailed || len(status.Errors) != 1 || status.Errors[0].Job != "keep-me" || status.Errors[0].Key != "schedule" ||
		!strings.HasSuffix(status.Errors[0].File, "jobs.yaml") || status.Errors[0].Line != 2 {
		t.Errorf("status: %+v", status)
	}
	for _, want := range []string{"[ERROR]", "jobs.yaml:2:71", "job=keep-me", "key=schedule"} {
		if !strings.Contains(a.log.String(), want) {
			t.Errorf("%s is not in the log:\n%s", want, a.log)
		}
	}
	if _, text := a.request("GET", "/metrics", nil); !strings.Contains(text, "\nyacron2_config_last_reload_successful 0\n") {
		t.Error("the metrics do not tell of it")
	}
	if got := a.runNow("keep-me"); got != "v1\n" {
		t.Errorf("with a broken file: %q", got)
	}
	job, err := a.client.Job(ctx, "keep-me")
	if err != nil || job.ScheduledIn == nil || *job.ScheduledIn > 60 {
		t.Errorf("is no longer scheduled: %+v, %v", job, err)
	}
	if _, err := a.client.Job(ctx, "new-one"); api.StatusOf(err) != 404 {
		t.Errorf("a part of the broken file is in effect: %v", err)
	}

	a.write("jobs.yaml", caseText(t, "CONF-09-3-fixed.yaml", false))
	if status, err := a.client.Reload(ctx); err != nil || status.State != api.ConfigLoaded || status.Jobs != 2 {
		t.Fatalf("status %+v, %v", status, err)
	}
	if v3, added := a.runNow("keep-me"), a.runNow("new-one"); v3 != "v3\n" || added != "new\n" {
		t.Errorf("after it was put right: %q, %q", v3, added)
	}
}

// TestCaseReloadUnderALongJob: a job that runs and is removed meanwhile ends in peace and
// is recorded once; nobody waits for it.
func TestCaseReloadUnderALongJob(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	makeFIFO(t, pipe)
	text := strings.Replace(caseText(t, "CONF-10-1.yaml", true), "sleep 200", "read x < "+pipe, 1)
	a := startAgent(t, text, "")
	ctx := t.Context()
	eventually(t, "the long job runs", func() bool {
		job, err := a.client.Job(ctx, "long")
		return err == nil && job.Running
	})
	eventually(t, "the job of each minute runs", func() bool { return len(a.runs("minutely")) > 0 })

	a.write("jobs.yaml", caseText(t, "CONF-10-2.yaml", true))
	if err := a.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	for _, job := range []string{"added", "minutely"} {
		eventually(t, job+" runs while the long job does", func() bool {
			runs := a.runs(job)
			return len(runs) > 0 && runs[0].Firing.After(from)
		})
	}
	if runs := a.runs("long"); len(runs) != 0 {
		t.Fatalf("the long job did not go on: %+v", runs)
	}
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the long job is recorded", func() bool { return len(a.runs("long")) > 0 })
	runs := a.runs("long")
	if got := a.output("long"); len(runs) != 1 || runs[0].Outcome != history.Success || got != "begin\nend\n" {
		t.Errorf("runs %+v, output %q", runs, got)
	}
	seen := map[time.Time]bool{}
	for _, run := range a.runs("minutely") {
		if seen[run.Firing] {
			t.Errorf("the firing %s ran twice", run.Firing)
		}
		seen[run.Firing] = true
	}
}

// TestCaseNoRunAtStart: what was due before the agent started does not run, @reboot jobs
// run once, and a restart repeats nothing that has run.
func TestCaseNoRunAtStart(t *testing.T) {
	dir := t.TempDir()
	file, j := filepath.Join(dir, "a.yaml"), journal(filepath.Join(dir, "journal"))
	text := caseText(t, "CRON-10.yaml", true)
	for _, command := range []string{"date -u +%H:%M:%S", "echo booted"} {
		text = strings.ReplaceAll(text, "command: "+command, "command: '"+j.command()+"'")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	began := time.Now()
	const restarts = 4
	for i := range restarts {
		a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(j.counts(t, "every-minute"))
		eventually(t, "the next firing runs, and the boot job", func() bool {
			return len(j.counts(t, "every-minute")) > before && j.counts(t, "at-boot")["boot"] == i+1
		})
		if err := a.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for at, n := range j.counts(t, "every-minute") {
		firing, err := time.Parse(time.RFC3339, at)
		if err != nil || !firing.After(began.Truncate(time.Second)) || n != 1 {
			t.Errorf("the firing %s ran %d times; the first start was at %s", at, n, began)
		}
	}
	if n := j.counts(t, "at-boot")["boot"]; n != restarts {
		t.Errorf("the boot job ran %d times at %d starts", n, restarts)
	}
	for at := range j.counts(t, "every-ten") {
		if firing, err := time.Parse(time.RFC3339, at); err != nil || firing.Minute()%10 != 0 || firing.Before(began) {
			t.Errorf("the job of every ten minutes ran at %s", at)
		}
	}
}
