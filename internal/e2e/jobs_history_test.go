package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// What an agent that is killed had going on is lost, and everything that it had recorded
// is there after a restart: outcomes, what runs used, what they printed.
func TestHistoryOfAKilledAgent(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	a := newAlone(t, testcluster.Options{Durable: true},
		testcluster.Job{Name: "talks", Schedule: byHand, Command: "echo one; echo two >&2; dd if=/dev/zero of=/dev/null bs=300000000 count=1 2>/dev/null", More: captured + "captureStderr: true\nfailsWhen: {producesStdout: false, producesStderr: false}\n"},
		testcluster.Job{Name: "long", Schedule: byHand, Command: "echo $$ > " + pid + "; exec sleep 300"},
	)
	a.begin()
	before := a.run("talks")
	if before.CPUSeconds == nil || *before.CPUSeconds <= 0 || *before.CPUSeconds > 30 || before.MaxRSSBytes < 300e6 || before.MaxRSSBytes > 400e6 {
		t.Errorf("what the run used: %+v", before)
	}
	a.launch("long")
	testcluster.Eventually(t, "the long job", func() error {
		process, err := os.ReadFile(pid)
		if err == nil && !strings.HasSuffix(string(process), "\n") {
			err = errors.New("it is about to say who it is")
		}
		return err
	})
	// Writes wait for a moment to be written together. A pause is written at once, and
	// with it what came before.
	if _, err := a.Client.Pause(a.context(), "talks", api.PauseRequest{}); err != nil {
		t.Fatal(err)
	}
	a.Kill()
	killed := time.Now()
	if process, err := os.ReadFile(pid); err != nil {
		t.Fatal(err)
	} else if out, err := exec.Command("kill", strings.TrimSpace(string(process))).CombinedOutput(); err != nil {
		t.Errorf("a job must outlive its agent's death: %v %s", err, out)
	}
	a.again()

	runs := a.runs("talks")
	if len(runs) != 1 || whole(runs[0]) != whole(before) {
		t.Errorf("the run is now\n%s, want\n%s", whole(runs[0]), whole(before))
	}
	lines := a.output("talks")
	slices.Sort(lines)
	if !slices.Equal(lines, []string{"one", "two"}) {
		t.Errorf("output %q", lines)
	}
	lost := a.runs("long")
	if len(lost) != 1 {
		t.Fatalf("runs of the killed agent: %+v", lost)
	}
	if r := lost[0]; r.Outcome != api.OutcomeLost || r.Duration != nil || r.ExitCode != nil || r.FailReason == "" || r.Trigger != "manual" ||
		r.StartedAt.IsZero() || r.FinishedAt.Before(r.StartedAt.Time) || r.FinishedAt.After(killed) {
		t.Errorf("lost run %+v", r)
	}
	job, err := a.Client.Job(a.context(), "long")
	if err != nil || job.Running || job.LastRun == nil || job.LastRun.Outcome != api.OutcomeLost || len(job.History) != 1 || job.History[0].Duration != nil {
		t.Errorf("the job: %+v, %v", job, err)
	}
	if !strings.Contains(a.Log(), "a run is lost: it went on when the agent ended: job=long") {
		t.Error("the log does not name the lost run")
	}
	stdout, _, code := a.Command("job", "history", "long")
	if code != 0 || !strings.Contains(stdout, "1 lost") || !strings.Contains(stdout, "lost     -     -") {
		t.Errorf("job history: %d\n%s", code, stdout)
	}
	stdout, _, _ = a.Command("job", "history", "talks")
	if !strings.Contains(stdout, " MB ") {
		t.Errorf("job history shows no memory:\n%s", stdout)
	}
}

// whole is all of a run as text.
func whole(r api.Run) string {
	took, cpu := -1.0, -1.0
	if r.Duration != nil {
		took = *r.Duration
	}
	if r.CPUSeconds != nil {
		cpu = *r.CPUSeconds
	}
	return fmt.Sprint(r.ID, r.Outcome, exitCode(r), r.StartedAt, r.FinishedAt, took, cpu, r.MaxRSSBytes, r.FailReason, r.Trigger, r.Attempt, r.Node, r.Notes)
}

