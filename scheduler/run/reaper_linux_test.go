package run

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// zombies counts ended children of this process that nobody has waited for.
func zombies(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := statFields(pid); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// inSubprocess repeats the calling test in a process of its own, since orphans of
// all tests would be adopted otherwise. It reports whether this is that process.
func inSubprocess(t *testing.T, wrap ...string) bool {
	t.Helper()
	if os.Getenv("YACRON2_TEST_REAPER") == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(wrap, self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "YACRON2_TEST_REAPER="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// reapAmongOthers runs jobs that leave orphans, jobs that do not and commands of
// other code at once: every one gets its own exit code, and no zombie stays.
func reapAmongOthers(t *testing.T) {
	if !IsReaper() {
		t.Fatal("orphans do not come to this process")
	}
	r := NewReaper(nil)
	defer r.Close()
	orphans := "i=0; while [ $i -lt 20 ]; do ( ( sleep 0.2; exit 9 ) & ) ; i=$((i+1)); done; exit "
	var wg sync.WaitGroup
	for range 8 {
		for script, want := range map[string]int{orphans + "0": 0, orphans + "7": 7, "exit 0": 0, "exit 3": 3} {
			wg.Go(func() {
				for range 5 {
					spec := shell(script)
					spec.CaptureStdout, spec.CaptureStderr = false, false
					if res := r.Start(spec).Result(); res.ExitCode != want {
						t.Errorf("%q: exit code %d, %s", script, res.ExitCode, res.StartError)
					}
				}
			})
		}
		wg.Go(func() {
			cmd := exec.Command("sh", "-c", "exit 5")
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			// Late, so that the reaper meets it first.
			eventually(t, "zombie", func() bool { return processState(cmd.Process.Pid) == "Z" })
			<-time.After(5 * reapAgain)
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 5 {
				t.Errorf("another command: exit code %d", code)
			}
		})
	}
	// A program that does not exist forks, too.
	missing := shell("")
	missing.Argv = []string{"/no/such/program"}
	if res := r.Start(missing).Result(); res.ExitCode != ExitNotFound {
		t.Errorf("exit code %d", res.ExitCode)
	}
	wg.Wait()
	eventually(t, "no zombie", func() bool { return zombies(t) == 0 })
	if len(r.own) != 0 {
		t.Errorf("the reaper remembers %d runs", len(r.own))
	}
}

func TestReaperAsSubreaper(t *testing.T) {
	t.Parallel()
	if !inSubprocess(t) {
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	reapAmongOthers(t)
}

func TestReaperAsPID1(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a pid namespace needs root")
	}
	if err := exec.Command("unshare", "-fp", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no pid namespaces here: %v", err)
	}
	if !inSubprocess(t, "unshare", "-fp", "--mount-proc") {
		return
	}
	if os.Getpid() != 1 {
		t.Fatalf("pid %d", os.Getpid())
	}
	reapAmongOthers(t)
}

func TestOrphansStayZombiesWithoutReaper(t *testing.T) {
	if !inSubprocess(t) {
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if res := finish(t, Start(shell("(sleep 0 &)"))); res.ExitCode != 0 {
		t.Fatal(res)
	}
	eventually(t, "an orphan", func() bool { return zombies(t) == 1 })
	r := NewReaper(nil)
	eventually(t, "no zombie", func() bool { return zombies(t) == 0 })
	r.Close()
	r.Close()
}

func TestSiginfoPID(t *testing.T) {
	if !inSubprocess(t) {
		return
	}
	if pid := firstZombie(); pid != 0 {
		t.Errorf("zombie %d, though there is no child", pid)
	}
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "zombie", func() bool { return processState(pid) == "Z" })
	if got := firstZombie(); got != pid {
		t.Errorf("zombie %d, want %d", got, pid)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Errorf("its status is gone: %v", err)
	}
}
