package command

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodJobs = `jobs:
  - name: backup
    command: echo done
    schedule: "0 3 * * *"
`

const badJobs = `jobs:
  - name: backup
    comand: echo done
    schedule: "61 3 * * *"
`

// Both day fields restricted: they mean something else than in cron.
const oddJobs = `jobs:
  - name: odd
    command: echo done
    schedule: "0 3 13 * 5"
`

// configDir writes files into a new folder.
func configDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// validateJSON runs validate with -format=json and reads its result.
func validateJSON(t *testing.T, code int, args ...string) validation {
	t.Helper()
	r := run(t, nil, append([]string{"validate", "-format=json"}, args...)...)
	r.expect(t, code, []string{"{"}, nil)
	var v validation
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidateGood(t *testing.T) {
	dir := configDir(t, map[string]string{"a.yaml": goodJobs})
	file := filepath.Join(dir, "a.yaml")
	v := validateJSON(t, exitOK, dir)
	if !v.Valid || v.Errors != 0 || v.Warnings != 0 || v.Jobs != 1 || !strings.HasPrefix(string(v.JobSetID), "v1:") || v.Diagnostics == nil {
		t.Errorf("got %+v", v)
	}
	for _, args := range [][]string{{dir}, {file}, {"-config-dir", dir}, {"-config-file", file}, {"-strict", dir}} {
		run(t, nil, append([]string{"validate"}, args...)...).
			expect(t, exitOK, []string{"Valid: 1 job, job set " + string(v.JobSetID) + "\n"}, nil)
	}
	for _, args := range [][]string{{"validate", "-job-set-id", dir}, {"--job-set-id", "-c", dir}} {
		if r := run(t, nil, args...); r.code != exitOK || r.out != string(v.JobSetID)+"\n" {
			t.Errorf("%q printed %q with exit code %d", args, r.out, r.code)
		}
	}
	run(t, nil, "-v", "-c", dir).expect(t, exitOK, []string{"Valid: "}, []string{"hint: "})
}

// A folder without files is valid, and hardly what was meant.
func TestValidateNothing(t *testing.T) {
	const hint = "hint: there is nothing to run"
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "jobs.yaml.txt"), []byte("jobs: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "validate", empty).expect(t, exitOK, []string{"Valid: 0 jobs"}, []string{hint, ".yaml, .yml, .hcl or .crontab"})
	if r := run(t, nil, "validate", "-job-set-id", empty); strings.Contains(r.out+r.err, hint) {
		t.Errorf("a script is told: %q", r.err)
	}
}

func TestValidateBad(t *testing.T) {
	dir := configDir(t, map[string]string{"a.yaml": badJobs, "b.yaml": "jobs: 5\n", "c.yaml": oddJobs})
	r := run(t, nil, "validate", dir)
	r.expect(t, exitFailed, nil, []string{
		filepath.Join(dir, "a.yaml") + ":3:5: error: ", "comand", "command", "  3 |     comand: echo done\n", "^\n",
		filepath.Join(dir, "b.yaml") + ":1:", "error: not valid: ",
	})
	v := validateJSON(t, exitFailed, dir)
	if v.Valid || v.Errors < 2 || v.Jobs != 0 || v.JobSetID != "" {
		t.Errorf("got %+v", v)
	}
	found := false
	for _, d := range v.Diagnostics {
		found = found || (d.File == filepath.Join(dir, "a.yaml") && d.Line == 3 && d.Column == 5)
	}
	if !found {
		t.Errorf("the position is lost: %+v", v.Diagnostics)
	}
	run(t, nil, "validate", "-job-set-id", dir).expect(t, exitFailed, nil, []string{"error: not valid: "})
	run(t, nil, "-v", "-c", dir).expect(t, exitFailed, nil, []string{"hint: ", "error: not valid: "})
}

func TestValidateWarnings(t *testing.T) {
	dir := configDir(t, map[string]string{"a.yaml": oddJobs})
	run(t, nil, "validate", dir).expect(t, exitOK, []string{"Valid, with 1 warning: 1 job, job set v1:"}, []string{"a.yaml:4:", "warning: "})
	run(t, nil, "validate", "-strict", dir).expect(t, exitFailed, nil, []string{"warning: ", "error: not valid: 0 errors, 1 warning\n"})
	if v := validateJSON(t, exitOK, dir); !v.Valid || v.Warnings != 1 || len(v.Diagnostics) != 1 {
		t.Errorf("got %+v", v)
	}
	if v := validateJSON(t, exitFailed, "-strict", dir); v.Valid || v.Warnings != 1 || v.Jobs != 1 {
		t.Errorf("got %+v", v)
	}
}

// Several sources form one configuration.
func TestValidateTogether(t *testing.T) {
	a, b := configDir(t, map[string]string{"a.yaml": goodJobs}), configDir(t, map[string]string{"b.yaml": oddJobs})
	if v := validateJSON(t, exitOK, "-config-dir", a, filepath.Join(b, "b.yaml")); v.Jobs != 2 {
		t.Errorf("%d jobs", v.Jobs)
	}
	v := validateJSON(t, exitFailed, a, filepath.Join(a, "a.yaml"), configDir(t, map[string]string{"again.yaml": goodJobs}))
	if v.Valid {
		t.Error("a job name that occurs twice is valid")
	}
}

func TestValidateMissing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{none}, {"-config-dir", none}, {"-config-file", none}} {
		run(t, nil, append([]string{"validate"}, args...)...).expect(t, exitFailed, nil, []string{none, "error: not valid: 1 error"})
	}
	run(t, nil, "validate").expect(t, exitFailed, nil, []string{
		"error: there is no configuration: neither /does/not/exist nor /does/not/exist.d exists", "hint: name it with -config-dir",
	})
}

func TestValidateListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := configDir(t, map[string]string{"a.yaml": goodJobs, "web.yaml": "web:\n  listen:\n    - http://" + l.Addr().String() +
		"\n    - unix:///does/not/exist/s\n  authToken:\n    fromEnvVar: YACRON2_TEST_UNSET\n"})
	if v := validateJSON(t, exitOK, dir); !v.Valid {
		t.Errorf("without -check-listen: %+v", v)
	}
	run(t, nil, "validate", "-check-listen", dir).expect(t, exitFailed, nil,
		[]string{"error: web token", "YACRON2_TEST_UNSET", l.Addr().String(), "address already in use", "/does/not/exist/s", "not valid: 3 errors, 1 warning"})
	if v := validateJSON(t, exitFailed, "-check-listen", dir); v.Valid || v.Errors != 3 || len(v.Diagnostics) != 4 || v.JobSetID != "" {
		t.Errorf("got %+v", v)
	}

	fine := configDir(t, map[string]string{"a.yaml": goodJobs, "web.yaml": "web:\n  listen:\n    - http://127.0.0.1:0\n"})
	run(t, nil, "validate", "-check-listen", fine).expect(t, exitOK, []string{"Valid: 1 job"}, nil)
	run(t, nil, "validate", "-check-listen", configDir(t, map[string]string{"a.yaml": goodJobs})).expect(t, exitOK, []string{"Valid: 1 job"}, nil)
}
