package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
)

const (
	layeredDefaults = `defaults:
  captureStdout: true
  onFailure:
    retry: {maximumRetries: 3, initialDelay: 10, maximumDelay: 60, backoffMultiplier: 2}
`
	layeredJobs = `include: [_defaults.yaml]
web:
  listen: ["http://127.0.0.1:0"]
  authToken:
    value: hunter2-of-the-api
jobs:
  - name: backup
    command: |
      echo one
      echo two
    schedule: "0 3 * * *"
    environment:
      - key: DB_PASSWORD
        value: hunter2-of-the-job
  - name: feed
    command: [feed, --all]
    schedule: "@hourly"
    captureStdout: false
    shell: ""
`
)

func layered(t *testing.T) string {
	t.Helper()
	return configDir(t, map[string]string{"_defaults.yaml": layeredDefaults, "jobs.yaml": layeredJobs})
}

// line returns the cells of the row that begins with key.
func line(t *testing.T, text, key string) string {
	t.Helper()
	for row := range strings.Lines(text) {
		if fields := strings.Fields(row); len(fields) > 0 && fields[0] == key {
			return strings.Join(fields, " ")
		}
	}
	t.Fatalf("no row %q in\n%s", key, text)
	return ""
}

func TestConfigShow(t *testing.T) {
	dir := layered(t)
	jobs, defaults := filepath.Join(dir, "jobs.yaml"), filepath.Join(dir, "_defaults.yaml")
	r := run(t, nil, "config", "show", dir)
	r.expect(t, exitOK, []string{"KEY", "\nJob backup\n\n", "\nJob feed\n\n"}, nil)
	if strings.Contains(r.out, "hunter2") {
		t.Errorf("a secret is shown:\n%s", r.out)
	}
	for key, want := range map[string]string{
		"web.authToken.value":     jobs + ":5 ***",
		"startingDeadline":        "built in 30",
		"environment.DB_PASSWORD": jobs + ":14 ***",
	} {
		if got := line(t, r.out, key); got != key+" "+want {
			t.Errorf("got %q, want %q", got, key+" "+want)
		}
	}

	r = run(t, nil, "config", "show", "-config-file", jobs, "-job=backup")
	r.expect(t, exitOK, []string{"KEY"}, nil)
	for key, want := range map[string]string{
		"command":                        jobs + ":8 \"echo one\\necho two\\n\"",
		"captureStdout":                  defaults + ":2 true",
		"onFailure.retry.maximumRetries": defaults + ":4 3",
		"enabled":                        "built in true",
	} {
		if got := line(t, r.out, key); got != key+" "+want {
			t.Errorf("got %q, want %q", got, key+" "+want)
		}
	}
	if strings.Contains(r.out, "feed") || strings.Contains(r.out, "web.") {
		t.Errorf("-job shows more than the job:\n%s", r.out)
	}
	r = run(t, nil, "config", "show", dir, "-job", "feed")
	for key, want := range map[string]string{
		"captureStdout": jobs + ":18 false", "shell": jobs + `:19 ""`, "streamPrefix": `built in "[{job_name} {stream_name}] "`,
	} {
		if got := line(t, r.out, key); got != key+" "+want {
			t.Errorf("got %q, want %q", got, key+" "+want)
		}
	}
}

func TestConfigShowJSON(t *testing.T) {
	dir := layered(t)
	r := run(t, nil, "config", "show", dir, "-format=json")
	r.expect(t, exitOK, []string{"{"}, nil)
	var all config.Explanation
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || len(all.Jobs) != 2 || len(all.Settings) == 0 {
		t.Fatalf("reads back as %+v (%v)", all, err)
	}
	hidden := 0
	for _, v := range append(all.Settings, all.Jobs[0].Values...) {
		if v.Hidden {
			hidden++
		}
		if strings.Contains(v.Text, "hunter2") || v.Hidden != (v.Text == "***") {
			t.Errorf("shown: %+v", v)
		}
	}
	if hidden != 2 {
		t.Errorf("%d values are hidden", hidden)
	}
	r = run(t, nil, "config", "show", dir, "-format=json", "-job=feed")
	var one config.JobValues
	if err := json.Unmarshal([]byte(r.out), &one); err != nil || one.Name != "feed" || len(one.Values) == 0 {
		t.Errorf("reads back as %+v (%v)", one, err)
	}
}

func TestConfigShowRefused(t *testing.T) {
	dir := layered(t)
	run(t, nil, "config", "show", dir, "-job=feeed").expect(t, exitFailed, nil, []string{`the configuration has no job "feeed", did you mean "feed"?`})
	run(t, nil, "config", "show").expect(t, exitFailed, nil, []string{"there is no configuration"})
	bad := configDir(t, map[string]string{"jobs.yaml": badJobs})
	run(t, nil, "config", "show", bad).expect(t, exitFailed, nil, []string{":3:5: error: ", "error: the configuration is not valid: "})
	run(t, nil, "config", "show", "-format=yaml", dir).expect(t, exitMisuse, nil, []string{"write table or json"})
}
