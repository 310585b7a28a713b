package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Retries against the next firing, against replacement and against removal.
func TestRetriesOfJobs(t *testing.T) {
	t.Parallel()
	reports := filepath.Join(t.TempDir(), "reports")
	retry := func(n int, initial, most, factor string) string {
		return fmt.Sprintf("onFailure:\n  retry: {maximumRetries: %d, initialDelay: %s, maximumDelay: %s, backoffMultiplier: %s}\n", n, initial, most, factor)
	}
	var kept []testcluster.Job
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		kept = []testcluster.Job{
			{Name: "slots", Schedule: "*/5 * * * * * *", Command: j.Write() + "; exit 1", More: "concurrencyPolicy: Forbid\n" + retry(20, "2", "2", "1")},
			{Name: "forever", Schedule: "@reboot", Command: j.Write() + "; exit 1", More: retry(-1, "0", "1", "2")},
			{Name: "replaced", Schedule: "*/2 * * * * * *", Command: j.Write() + "; exec sleep 90",
				More: "concurrencyPolicy: Replace\nkillTimeout: 1\n" + retry(3, "1", "1", "1") + "  report:\n    shell:\n      command: echo replaced >> " + reports + "\n"},
		}
		return append(kept, testcluster.Job{Name: "removed", Schedule: "@reboot", Command: j.Write() + "; exit 1", More: retry(5, "4", "4", "1")})
	}})
	a.WriteFile("life.yaml", "shutdownTimeout: 1\n") // the newest replacement is not waited for
	a.begin()
	entriesOf := func(job string) testcluster.Entries {
		t.Helper()
		return a.cluster.Entries().Of(job)
	}

	// A retry waits when its job is removed.
	a.awaitRuns("removed", 1)
	a.WriteJobs(kept...)
	if _, err := a.Client.Reload(a.context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Log(), "retry abandoned: the job was removed from the configuration: job=removed") {
		t.Error("the end of the removed job's retries is not in the log")
	}
	removedAt := time.Now()

	testcluster.EventuallyWithin(t, time.Minute, "three slots and as many replacements", func() error {
		slots, replaced := entriesOf("slots").Between(removedAt, time.Now()), entriesOf("replaced").Between(removedAt, time.Now())
		if len(slots) < 9 || len(replaced) < 6 {
			return fmt.Errorf("%d starts of slots, %d of replaced", len(slots), len(replaced))
		}
		return nil
	})
	if n := len(entriesOf("removed")); n != 1 || time.Since(removedAt) < 5*time.Second {
		t.Errorf("the removed job started %d times, %v after its removal", n, time.Since(removedAt))
	}

	// A slot ends the retries of the one before, and starts anew. None of these is due about
	// when the next slot is, which would be skipped while it ran.
	slots := entriesOf("slots")
	for i, e := range slots[1:] {
		before := slots[i]
		switch {
		case e.Attempt == 1 && !e.Firing.After(before.Firing):
			t.Errorf("a slot began twice: %+v after %+v", e, before)
		case e.Attempt > 1 && (e.Attempt != before.Attempt+1 || !e.Firing.Equal(before.Firing)):
			t.Errorf("%+v after %+v", e, before)
		case e.Attempt > 3:
			t.Errorf("a retry outlived its slot: %+v", e)
		}
	}
	// The delay of an endless sequence grows from nothing to its maximum.
	forever := a.runs("forever")
	if len(forever) < 5 {
		t.Fatalf("%d attempts", len(forever))
	}
	for i := 2; i < len(forever); i++ {
		if pause := forever[i].StartedAt.Sub(forever[i-1].FinishedAt.Time); pause < 900*time.Millisecond {
			t.Errorf("attempt %d came %v after the one before", forever[i].Attempt, pause)
		}
	}
	// Who is replaced has not failed.
	if runs := a.runs("replaced"); len(runs) > 0 {
		t.Errorf("runs of the replaced job: %+v", runs)
	}
	for _, e := range entriesOf("replaced") {
		if e.Attempt != 1 {
			t.Errorf("a replaced run was tried again: %+v", e)
		}
	}
	if told, err := os.ReadFile(reports); err == nil {
		t.Errorf("replaced runs were reported: %s", told)
	}
}
