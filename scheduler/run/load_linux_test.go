package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNothingIsLeftBehind makes many runs of every kind, most of them with children
// that outlive their parent.
func TestNothingIsLeftBehind(t *testing.T) {
	total := 10_000
	if testing.Short() {
		total = 1_000
	}
	dir := t.TempDir()
	specs := []Spec{
		shell("(: &); (: &); exit 0"),
		shell("echo out; echo err >&2; (exit 3 &) >/dev/null 2>&1; exit 4"),
		shell("exit 1"),
		shell(""), // not started, below
		shell("sleep 600 & sleep 600"),
	}
	specs[2].CaptureStdout = false
	specs[3].Argv = []string{filepath.Join(dir, "missing")}
	specs[4].ExecutionTimeout = 5 * time.Millisecond
	want := []int{0, 4, 1, 127, ExitTimeout}
	specs[4].CaptureStderr = false

	finish(t, Start(specs[0])) // whatever is opened once for all
	descriptors, goroutines := openDescriptors(t), runtime.NumGoroutine()
	slots := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range total {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			kind := i % len(specs)
			if i%50 != 4 && kind == 4 {
				kind = 0 // two forks and a wait each: a tenth of them will do
			}
			if r := Start(specs[kind]).Result(); r.ExitCode != want[kind] || len(r.Notes) > 0 {
				t.Errorf("run %d: exit code %d, want %d; %s %q", i, r.ExitCode, want[kind], r.StartError, r.Notes)
			}
		})
	}
	wg.Wait()
	eventually(t, "goroutines back to the start", func() bool { return runtime.NumGoroutine() <= goroutines })
	if n := openDescriptors(t); n > descriptors {
		t.Errorf("%d descriptors, %d at the start", n, descriptors)
	}
	if n := zombies(t); n > 0 {
		t.Errorf("%d zombies", n)
	}
}

// memory returns all memory that the Go runtime holds.
func memory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// TestFlood writes 1 GB in short lines, with a viewer that does not keep up.
func TestFlood(t *testing.T) {
	const line = "the quick brown fox jumps over the lazy dog 0123"
	size := 1 << 30
	if testing.Short() {
		size = 64 << 20
	}
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec := shell(fmt.Sprintf("echo FIRST; yes '%s' | head -c %d; echo; echo LAST", line, size))
	spec.Stdout, spec.StreamPrefix = f, "[{job_name} {stream_name}] "
	runtime.GC()
	before, peak := memory(), int64(0)
	p := Start(spec)
	viewer := p.Subscribe()
	defer viewer.Close()
	for over := false; !over; {
		select {
		case <-p.Done():
			over = true
		case <-time.After(20 * time.Millisecond):
			viewer.Next(t.Context())
		}
		peak = max(peak, memory()-before)
	}
	r := finish(t, p)
	if grown := peak >> 20; grown > 32 {
		t.Errorf("memory grew by %d MiB", grown)
	}
	if !strings.HasPrefix(r.Stdout.Text, "FIRST\n"+line+"\n") || !strings.HasSuffix(r.Stdout.Text, "\nLAST\n") {
		t.Errorf("stdout begins %.60q", r.Stdout.Text)
	}
	lines := size/(len(line)+1) + 3 // FIRST, LAST and what head cuts off
	if marker := fmt.Sprintf("\n[... %d lines dropped ...]\n", r.Stdout.Discarded); r.Stdout.Discarded != lines-4096 || !strings.Contains(r.Stdout.Text, marker) {
		t.Errorf("%d lines dropped, want %d", r.Stdout.Discarded, lines-4096)
	}
}

func TestFloodOfOneLine(t *testing.T) {
	spec := shell("head -c 300000000 /dev/zero | tr '\\0' x; echo; echo after")
	runtime.GC()
	before := memory()
	r := finish(t, Start(spec))
	if grown := (memory() - before) >> 20; grown > 64 {
		t.Errorf("memory grew by %d MiB", grown)
	}
	if r.Stdout.Text != "after\n" || len(r.Notes) != 1 {
		t.Errorf("stdout %.60q, notes %q", r.Stdout.Text, r.Notes)
	}
}