// A paused job does not fire, shows that everywhere, and stays paused through a restart
// and through SIGKILL.
func TestPauseOfAJob(t *testing.T) {
	t.Parallel()
	a := newAlone(t, testcluster.Options{Durable: true, Jobs: func(j testcluster.Journal) []testcluster.Job {
		return []testcluster.Job{{Name: "tick", Command: j.Write()}, {Name: "tock", Command: j.Write()}}
	}})
	a.begin()
	id, err := a.Client.JobSetID(a.context())
	if err != nil {
		t.Fatal(err)
	}
	ticks := func(when string) {
		t.Helper()
		from := testcluster.NextSecond()
		testcluster.Eventually(t, "a firing "+when, func() error {
			if len(a.cluster.Entries().Of("tick").Between(from, time.Now())) == 0 {
				return errors.New("none since " + from.String())
			}
			return nil
		})
	}
	ticks("before the pause")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	stdout, stderr, code := a.Command("job", "pause", "-until", until.Format(time.RFC3339), "-note", "the disk is full", "-by", "eve", "tick")
	if code != 0 {
		t.Fatalf("job pause: %d %s%s", code, stdout, stderr)
	}
	from := testcluster.NextSecond()
	check := func(when string) {
		t.Helper()
		testcluster.Eventually(t, "three firings of the other job "+when, func() error {
			if ran := a.cluster.Entries().Of("tock").Between(from, time.Now()); len(ran) < 3 {
				return fmt.Errorf("%d", len(ran))
			}
			return nil
		})
		if ran := a.cluster.Entries().Of("tick").Between(from, time.Now()); len(ran) > 0 {
			t.Errorf("%s: the paused job ran: %+v", when, ran)
		}
		job, err := a.Client.Job(a.context(), "tick")
		if err != nil || job.Paused == nil || job.Paused.Until.Sub(until).Abs() > 2*time.Second || job.Paused.Note != "the disk is full" || job.Paused.By != "eve" {
			t.Errorf("%s: the job shows %+v, %v", when, job.Paused, err)
		}
		why, err := a.Why("tick")
		if err != nil || why.Now == nil || why.Now.Code != "paused" {
			t.Errorf("%s: why says %+v, %v", when, why.Now, err)
		}
		if text := a.get("/status"); !strings.Contains(text, "tick: scheduled (in 0 second), paused until "+job.Paused.Until.UTC().Format("2006-01-02T15:04:05Z")) {
			t.Errorf("%s: status\n%s", when, text)
		}
		if list, _, _ := a.Command("job", "list"); !strings.Contains(list, "paused until ") {
			t.Errorf("%s: list\n%s", when, list)
		}
		if now, err := a.Client.JobSetID(a.context()); err != nil || now.JobSetID != id.JobSetID {
			t.Errorf("%s: the job-set id changed: %+v, %v", when, now, err)
		}
		from = testcluster.NextSecond()
	}
	check("after the pause")
	a.Stop()
	a.again()
	check("after a restart")
	a.Kill()
	a.again()
	check("after SIGKILL")

	stdout, stderr, code = a.Command("job", "resume", "tick")
	if code != 0 {
		t.Fatalf("job resume: %d %s%s", code, stdout, stderr)
	}
	ticks("after the resume")
	if job, err := a.Client.Job(a.context(), "tick"); err != nil || job.Paused != nil {
		t.Errorf("after the resume the job shows %+v, %v", job.Paused, err)
	}
	a.Kill()
	a.again()
	if job, err := a.Client.Job(a.context(), "tick"); err != nil || job.Paused != nil {
		t.Errorf("after the resume and SIGKILL the job shows %+v, %v", job.Paused, err)
	}
}
