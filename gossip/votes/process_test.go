package votes

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// other is another process that has to do with the file.
type other struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startOther starts this test binary in a role.
func startOther(t *testing.T, role, path string, seed uint64) *other {
	t.Helper()
	o, err := startWith(t, nil, role, path, seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// startWith is startOther with attributes, which the system may refuse.
func startWith(t *testing.T, attr *syscall.SysProcAttr, role, path string, seed uint64) (*other, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), envRole+"="+role, envPath+"="+path, envSeed+"="+strconv.FormatUint(seed, 10))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o := &other{Cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(o.kill)
	return o, nil
}

// kill ends the process by SIGKILL, if that was not done yet.
func (o *other) kill() {
	if o.ProcessState == nil {
		_ = o.Process.Kill()
		_ = o.Wait()
	}
}

func (o *other) readLine(t *testing.T) string {
	t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process said %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	o := startOther(t, "hold", path, 0)
	o.readLine(t)
	before := mustRead(t, path)
	_, err := Open(Config{Path: path, NodeName: node, LockWait: 10 * time.Millisecond})
	wantError(t, err, ErrLocked, path, "10ms", "stop the other agent")
	wantUntouched(t, path, before)

	// Who waits long enough gets it.
	opened := make(chan error, 1)
	go func() {
		s, err := Open(Config{Path: path, NodeName: node, LockWait: time.Minute})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if _, err := io.WriteString(o.in, "go on\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if err := o.Wait(); err != nil {
		t.Error(err)
	}
}

// A file that got another's name meanwhile is not the one that a waiting process has
// locked in the end.
func TestReplacedWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	s := mustOpen(t, path)
	mustAppend(t, s, batchOf(1, 0, 1))
	type result struct {
		votes []election.Vote
		err   error
	}
	got := make(chan result, 1)
	go func() {
		next, err := Open(Config{Path: path, NodeName: node, LockWait: time.Minute})
		if err != nil {
			got <- result{err: err}
			return
		}
		defer next.Close()
		votes, _, _, err := next.Load()
		got <- result{votes, err}
	}()
	// Whenever the other one began to wait, now or later: it must see all.
	for batch := 1; batch <= 20; batch++ {
		s.suspect = true
		mustAppend(t, s, batchOf(1, batch, 1))
	}
	mustClose(t, s)
	if r := <-got; r.err != nil || len(r.votes) != 21 {
		t.Errorf("%d votes, error %v; want 21, none", len(r.votes), r.err)
	}
}

// Killed at any moment, a process leaves everything behind that it had done, and
// nothing half.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	const lives = 25
	done, cut := 0, 0
	for life := range uint64(lives) {
		// Every life finds what the one before has left. Its votes are other ones, so
		// that what is checked is what this life did.
		before := votesOf(t, path)
		o := startOther(t, "write", path, life)
		kill := func() {
			time.AfterFunc(time.Duration(20+rand.IntN(60))*time.Millisecond, func() { _ = o.Process.Kill() })
		}
		// Every other life is cut short as soon as it may, be it before it has done anything:
		// on a busy machine none would do anything else.
		writes := kill
		if life%2 == 0 {
			kill()
			writes = func() {}
		}
		steps := readSteps(t, o, writes)
		o.kill()

		want := apply(before, life, steps)
		got := votesOf(t, path)
		n := len(steps)
		done += n
		if n > 0 && !steps[n-1].done {
			cut++
			done--
			if !slices.Equal(got, want) { // the last step may have been just finished
				steps[n-1].done = true
				want = apply(before, life, steps)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("life %d: %d votes are there, want %d after the steps %v", life, len(got), len(want), steps)
		}
	}
	t.Logf("%d steps were done, %d were cut short", done, cut)
	if done == 0 || cut == 0 {
		t.Errorf("%d steps were done and %d cut short: nothing was tested", done, cut)
	}
}

// step is one line of what the writing process was about to do.
type step struct {
	prune    bool
	batch, n int
	done     bool
}

// readSteps reads what the process does until it is killed. It calls writes once, when the
// process begins to write.
func readSteps(t *testing.T, o *other, writes func()) []step {
	t.Helper()
	writes = sync.OnceFunc(writes)
	var steps []step
	for {
		line, err := o.out.ReadString('\n')
		if err != nil {
			return steps // killed; an unfinished line says nothing
		}
		writes()
		if line == "done\n" {
			steps[len(steps)-1].done = true
			continue
		}
		var what string
		var s step
		if _, err := fmt.Sscan(line, &what, &s.batch, &s.n); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		s.prune = what == "prune"
		steps = append(steps, s)
	}
}

// apply returns the votes after the steps that were done. Those of one life are all
// later than those of the lives before.
func apply(before []election.Vote, life uint64, steps []step) []election.Vote {
	var kept []election.Vote
	for _, s := range steps {
		switch {
		case !s.done:
		case s.prune:
			kept = kept[s.n:]
		default:
			kept = append(kept, batchOf(life, s.batch, s.n)...)
		}
	}
	return slices.Concat(before, kept)
}

// votesOf returns what the file has.
func votesOf(t *testing.T, path string) []election.Vote {
	t.Helper()
	s := mustOpen(t, path)
	votes, _, _ := mustLoad(t, s)
	mustClose(t, s)
	return votes
}

// A process that may not write a byte more refuses votes; as soon as it may, it goes on,
// and what it refused is not there.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	o := startOther(t, "fill", path, 0)
	out, err := io.ReadAll(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(batchOf(1, 0, 10), batchOf(1, 4, 10))
	if got := strings.Count(string(out), "\n"); got != len(want) {
		t.Errorf("the process had %d votes at the end, want %d:\n%s", got, len(want), out)
	}
	if got := votesOf(t, path); !slices.Equal(got, want) {
		t.Errorf("%d votes are there, want %d", len(got), len(want))
	}
	if others, err := filepath.Glob(path + ".*"); err != nil || len(others) > 0 {
		t.Errorf("files were left beside it: %v, %v", others, err)
	}
}