// TestSharedOutputKeepsLinesWhole lets many jobs write to one pipe at once.
func TestSharedOutputKeepsLinesWhole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := make(chan []byte, 1)
	go func() {
		var all bytes.Buffer
		all.ReadFrom(r)
		read <- all.Bytes()
	}()
	const jobs, lines = 8, 3000
	processes := make([]*Process, jobs)
	for i := range processes {
		spec := shell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "$i %s"; i=$((i+1)); done; printf 'no newline'`, lines, strings.Repeat(string('a'+rune(i)), 150)))
		spec.JobName, spec.StreamPrefix, spec.Stdout = fmt.Sprint("job", i), "{job_name}:", w
		processes[i] = Start(spec)
	}
	for _, p := range processes {
		finish(t, p)
	}
	w.Close()
	next := make([]int, jobs)
	got := strings.Split(string(<-read), "\n")
	for _, line := range got[:len(got)-1] {
		var job int
		fmt.Sscanf(line, "job%d:", &job)
		want := fmt.Sprintf("job%d:%d %s", job, next[job], strings.Repeat(string('a'+rune(job)), 150))
		if next[job] == lines {
			want = fmt.Sprintf("job%d:no newline", job)
		}
		if line != want {
			t.Fatalf("line %q, want %q", line, want)
		}
		next[job]++
	}
	if want := slices.Repeat([]int{lines + 1}, jobs); !slices.Equal(next, want) || got[len(got)-1] != "" {
		t.Errorf("lines per job: %v, want %v; rest %q", next, want, got[len(got)-1])
	}
}

// TestBlockedOutputDoesNotHoldUpTheEnd fills a pipe that nobody reads.
func TestBlockedOutputDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	spec := shell("yes | head -c 300000")
	spec.Stdout = w
	spec.ExecutionTimeout = 3 * time.Second // enough for the pipe to be full
	p := Start(spec)
	res := finish(t, p)
	if res.ExitCode != ExitTimeout || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "did not take it") {
		t.Errorf("exit code %d, notes %q", res.ExitCode, res.Notes)
	}
	if !strings.HasPrefix(res.Stdout.Text, "y\ny\n") {
		t.Errorf("stdout %.20q", res.Stdout.Text)
	}
	r.Close() // lets the stuck goroutine go
	<-p.streams[0].done
}

// TestLateWritersAreKept waits for output of a helper within the grace period.
func TestLateWritersAreKept(t *testing.T) {
	t.Parallel()
	r := finish(t, Start(shell("(sleep 0.3; echo late) & echo early")))
	if r.Stdout.Text != "early\nlate\n" || len(r.Notes) > 0 {
		t.Errorf("stdout %q, notes %q", r.Stdout.Text, r.Notes)
	}
}

func TestNoDescriptorsLeft(t *testing.T) {
	if !inSubprocess(t) {
		return
	}
	var used []int
	for { // until the limit is reached
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		used = append(used, fd)
		if len(used) == 100 {
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 120, Max: 120}); err != nil {
				t.Fatal(err)
			}
		}
	}
	started := 0
	for spare := range 12 {
		r := Start(shell("echo ok")).Result()
		switch {
		case r.ExitCode == 0 && r.Stdout.Text == "ok\n":
			started++
		case r.ExitCode != ExitNotFound || !strings.Contains(r.StartError, "descriptors"):
			t.Errorf("%d descriptors: exit code %d, %q", spare, r.ExitCode, r.StartError)
		case started > 0:
			t.Errorf("%d descriptors are too few, though fewer were enough", spare)
		}
		syscall.Close(used[len(used)-1-spare])
	}
	if started == 0 || started == 12 {
		t.Errorf("%d of 12 runs started", started)
	}
	if r := Start(shell("echo ok")).Result(); r.Stdout.Text != "ok\n" {
		t.Errorf("with descriptors again: %+v", r)
	}
}

// BenchmarkFlood measures what comes through a pipe, captured and re-emitted.
func BenchmarkFlood(b *testing.B) {
	const size = 256 << 20
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	spec := Spec{
		JobName:       "flood",
		Argv:          []string{"/bin/sh", "-c", fmt.Sprintf("yes 'the quick brown fox jumps over the lazy dog 0123' | head -c %d", size)},
		Env:           os.Environ(),
		CaptureStdout: true,
		SaveLimit:     4096,
		MaxLineLength: 16 << 20,
		StreamPrefix:  "[{job_name} {stream_name}] ",
		Stdout:        f,
	}
	b.SetBytes(size)
	for b.Loop() {
		if r := Start(spec).Result(); r.ExitCode != 0 {
			b.Fatal(r)
		}
	}
}
