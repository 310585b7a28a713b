//go:build unix

package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell returns a Spec that captures everything a script writes.
func shell(script string) Spec {
	return Spec{
		JobName:       "job",
		Argv:          []string{"/bin/sh", "-c", script},
		Env:           []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		CaptureStdout: true,
		CaptureStderr: true,
		SaveLimit:     4096,
		MaxLineLength: 16 << 20,
		KillTimeout:   waitLimit,
	}
}

// finish waits for a run and cancels it, with what it started, when it takes too long.
func finish(t *testing.T, p *Process) Result {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(waitLimit):
		p.Cancel()
		t.Fatalf("the run did not end within %s; lines: %v", waitLimit, p.Lines())
	}
	return p.Result()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", waitLimit, what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// awaitLines waits until the run has written n lines and returns them.
func awaitLines(t *testing.T, p *Process, n int) []Line {
	t.Helper()
	eventually(t, fmt.Sprintf("%d lines", n), func() bool { return len(p.Lines()) >= n })
	return p.Lines()
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0":                   0,
		"exit 7":                   7,
		"exit 255":                 255,
		"kill -TERM $$; sleep 60":  -15,
		"kill -KILL $$; sleep 60":  -9,
		"exec kill -s SEGV $$":     -11,
		"no-such-program-anywhere": 127, // by the shell itself
		"trap 'exit 3' TERM; kill -TERM $$; exit 4": 3,
	} {
		t.Run(script, func(t *testing.T) {
			r := finish(t, Start(shell(script)))
			if r.ExitCode != want {
				t.Errorf("exit code %d, want %d; stderr %q", r.ExitCode, want, r.Stderr.Text)
			}
			if !r.Started() || r.StartError != "" || r.TimedOut || r.Cancelled || len(r.Notes) > 0 {
				t.Errorf("unexpected result %+v", r)
			}
			if r.FinishedAt.Before(r.StartedAt) {
				t.Errorf("finished %v before start %v", r.FinishedAt, r.StartedAt)
			}
		})
	}
}

func TestShellAndArgv(t *testing.T) {
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"pipe":     {[]string{"/bin/sh", "-c", "printf a | tr a b"}, "b"},
		"and":      {[]string{"/bin/sh", "-c", "cd .. && cd - >/dev/null && echo ok"}, "ok\n"},
		"subshell": {[]string{"/bin/sh", "-c", `echo "$(printf 'hi there')"`}, "hi there\n"},
		"argv":     {[]string{"printf", "[%s]\n", "two words", "", "$HOME", "*"}, "[two words]\n[]\n[$HOME]\n[*]\n"},
		"quotes":   {[]string{"/bin/sh", "-c", `printf '%s\n' "a'b\"c"`}, "a'b\"c\n"},
		"multi":    {[]string{"/bin/sh", "-c", "x=1\necho \"x is $x\"\necho done\n"}, "x is 1\ndone\n"},
		"empty":    {[]string{"/bin/sh", "-c", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell("")
			spec.Argv = c.argv
			if r := finish(t, Start(spec)); r.Stdout.Text != c.want || r.ExitCode != 0 {
				t.Errorf("exit code %d, stdout %q, want %q; stderr %q", r.ExitCode, r.Stdout.Text, c.want, r.Stderr.Text)
			}
		})
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	r := finish(t, Start(shell(`cat; echo "cat $?"; read -r x || echo end; test -t 0 || echo no terminal; tty; readlink /proc/self/fd/0 >&2`)))
	if want := "cat 0\nend\nno terminal\nnot a tty\n"; r.Stdout.Text != want {
		t.Errorf("stdout %q, want %q", r.Stdout.Text, want)
	}
	if r.Stderr.Text != "/dev/null\n" {
		t.Errorf("standard input is %q", r.Stderr.Text)
	}
}

func TestOwnSessionAndGroup(t *testing.T) {
	spec := shell(`echo $$; ps -o sid=,pgid= -p $$`)
	r := finish(t, Start(spec))
	fields := strings.Fields(r.Stdout.Text)
	if len(fields) != 3 {
		t.Fatalf("stdout %q, stderr %q", r.Stdout.Text, r.Stderr.Text)
	}
	for _, f := range fields {
		if f != strconv.Itoa(r.PID) {
			t.Errorf("pid %d, but shell, session and group are %v", r.PID, fields)
		}
	}
}

func TestEnvironmentIsWhole(t *testing.T) {
	t.Setenv("YACRON2_TEST_LEAK", "agent")
	spec := shell("")
	spec.Argv = []string{"env"}
	spec.Env = []string{"PATH=/usr/bin:/bin", "A=b c", "EMPTY="}
	if r := finish(t, Start(spec)); r.Stdout.Text != "PATH=/usr/bin:/bin\nA=b c\nEMPTY=\n" {
		t.Errorf("stdout %q, start error %q", r.Stdout.Text, r.StartError)
	}
	spec.Argv, spec.Env = []string{"/usr/bin/env"}, nil
	if r := finish(t, Start(spec)); r.Stdout.Text != "" || r.ExitCode != 0 {
		t.Errorf("without environment: exit code %d, stdout %q", r.ExitCode, r.Stdout.Text)
	}
}

