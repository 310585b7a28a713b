package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"
)

func openPath(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(DefaultFileConfig(path))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// writeUntilKilled is another process: it writes runs, and says so when they are on
// the disk, until it is killed.
func writeUntilKilled(path string) {
	f, err := OpenFile(DefaultFileConfig(path))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f.SetPause(Pause{Job: "paused", Since: epoch, Note: "still"})
	f.AddStarted(Run{ID: "going-on", Job: "long", Trigger: "schedule", Attempt: 1, StartedAt: time.Now()})
	for i := 0; ; i++ {
		f.AddRun(finished("j", i))
		if err := f.Flush(context.Background()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

func TestSurvivesSIGKILL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	self, err := os.Executable()
	must(t, err)
	next := 0
	for round := range 3 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "YACRON2_TEST_HISTORY_WRITER="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		before := time.Now()
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		acknowledged := -1
		for acknowledged < 20+round*7 && lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &acknowledged); err != nil {
				t.Fatalf("the writer says %q", lines.Text())
			}
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() { // what it said before it died
			fmt.Sscan(lines.Text(), &acknowledged)
		}
		cmd.Wait()
		after := time.Now()

		f := openPath(t, path)
		runs := f.Runs("j")
		last := runs[len(runs)-1]
		if n := len(runs); n != min(50, next+acknowledged+1) && n != min(50, next+acknowledged+2) {
			t.Errorf("%d runs, %d acknowledged before and %d now", n, next, acknowledged+1)
		}
		if last.ID != finished("j", acknowledged).ID && last.ID != finished("j", acknowledged+1).ID {
			t.Errorf("last run %s, run %d was acknowledged", last.ID, acknowledged)
		}
		next += acknowledged + 1
		if p, ok := f.Pause("paused"); !ok || p.Note != "still" {
			t.Errorf("pause %+v", p)
		}
		lost := f.Runs("long")
		if len(lost) != round+1 {
			t.Fatalf("%d lost runs after %d kills", len(lost), round+1)
		}
		if r := lost[round]; r.Outcome != Lost || r.ID != "going-on" || r.ExitCode != nil || r.FailReason == "" ||
			r.StartedAt.Before(before) || r.FinishedAt.Before(r.StartedAt) || r.FinishedAt.After(after) {
			t.Errorf("lost run %+v", r)
		}
		must(t, f.Close())
	}
	f := openPath(t, path)
	defer f.Close()
	if n := len(f.Runs("long")); n != 3 {
		t.Errorf("%d lost runs, though nothing was going on", n)
	}
}

// TestTornWrites puts together what a disk may hold after the power went in the middle
// of a commit: any of the new pages without the new header, or part of the header.
func TestTornWrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	f := openPath(t, path)
	for i := range 40 {
		must(t, f.AddRun(finished("j", i)))
	}
	must(t, f.Flush(t.Context()))
	before, err := os.ReadFile(path)
	must(t, err)
	for i := 40; i < 80; i++ {
		must(t, f.AddRun(finished("j", i)))
	}
	must(t, f.Flush(t.Context()))
	after, err := os.ReadFile(path)
	must(t, err)
	must(t, f.Close())

	const sector = 512
	pageSize := os.Getpagesize()
	random := rand.New(rand.NewPCG(1, 2))
	states := map[string]int{}
	for n := range 60 {
		torn := slices.Clone(before)
		torn = append(torn, make([]byte, len(after)-len(before))...)
		withHeader := n%2 == 1 // the data pages were synced before it
		for at := 2 * pageSize; at < len(after); at += sector {
			if withHeader || random.IntN(2) == 0 {
				copy(torn[at:at+sector], after[at:])
			}
		}
		if withHeader {
			// A header is smaller than a sector, but assume less than that.
			for at := range 2 * pageSize {
				if random.IntN(64) < n {
					torn[at] = after[at]
				}
			}
		}
		copied := filepath.Join(dir, fmt.Sprint("torn", n))
		must(t, os.WriteFile(copied, torn, 0o600))
		f, err := OpenFile(DefaultFileConfig(copied))
		if err != nil {
			t.Fatalf("torn in way %d: %v", n, err)
		}
		runs := ids(f.Runs("j"))
		switch {
		case slices.Equal(runs, wantIDs("j", 0, 40)):
			states["before"]++
		case slices.Equal(runs, wantIDs("j", 30, 80)):
			states["after"]++
		default:
			t.Fatalf("torn in way %d: runs %v", n, runs)
		}
		must(t, f.Close())
	}
	if states["before"] < 30 {
		t.Errorf("states %v", states)
	}
}

func TestDamagedFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	f := openPath(t, good)
	for i := range 1000 {
		must(t, f.AddRun(finished(fmt.Sprint("j", i), i)))
	}
	must(t, f.Close())
	data, err := os.ReadFile(good)
	must(t, err)
	page := os.Getpagesize()
	garbled := slices.Clone(data)
	for i := 2 * page; i < len(garbled); i++ {
		garbled[i] ^= 0x5a
	}
	for name, content := range map[string][]byte{
		"text":         []byte(strings.Repeat("this is not a database\n", 4000)),
		"short":        []byte("x"),
		"cut":          data[:len(data)/2],
		"headers only": data[:2*page],
		"garbled":      garbled,
		"zeros":        make([]byte, len(data)),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			must(t, os.WriteFile(path, content, 0o600))
			f, err := OpenFile(DefaultFileConfig(path))
			if err == nil {
				f.Close()
				t.Fatal("opened")
			}
			if !strings.HasPrefix(err.Error(), "history file "+path+": ") || !strings.Contains(err.Error(), "move the file away") {
				t.Errorf("error %v", err)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, content) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	must(t, openPath(t, path).Close())
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte("2")) }))
	must(t, db.Close())
	if _, err := OpenFile(DefaultFileConfig(path)); err == nil || !strings.Contains(err.Error(), `format "2" is not known`) {
		t.Errorf("error %v", err)
	}
}

func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	f := openPath(t, path)
	defer f.Close()
	cfg := DefaultFileConfig(path)
	cfg.LockWait = 0
	if _, err := OpenFile(cfg); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "stop the other agent") {
		t.Errorf("error %v", err)
	}
}

func TestMissingFolder(t *testing.T) {
	if _, err := OpenFile(DefaultFileConfig(filepath.Join(t.TempDir(), "no", "history.db"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	must(t, openPath(t, path).Close())
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("files %v", entries)
	}
}

// TestTooManyChangesAtOnce overruns the queue; nothing is lost.
func TestTooManyChangesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	cfg := DefaultFileConfig(path)
	cfg.QueueLimit = 10
	cfg.WriteDelay = time.Hour // only when someone waits
	f, err := OpenFile(cfg)
	must(t, err)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			r := finished("j", i)
			r.Output = []Line{{"stdout", fmt.Sprint("output ", i)}}
			must(t, f.AddStarted(r))
			must(t, f.AddRun(r))
			must(t, f.AddMissed(Missed{Job: "j", Firing: epoch.Add(time.Duration(i) * time.Second), At: epoch}))
		}
		must(t, f.AddStarted(finished("going-on", from)))
		must(t, f.SetPause(Pause{Job: fmt.Sprint("p", from), Since: epoch}))
	}
	write(0, 3) // within the limit
	write(3, 60)
	write(60, 80)
	must(t, f.DropStarted("going-on-0"))
	must(t, f.Close())
	f = openPath(t, path)
	defer f.Close()
	if got := ids(f.Runs("j")); !slices.Equal(got, wantIDs("j", 30, 80)) {
		t.Errorf("runs %v", got)
	}
	if got := f.Missed("j", 100); len(got) != 50 || !got[49].Firing.Equal(epoch.Add(79*time.Second)) {
		t.Errorf("%d missed", len(got))
	}
	if got := ids(f.Runs("going-on")); !slices.Equal(got, []string{"going-on-3", "going-on-60"}) {
		t.Errorf("lost runs %v", got)
	}
	if got := f.Pauses(); len(got) != 3 {
		t.Errorf("pauses %v", got)
	}
	if got, err := f.Output("j", "j-42"); err != nil || len(got) != 1 || got[0].Text != "output 42" {
		t.Errorf("output %v, %v", got, err)
	}
	if got, err := f.Output("j", "j-5"); err != nil || len(got) != 0 {
		t.Errorf("output of a forgotten run %v, %v", got, err)
	}
}

