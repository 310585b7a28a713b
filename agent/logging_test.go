package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
)

// TestReloadChangesTheLog moves the log of a running agent through level, form, file
// and stream.
func TestReloadChangesTheLog(t *testing.T) {
	a := startAgent(t, oneJob, "")
	file := filepath.Join(t.TempDir(), "agent.log")
	reload := func(logging string) {
		t.Helper()
		a.write("logging.yaml", logging)
		if err := a.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mark := func() int { return len(a.log.String()) }

	before := mark()
	reload("logLevel: warn\n")
	if text := a.log.String()[before:]; strings.Contains(text, "configuration loaded") {
		t.Errorf("still logged at info:\n%s", text)
	}
	if a.logs.root.Named("other").IsInfo() {
		t.Error("components still think that info is logged")
	}

	before = mark()
	reload("logFormat: json\n")
	loaded := 0
	for text := range strings.Lines(a.log.String()[before:]) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("no line of JSON: %v\n%s", err, text)
		}
		if line["@module"] == "agent" && line["@message"] == "configuration loaded" && line["@level"] == "info" && line["jobs"] == 1.0 {
			loaded++
		}
	}
	if loaded == 0 {
		t.Errorf("not told of in JSON:\n%s", a.log.String()[before:])
	}

	before = mark()
	reload("logging:\n  file: " + file + "\n")
	if text := a.log.String()[before:]; text != "" {
		t.Errorf("beside the file:\n%s", text)
	}
	if text := readLog(t, file); !strings.Contains(text, "[INFO]  agent: configuration loaded: jobs=1") {
		t.Errorf("in the file:\n%s", text)
	}

	// As logrotate does it.
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := readLog(t, file); !strings.Contains(text, "configuration loaded") {
		t.Errorf("in the new file:\n%s", text)
	}

	// A file that cannot be opened leaves everything as it was.
	a.write("logging.yaml", "logging:\n  file: "+filepath.Join(a.dir, "no", "such", "folder")+"\n")
	a.write("jobs.yaml", "jobs: []\n")
	if err := a.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "log file: ") {
		t.Fatalf("a log that cannot be opened: %v", err)
	}
	status, err := a.client.ConfigStatus(t.Context())
	if err != nil || status.State != api.ConfigFailed || status.Jobs != 1 || len(status.Errors) != 1 ||
		!strings.Contains(status.Errors[0].Message, "log file: ") {
		t.Errorf("status %+v, %v", status, err)
	}
	if text := readLog(t, file); !strings.Contains(text, "reload failed") {
		t.Errorf("not in the log:\n%s", text)
	}

	before = mark()
	reload("logging:\n  stream: stdout\n")
	if text := a.log.String()[before:]; !strings.Contains(text, "configuration loaded: jobs=0") {
		t.Errorf("on the standard output:\n%s", text)
	}

	reload("logging:\n  file: " + file + "\n")
	before = mark()
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if text := readLog(t, file); !strings.HasSuffix(text, "agent: stopped\n") {
		t.Errorf("the file ends with:\n%s", text)
	}
	if rest := a.log.String()[before:]; rest != "" {
		t.Errorf("logged after the file was closed: %s", rest)
	}
}

// TestLogOptionsWinOverFiles: what the command line says holds through every reload.
func TestLogOptionsWinOverFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte("logLevel: error\nlogFormat: json\n"+oneJob), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log, LogLevel: "INFO", LogFormat: "text"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Reload(t.Context()), a.Stop(context.Background())); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "[INFO]  agent: configuration loaded") {
		t.Errorf("the log:\n%s", text)
	}
}

func TestAgentDoesNotStartWithoutItsLog(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte("logging: {file: "+dir+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{ConfigFiles: []string{file}}); err == nil || !strings.Contains(err.Error(), "log file: ") {
		t.Errorf("a folder is no log file: %v", err)
	}
	for _, opts := range []Options{{LogLevel: "loud"}, {LogFormat: "xml"}} {
		opts.Dev = true
		if _, err := New(opts); err == nil || !strings.Contains(err.Error(), "unknown log") {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// TestRemarksAreLogged: warnings and notes of the files are in the log, each with its
// place, job and key.
func TestRemarksAreLogged(t *testing.T) {
	a := startAgent(t, `
defaults:
  onFailure:
    report:
      shell:
        command: [echo, one]
jobs:
  - name: odd
    command: "true"
    schedule: "0 0 13 * 5"
    onFailure:
      report:
        shell:
          command: [echo, two]
`, "")
	log := a.log.String()
	for _, want := range []string{"[WARN]  agent: configuration: at=", `job=odd key=schedule`, "[INFO]  agent: configuration: at=", "yacron2 1.2 appended it"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
}

// TestTemplatesAreCheckedAtLoad: what a report could not render is an error of the file.
func TestTemplatesAreCheckedAtLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	text := oneJob + "    onFailure: {report: {webhook: {url: {fromEnvVar: U}, body: \"{% if %}\"}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, diags := Load(Options{ConfigFiles: []string{file}})
	if cfg != nil || len(diags) != 1 || diags[0].Severity != config.Error || diags[0].Job != "only" ||
		diags[0].Key != "onFailure.report.webhook.body" || diags[0].Line != 5 {
		t.Errorf("%+v", diags)
	}
}