func TestNoDescriptorLeaksIntoTheChild(t *testing.T) {
	other, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	running := Start(shell("sleep 60")) // its pipes and pidfd must not be seen below
	defer func() { running.Cancel(); finish(t, running) }()
	// Whatever this test was itself started with stays open in any child.
	bare := exec.Command("ls", "/proc/self/fd")
	want, err := bare.Output()
	if err != nil {
		t.Fatal(err)
	}
	r := finish(t, Start(shell("exec ls /proc/self/fd")))
	if r.Stdout.Text != string(want) {
		t.Errorf("descriptors of the child: %q, want %q", r.Stdout.Text, want)
	}
}

func TestWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "here.sh"), "#!/bin/sh\necho \"$PWD\"\n", 0o755)
	spec := shell("")
	spec.Dir = dir
	spec.Argv = []string{"./here.sh"}
	if r := finish(t, Start(spec)); r.Stdout.Text != dir+"\n" {
		t.Errorf("path relative to the directory: %+v", r)
	}
	spec.Argv = []string{"here.sh"}
	spec.Env = []string{"PATH=/bin:."}
	if r := finish(t, Start(spec)); r.Stdout.Text != dir+"\n" {
		t.Errorf("PATH relative to the directory: %+v", r)
	}
}

func TestExecutionTimeout(t *testing.T) {
	t.Parallel()
	spec := shell("echo begun; sleep 600 & sleep 600")
	spec.ExecutionTimeout = 5 * time.Second // enough for the shell to begin
	p := Start(spec)
	r := finish(t, p)
	if r.ExitCode != ExitTimeout || !r.TimedOut || r.Cancelled {
		t.Errorf("result %+v", r)
	}
	if r.Stdout.Text != "begun\n" {
		t.Errorf("stdout %q", r.Stdout.Text)
	}
	if d := r.Duration(); d < spec.ExecutionTimeout {
		t.Errorf("ended after %s, before its limit of %s", d, spec.ExecutionTimeout)
	}
	if groupHasMembers(r.PID) {
		t.Error("the group lives on")
	}
}

func TestExecutionTimeoutStaysWhateverTheProcessDoes(t *testing.T) {
	spec := shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	spec.ExecutionTimeout = 300 * time.Millisecond
	if r := finish(t, Start(spec)); r.ExitCode != ExitTimeout {
		t.Errorf("exit code %d, want %d", r.ExitCode, ExitTimeout)
	}
}

func TestTimeoutKillsATreeThatIgnoresTERM(t *testing.T) {
	t.Parallel()
	spec := shell(`sh -c "trap '' TERM; sh -c 'sleep 611' & while :; do sleep 0.1; done" & sleep 612`)
	spec.ExecutionTimeout = 200 * time.Millisecond
	spec.KillTimeout = 300 * time.Millisecond
	for _, captured := range []bool{true, false} {
		spec.CaptureStdout, spec.CaptureStderr = captured, captured
		r := finish(t, Start(spec))
		if r.ExitCode != ExitTimeout {
			t.Errorf("captured %v: exit code %d", captured, r.ExitCode)
		}
		eventually(t, "the tree is gone", func() bool { return !groupHasMembers(r.PID) })
	}
}

func TestCancel(t *testing.T) {
	p := Start(shell("echo ready; sleep 600"))
	awaitLines(t, p, 1)
	if p.PID() == 0 {
		t.Error("no pid while it runs")
	}
	p.Cancel()
	p.Cancel()
	r := finish(t, p)
	if r.ExitCode != -15 || !r.Cancelled || r.TimedOut {
		t.Errorf("result %+v", r)
	}
	if p.PID() != 0 {
		t.Errorf("pid %d after the end", p.PID())
	}
	if p.GivenPID() != r.PID || r.PID == 0 {
		t.Errorf("it was given the pid %d, or %d", p.GivenPID(), r.PID)
	}
	p.Cancel() // no effect any more
}

func TestCancelWithoutKillTimeoutKills(t *testing.T) {
	spec := shell("trap '' TERM; echo ready; while :; do sleep 0.05; done")
	spec.KillTimeout = 0
	p := Start(spec)
	awaitLines(t, p, 1)
	p.Cancel()
	if r := finish(t, p); r.ExitCode != -9 {
		t.Errorf("exit code %d, want -9", r.ExitCode)
	}
}

