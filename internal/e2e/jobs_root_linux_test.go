package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// A job of another user has that user's groups and none of the agent's.
func TestJobsOfOtherUsers(t *testing.T) {
	t.Parallel()
	asRoot(t)
	const show = `command: 'grep -E "^(Uid|Gid|Groups):" /proc/self/status | tr -s "\t " " "; echo "$HOME|$USER|$LOGNAME"'`
	a := newAlone(t, testcluster.Options{})
	a.WriteFile("jobs.yaml", `
defaults: {captureStdout: true}
jobs:
  - {name: as-name,    schedule: "`+byHand+`", user: nobody, `+show+`}
  - {name: as-number,  schedule: "`+byHand+`", user: 65534, `+show+`}
  - {name: as-text,    schedule: "`+byHand+`", user: "65534", `+show+`}
  - {name: nameless,   schedule: "`+byHand+`", user: 64999, `+show+`}
  - {name: with-group, schedule: "`+byHand+`", user: nobody, group: "0", `+show+`}
  - {name: itself,     schedule: "`+byHand+`", `+show+`}
`)
	a.Prepare = func(cmd *exec.Cmd) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Groups: []uint32{0, 4, 24}} // as a root shell has
		cmd.Env = append(os.Environ(), "HOME=/root", "USER=root", "LOGNAME=root")
	}
	a.begin()
	nobody := []string{"Uid: 65534 65534 65534 65534", "Gid: 65534 65534 65534 65534", "Groups: 65534 ", "/nonexistent|nobody|nobody"}
	withGroup := slices.Clone(nobody)
	withGroup[1] = "Gid: 0 0 0 0"
	for job, want := range map[string][]string{
		"as-name": nobody, "as-number": nobody, "as-text": nobody,
		"nameless":   {"Uid: 64999 64999 64999 64999", "Gid: 0 0 0 0", "Groups: ", "/root|root|root"},
		"with-group": withGroup,
		"itself":     {"Uid: 0 0 0 0", "Gid: 0 0 0 0", "Groups: 0 4 24 ", "/root|root|root"},
	} {
		if r := a.run(job); r.Outcome != api.OutcomeSuccess {
			t.Errorf("%s: %+v", job, r)
		}
		if got := a.output(job); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", job, got, want)
		}
	}
}

// Neither waits until three in the morning to fail: a user that does not exist, and a
// user switch that this agent may not make.
func TestUsersAreCheckedAtLoad(t *testing.T) {
	t.Parallel()
	asRoot(t)
	// Whoever is not root must be able to read it.
	dir, err := os.MkdirTemp("", "y2-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "yacron2")
	if out, err := exec.Command("cp", testcluster.Binary(t), binary).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	file := filepath.Join(dir, "jobs.yaml")
	for _, test := range []struct {
		user string
		root bool
		says string
	}{
		{"nosuchuser42", true, `there is no user "nosuchuser42" on this machine`},
		{"nobody", true, ""},
		{"nobody", false, "root"},
		{"root", false, "root"},
	} {
		write(t, file, "jobs:\n  - {name: j, command: id, schedule: \"@daily\", user: "+test.user+"}\n", 0o644)
		cmd := exec.Command(binary, "validate", "-config-file", file)
		cmd.Dir = dir
		if !test.root {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if (err == nil) != (test.says == "") || !strings.Contains(string(out), test.says) || test.says != "" && !strings.Contains(string(out), `job "j"`) {
			t.Errorf("user %s, as root %v: %v\n%s", test.user, test.root, err, out)
		}
	}
}

// As the first process of a container, the agent collects what jobs leave behind and
// still gets every exit code right.
func TestAgentIsPID1(t *testing.T) {
	t.Parallel()
	asRoot(t)
	if err := exec.Command("unshare", "-fp", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no pid namespaces here: %v", err)
	}
	const orphans = `i=0; while [ $i -lt 20 ]; do ( ( sleep 0.3; exit 9 ) & ) ; i=$((i+1)); done; exit `
	codes := map[string]int{"orphans-ok": 0, "orphans-fail": 7, "quick-1": 0, "quick-2": 3}
	a := newAlone(t, testcluster.Options{},
		testcluster.Job{Name: "pid", Schedule: byHand, Command: "echo $PPID", More: captured},
		testcluster.Job{Name: "orphans-ok", Command: orphans + "0", More: "captureStderr: false\n"},
		testcluster.Job{Name: "orphans-fail", Command: orphans + "7", More: "captureStderr: false\n"},
		testcluster.Job{Name: "quick-1", Command: "exit 0"},
		testcluster.Job{Name: "quick-2", Command: "exit 3"},
		testcluster.Job{Name: "reports", Command: "exit 1", More: "onFailure:\n  report:\n    shell:\n      command: exit 5\n"},
	)
	a.Prepare = func(cmd *exec.Cmd) { cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID }
	a.begin()
	a.run("pid")
	if got := a.output("pid"); !slices.Equal(got, []string{"1"}) {
		t.Fatalf("the agent's pid is %q", got)
	}
	var most int
	for job, code := range codes {
		testcluster.Eventually(t, "12 runs of "+job, func() error {
			most = max(most, len(zombiesOf(t, a.PID())))
			runs := a.runs(job)
			for _, r := range runs {
				if exitCode(r) != strconv.Itoa(code) {
					t.Fatalf("%s: %+v, want exit code %d", job, r, code)
				}
			}
			if len(runs) < 12 {
				return fmt.Errorf("%d", len(runs))
			}
			return nil
		})
	}
	// Twenty a second ended: had they stayed, there would be hundreds.
	if most > 60 {
		t.Errorf("up to %d zombies", most)
	}
	if n := strings.Count(a.Log(), "exit code 5"); n == 0 || strings.Contains(a.Log(), "no child processes") {
		t.Error("the shell reporter's exit code was not seen")
	}
	a.WriteJobs(testcluster.Job{Name: "never", Schedule: byHand, Command: "true"})
	a.Reload()
	testcluster.Eventually(t, "the last orphans", func() error {
		if left := zombiesOf(t, a.PID()); len(left) > 0 {
			return fmt.Errorf("%d zombies", len(left))
		}
		return nil
	})
}

// zombiesOf lists the ended children of a process that nobody has waited for.
func zombiesOf(t *testing.T, parent int) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // no process, or one that has ended
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(parent) {
			pids = append(pids, e.Name())
		}
	}
	return pids
}
