package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// captured is the key that keeps a job's standard output.
const captured = "captureStdout: true\n"

// A helper that keeps the job's output open neither keeps the run going nor the job
// from running again, and it is left alone.
func TestJobLeavesAHelperBehind(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	a := startAlone(t, testcluster.Job{Name: "leaves-helper", Schedule: byHand,
		Command: "sleep 300 & echo $! > " + pid + "; echo work done", More: captured + "concurrencyPolicy: Forbid\n"})
	for range 2 {
		r := a.run("leaves-helper")
		if r.Outcome != api.OutcomeSuccess || !strings.Contains(strings.Join(r.Notes, "; "), "another process held it open") {
			t.Errorf("the run: %+v", r)
		}
		if lines := a.output("leaves-helper"); !slices.Equal(lines, []string{"work done"}) {
			t.Errorf("output %q", lines)
		}
		helper, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("kill", strings.TrimSpace(string(helper))).CombinedOutput(); err != nil {
			t.Errorf("the helper is gone: %v %s", err, out)
		}
	}
}

// A time limit ends the whole tree, also what ignores SIGTERM, and the next run is free
// to start. It leaves the tree the time to grow.
func TestJobOverItsTimeLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree, pids := filepath.Join(dir, "tree.sh"), filepath.Join(dir, "pids")
	write(t, tree, `#!/bin/sh
echo $$ >> `+pids+`
sh -c 'echo $$ >> `+pids+`; trap "" TERM; sleep 611 & echo $! >> `+pids+`; while :; do sleep 1; done' &
sleep 612 & echo $! >> `+pids+`
wait
`, 0o755)
	a := startAlone(t, testcluster.Job{Name: "tree", Schedule: byHand, Command: tree,
		More: captured + "executionTimeout: 4\nkillTimeout: 1\nconcurrencyPolicy: Forbid\n"})
	for n := range 2 {
		r := a.run("tree")
		if r.Outcome != api.OutcomeFailure || exitCode(r) != "-100" || len(r.Notes) == 0 || r.Notes[0] != "ended by its executionTimeout of 4s" {
			t.Errorf("the run: %+v", r)
		}
		data, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(data))
		if len(all) != 4*(n+1) {
			t.Fatalf("%d processes have said who they are, want %d", len(all), 4*(n+1))
		}
		testcluster.Eventually(t, "the end of the tree", func() error {
			for _, pid := range all {
				if exec.Command("kill", "-0", pid).Run() == nil {
					return errors.New("process " + pid + " lives")
				}
			}
			return nil
		})
	}
}

// Whatever the agent's standard input is, a job's is at its end.
func TestJobReadsNothing(t *testing.T) {
	t.Parallel()
	jobs := []testcluster.Job{
		{Name: "reads", Schedule: byHand, Command: `cat; echo "cat ended with $?"`, More: captured},
		{Name: "asks", Schedule: byHand, Command: `read -r answer && echo "got $answer" || echo "end of input"`, More: captured},
		{Name: "looks", Schedule: byHand, Command: `test -t 0 && echo "a terminal" || echo "no terminal"`, More: captured},
	}
	for name, words := range map[string][]string{
		"nothing": nil,
		"closed":  {"sh", "-c", `exec "$@" <&-`, "sh"},
		"a pipe":  {"sh", "-c", `mkfifo "$0"; exec "$@" <>"$0"`, filepath.Join(t.TempDir(), "pipe")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testcluster.Options{}
			if words != nil {
				o.Places = func(string) testcluster.Place { return testcluster.Place{Prefix: words} }
			}
			a := newAlone(t, o, jobs...)
			a.begin()
			for job, want := range map[string]string{"reads": "cat ended with 0", "asks": "end of input", "looks": "no terminal"} {
				if r := a.run(job); r.Outcome != api.OutcomeSuccess {
					t.Errorf("%s: %+v", job, r)
				}
				if got := a.output(job); !slices.Equal(got, []string{want}) {
					t.Errorf("%s wrote %q, want %q", job, got, want)
				}
			}
		})
	}
}