// TestFailedWritesAreMadeUpFor closes the database under the writer for a while.
func TestFailedWritesAreMadeUpFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	var log bytes.Buffer
	cfg := DefaultFileConfig(path)
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	f, err := OpenFile(cfg)
	must(t, err)
	must(t, f.AddRun(finished("j", 0)))
	must(t, f.Flush(t.Context()))

	// A write transaction of ours makes the disk as good as absent: MaxSize is
	// below what the file has.
	f.db.MaxSize = 1
	for i := 1; i < 40; i++ {
		r := finished("j", i)
		r.FailReason = strings.Repeat("x", 10_000)
		must(t, f.AddRun(r)) // goes on in memory
	}
	if err := f.Flush(t.Context()); err == nil {
		t.Error("written, though there is no room")
	}
	if err := f.SetPause(Pause{Job: "p", Since: epoch}); err == nil {
		t.Error("a pause was promised to last")
	}
	if p, ok := f.Pause("p"); !ok || !p.Active(epoch) {
		t.Error("the pause is not in force")
	}
	if len(f.Runs("j")) != 40 {
		t.Errorf("%d runs in memory", len(f.Runs("j")))
	}
	f.db.MaxSize = 0
	must(t, f.Flush(t.Context()))
	must(t, f.Close())
	if n := strings.Count(log.String(), "history is not written"); n != 1 {
		t.Errorf("told %d times: %s", n, log.String())
	}
	if !strings.Contains(log.String(), "history is written again") {
		t.Errorf("not told of the end: %s", log.String())
	}
	f = openPath(t, path)
	defer f.Close()
	if got := ids(f.Runs("j")); !slices.Equal(got, wantIDs("j", 0, 40)) {
		t.Errorf("runs %v", got)
	}
	if _, ok := f.Pause("p"); !ok {
		t.Error("the pause is lost")
	}
}

// TestSignsOfLife checks that a run which goes on for long is closed at a late instant.
func TestSignsOfLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	cfg := DefaultFileConfig(path)
	cfg.AliveEvery = time.Millisecond
	cfg.WriteDelay = 0
	f, err := OpenFile(cfg)
	must(t, err)
	begun := time.Now()
	must(t, f.AddStarted(Run{ID: "r", Job: "j", StartedAt: begun}))
	alive := func() (at time.Time) {
		must(t, f.db.View(func(tx *bolt.Tx) error { at = aliveAt(tx); return nil }))
		return at
	}
	for deadline := time.Now().Add(waitLimit); alive().Sub(begun) < 50*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatal("no sign of life")
		}
		<-time.After(time.Millisecond)
	}
	must(t, f.Close())
	f = openPath(t, path)
	defer f.Close()
	if r, ok := f.LastRun("j"); !ok || r.FinishedAt.Sub(begun) < 50*time.Millisecond {
		t.Errorf("lost run %+v, begun %v", r, begun)
	}
}

func BenchmarkFile(b *testing.B) {
	b.Run("AddRun", func(b *testing.B) {
		f, err := OpenFile(DefaultFileConfig(filepath.Join(b.TempDir(), "history.db")))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			r := finished("j", i)
			f.AddStarted(r)
			f.AddRun(r)
		}
	})
	b.Run("Open100000", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "history.db")
		f, err := OpenFile(DefaultFileConfig(path))
		if err != nil {
			b.Fatal(err)
		}
		for i := range 100_000 {
			f.AddRun(finished(fmt.Sprint("job", i%5000), i))
		}
		f.Close()
		for b.Loop() {
			f, err := OpenFile(DefaultFileConfig(path))
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
}