func TestCancelWaitsForTheGroup(t *testing.T) {
	// The shell ends at once; its child needs a moment to clean up, and nothing of
	// it is captured.
	done := filepath.Join(t.TempDir(), "done")
	spec := shell(fmt.Sprintf(`(trap "sleep 0.3; touch %s; exit" TERM; echo ready; while :; do sleep 0.02; done) & sleep 600`, done))
	spec.CaptureStderr = false
	p := Start(spec)
	awaitLines(t, p, 1)
	p.Cancel()
	r := finish(t, p)
	if _, err := os.Stat(done); err != nil {
		t.Errorf("the run ended before its group: %v", err)
	}
	if r.ExitCode != -15 {
		t.Errorf("exit code %d", r.ExitCode)
	}
}

func TestCancelReachesAStoppedProcess(t *testing.T) {
	p := Start(shell("echo ready; kill -STOP $$; sleep 600"))
	awaitLines(t, p, 1)
	eventually(t, "stopped", func() bool { return processState(p.PID()) == "T" })
	p.Cancel()
	if r := finish(t, p); r.ExitCode != -15 {
		t.Errorf("exit code %d, want -15", r.ExitCode)
	}
}

func TestHelperThatKeepsThePipe(t *testing.T) {
	t.Parallel()
	spec := shell(`sleep 300 & echo "$!"; echo "work done"; exit 0`)
	p := Start(spec)
	lines := awaitLines(t, p, 2)
	helper, err := strconv.Atoi(lines[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(helper, syscall.SIGKILL)
	eventually(t, "process gone", func() bool { return p.PID() == 0 })
	select {
	case <-p.Done():
		t.Error("over before the pipes had been given their time")
	default:
	}
	r := finish(t, p)
	if r.ExitCode != 0 || !strings.HasSuffix(r.Stdout.Text, "work done\n") {
		t.Errorf("result %+v", r)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "stdout: closed 5s after") || !strings.Contains(r.Notes[1], "stderr: closed 5s after") {
		t.Errorf("notes %q", r.Notes)
	}
	if r.Duration() > DrainWait {
		t.Errorf("the run took %s, though its process ended at once", r.Duration())
	}
	if err := syscall.Kill(helper, 0); err != nil {
		t.Errorf("the helper is gone: %v", err)
	}
}

func TestCancelEndsTheWaitForAHelper(t *testing.T) {
	spec := shell(`sleep 300 & echo "work done"; exit 0`)
	p := Start(spec)
	awaitLines(t, p, 1)
	eventually(t, "process gone", func() bool { return p.PID() == 0 })
	p.Cancel()
	r := finish(t, p)
	if r.ExitCode != 0 || !r.Cancelled || len(r.Notes) > 0 {
		t.Errorf("result %+v", r)
	}
}

func TestUncapturedStreamsAreInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec := shell("echo out; echo err >&2")
	spec.CaptureStdout = false
	spec.Stdout = NewOutput(f)
	spec.Stderr = NewOutput(new(bytes.Buffer))
	spec.StreamPrefix = "p "
	r := finish(t, Start(spec))
	if r.Stdout.Captured || !r.Stdout.Empty() || r.Stderr.Text != "err\n" {
		t.Errorf("result %+v", r)
	}
	if data, _ := os.ReadFile(path); string(data) != "out\n" {
		t.Errorf("inherited file holds %q", data)
	}
	f.Close()
	spec = shell("echo out; echo err >&2")
	spec.CaptureStdout = false
	spec.Stdout = f
	if r := finish(t, Start(spec)); r.ExitCode != 0 || r.Stderr.Text != "err\n" {
		t.Errorf("with a closed output: %+v", r)
	}
	spec = shell("exec 3>&1; readlink /proc/self/fd/3 >&2")
	spec.CaptureStdout = false
	spec.Stdout = NewOutput(new(bytes.Buffer))
	if r := finish(t, Start(spec)); !strings.Contains(r.Stderr.Text, "/dev/null") {
		t.Errorf("a stream without a file goes to %q", r.Stderr.Text)
	}
}

func TestResourceUsage(t *testing.T) {
	r := finish(t, Start(shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")))
	if r.UserCPU <= 0 || r.UserCPU > waitLimit {
		t.Errorf("user time %s", r.UserCPU)
	}
	if r.MaxRSS != 0 {
		t.Errorf("peak memory of a shell: %d bytes, which is that of this process", r.MaxRSS)
	}
	size := ownPeak() + 64<<20
	r = finish(t, Start(shell(fmt.Sprintf("dd if=/dev/zero of=/dev/null bs=%d count=1 2>/dev/null", size))))
	if r.ExitCode != 0 || r.MaxRSS < size || r.MaxRSS > size+32<<20 {
		t.Errorf("exit code %d, peak memory %d bytes, want a little above %d", r.ExitCode, r.MaxRSS, size)
	}
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// groupHasMembers looks for living processes of a group.
func groupHasMembers(pgid int) bool {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fields := statFields(pid)
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(pgid) {
			return true
		}
	}
	return false
}

func processState(pid int) string {
	if fields := statFields(pid); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// statFields returns /proc/PID/stat from the state on.
func statFields(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}