// A text is what the shell gets; a list is exactly these arguments.
func TestJobCommands(t *testing.T) {
	t.Parallel()
	a := newAlone(t, testcluster.Options{})
	a.WriteFile("jobs.yaml", `defaults: {captureStdout: true}
jobs:
  - {name: pipe,     schedule: "`+byHand+`", command: "printf a | tr a b"}
  - {name: and,      schedule: "`+byHand+`", command: "cd .. && cd - >/dev/null && echo ok"}
  - {name: subshell, schedule: "`+byHand+`", command: "echo \"$(printf 'hi there')\""}
  - {name: argv,     schedule: "`+byHand+`", command: ["printf", "[%s]\n", "two words", "", "$HOME", "*"]}
  - name: quotes
    schedule: "`+byHand+`"
    command: |-
      printf '%s\n' "a'b\"c"
  - name: multi
    schedule: "`+byHand+`"
    command: |
      x=1
      echo "x is $x"
      echo done
`)
	a.begin()
	for job, want := range map[string][]string{
		"pipe": {"b"}, "and": {"ok"}, "subshell": {"hi there"}, "argv": {"[two words]", "[]", "[$HOME]", "[*]"},
		"quotes": {`a'b"c`}, "multi": {"x is 1", "done"},
	} {
		if r := a.run(job); r.Outcome != api.OutcomeSuccess {
			t.Errorf("%s: %+v", job, r)
		}
		if got := a.output(job); !slices.Equal(got, want) {
			t.Errorf("%s wrote %q, want %q", job, got, want)
		}
	}
}

// What can't be started is an ordinary failure with a text that says why, is retried and
// reported, and tells nobody what the agent's environment holds.
func TestJobsThatCannotStart(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-visible"
	got := newSink(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "noperm.sh"), "#!/bin/sh\necho must not run\n", 0o644)
	write(t, filepath.Join(dir, "noexec.bin"), "ELF broken\n", 0o755)
	jobs := map[string]struct{ keys, code, says string }{
		"missing":        {`command: ["./no-such-program", "--x"]`, "127", "program ./no-such-program not found"},
		"not-executable": {`command: ["./noperm.sh"]`, "126", "./noperm.sh is not executable"},
		"wrong-format":   {`command: ["./noexec.bin"]`, "126", "./noexec.bin is not in a format that can be executed"},
		"bad-shell":      {"command: echo hi\n    shell: ./no-such-shell", "127", "program ./no-such-shell not found"},
		"too-long":       {`command: ["sh", "-c", "true", "` + strings.Repeat("a", 200_000) + `"]`, "126", "argument list too long"},
	}
	text := `logLevel: trace
defaults:
  concurrencyPolicy: Replace
  workingDirectory: ` + dir + `
  onFailure:
    retry: {maximumRetries: 1, initialDelay: 0, maximumDelay: 1, backoffMultiplier: 1}
    report: {webhook: {url: {value: "` + got.URL + `"}}}
  onPermanentFailure:
    report: {webhook: {url: {value: "` + got.URL + `"}, body: "{{ name }} {{ exit_code }} for good"}}
jobs:
  - {name: healthy, command: "true", schedule: "` + testcluster.EverySecond + `"}
`
	for name, job := range jobs {
		text += "  - name: " + name + "\n    schedule: \"@reboot\"\n    " + job.keys + "\n"
	}
	a := newAlone(t, testcluster.Options{Places: func(string) testcluster.Place {
		return testcluster.Place{Prefix: []string{"env", "SECRET_TOKEN=" + secret}}
	}})
	a.WriteFile("jobs.yaml", text)
	a.begin()
	for name, job := range jobs {
		for i, r := range a.awaitRuns(name, 2) {
			if r.Outcome != api.OutcomeFailure || exitCode(r) != job.code || r.Attempt != i+1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], job.says) {
				t.Errorf("%s: %+v, want exit code %s and %q", name, r, job.code, job.says)
			}
		}
	}
	reports := got.await(3 * len(jobs))
	for name, job := range jobs {
		if !slices.Contains(reports, name+" "+job.code+" for good") {
			t.Errorf("%s: no report of its permanent failure in %q", name, reports)
		}
	}
	told := map[string]string{"log": a.Log(), "reports": strings.Join(reports, "\n")}
	for _, path := range []string{"/jobs", "/status", "/metrics", "/config/status"} {
		told[path] = a.get(path)
	}
	for name := range jobs {
		for _, of := range []string{"", "/runs", "/why", "/next"} {
			told[name+of] = a.get("/jobs/" + name + of)
		}
	}
	for where, text := range told {
		if strings.Contains(text, secret) {
			t.Errorf("the environment shows in %s", where)
		}
	}
	for _, r := range a.runs("healthy") {
		if r.Outcome != api.OutcomeSuccess {
			t.Errorf("healthy: %+v", r)
		}
	}
	why, err := a.Why("healthy")
	if err != nil || len(why.Missed) > 0 {
		t.Errorf("healthy missed %+v, %v", why.Missed, err)
	}
}
