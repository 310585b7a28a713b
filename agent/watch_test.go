package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onLine calls do when a line that is written to it holds the text.
type onLine struct {
	text string
	do   func()
}

func (w onLine) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.text)) {
		w.do()
	}
	return len(b), nil
}

// A file that changes after it was read, and before the reload is done, is read again.
func TestChangeDuringReloadIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write(oneJob)
	late := func() {}
	log := onLine{"configuration loaded", func() { late() }}
	a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	late = func() {
		late = func() {}
		write(strings.ReplaceAll(oneJob, "only", "written-late"))
	}
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	(&watcher{agent: a}).reloadIfChanged(t.Context(), TriggerFile)
	if got := a.config.Load().Jobs[0].Name; got != "written-late" {
		t.Errorf("in effect is the job %q", got)
	}
}
