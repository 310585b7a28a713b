package agent

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// A file that changes after it was read, and before what it said is in effect, is read
// again.
func TestChangeMeanwhileIsNoticed(t *testing.T) {
	for when, line := range map[string]string{"at the start": "HTTP API listening", "in a reload": "configuration loaded"} {
		t.Run(when, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "jobs.yaml")
			write := func(job string) {
				text := "web:\n  listen: ['http://127.0.0.1:0']\n" + strings.ReplaceAll(oneJob, "only", job)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			write("early")
			log := onLine{line, sync.OnceFunc(func() { write("written-late") })}
			a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := a.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			if when == "in a reload" {
				if err := a.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			(&watcher{agent: a}).reloadIfChanged(t.Context(), TriggerFile)
			if got := a.config.Load().Jobs[0].Name; got != "written-late" {
				t.Errorf("in effect is the job %q", got)
			}
		})
	}
}
