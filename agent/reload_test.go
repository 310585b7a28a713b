package agent

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/api"
)

const oneJob = "jobs:\n  - name: only\n    command: 'true'\n    schedule: '@daily'\n"

func TestReloadOverTheAPI(t *testing.T) {
	a := startAgent(t, someJobs, "")
	ctx := t.Context()
	status, err := a.client.ConfigStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if status.State != api.ConfigLoaded || status.Trigger != "start" || status.Jobs != 6 || len(status.Errors) != 0 ||
		status.Reloads != 0 || status.At.IsZero() || status.At != status.LoadedAt {
		t.Fatalf("after the start: %+v", status)
	}

	// The file watch may be faster than the request; what is asked for here is the
	// state after both.
	a.write("jobs.yaml", oneJob+"    colour: red\n")
	failed, err := a.client.Reload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if failed.State != api.ConfigFailed || failed.JobSetID != status.JobSetID || failed.LoadedAt != status.LoadedAt || failed.Failures == 0 {
		t.Fatalf("after broken files: %+v", failed)
	}
	if len(failed.Errors) != 1 || failed.Errors[0].Line != 5 || !strings.HasSuffix(failed.Errors[0].File, "jobs.yaml") ||
		!strings.Contains(failed.Errors[0].Key+failed.Errors[0].Message, "colour") {
		t.Errorf("errors: %+v", failed.Errors)
	}
	if resp, _ := a.request("POST", "/reload", nil); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("status code %d", resp.StatusCode)
	}

	a.write("jobs.yaml", oneJob)
	loaded, err := a.client.Reload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.State != api.ConfigLoaded || loaded.Jobs != 1 || len(loaded.Errors) != 0 || loaded.Reloads == 0 || loaded.LoadedAt == status.LoadedAt {
		t.Errorf("after good files: %+v", loaded)
	}
}

func TestChangedFilesAreNoticed(t *testing.T) {
	a := startAgent(t, someJobs, "")
	jobs := func() int {
		status, err := a.client.ConfigStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return status.Jobs
	}
	a.write("jobs.yaml", oneJob)
	eventually(t, "a rewritten file is in effect", func() bool { return jobs() == 1 })

	a.write("more.yaml", "jobs:\n  - name: more\n    command: 'true'\n    schedule: '@daily'\n")
	eventually(t, "a new file is in effect", func() bool { return jobs() == 2 })

	// As orchestrators do it: a link to a folder is swapped for another.
	volume := t.TempDir()
	for i, text := range []string{"jobs: []\n", strings.ReplaceAll(oneJob, "only", "linked")} {
		folder := filepath.Join(volume, []string{"v1", "v2"}[i])
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "jobs.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(volume, "current")
	if err := os.Symlink("v1", link); err != nil {
		t.Fatal(err)
	}
	a.write("include.yaml", "include:\n  - "+filepath.Join(link, "jobs.yaml")+"\n")
	eventually(t, "the link's first file is read", func() bool {
		status, err := a.client.ConfigStatus(t.Context())
		return err == nil && status.Reloads >= 3 && status.Jobs == 2
	})
	if err := os.Symlink("v2", link+"-new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+"-new", link); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the swapped link is in effect", func() bool { return jobs() == 3 })

	if err := os.Remove(filepath.Join(a.dir, "more.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed file is gone", func() bool { return jobs() == 2 })

	a.write("jobs.yaml", "jobs: {broken\n")
	eventually(t, "a broken file is told, and the old jobs stay", func() bool {
		status, err := a.client.ConfigStatus(t.Context())
		return err == nil && status.State == api.ConfigFailed && status.Jobs == 2 && status.Trigger == "file"
	})
	if !strings.Contains(a.log.String(), "reload failed: the old configuration stays in effect") {
		t.Error("not in the log")
	}
}

// What is worth a note in one job is often so in a thousand, and with each reload.
func TestNotesAreLoggedOnce(t *testing.T) {
	var jobs strings.Builder
	jobs.WriteString("jobs:\n")
	for i := range 50 {
		fmt.Fprintf(&jobs, "  - {name: job-%d, command: 'true', schedule: '%d 0 3 * * * *'}\n", i, i+1)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jobs.yaml"), []byte(jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	a, err := New(Options{ConfigDirs: []string{dir}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, " note="); n != 1 || !strings.Contains(text, "job=job-0 ") || !strings.Contains(text, "more=49") {
		t.Errorf("%d notes:\n%s", n, text)
	}
}
