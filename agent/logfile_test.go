package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// readLog returns what is in a file, "" if there is none.
func readLog(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

func TestLogFileIsRenamedWhenItHasGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	// What an earlier process wrote counts.
	if err := os.WriteFile(path, []byte("0-------\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fallback := &lockedBuffer{}
	f, err := openLogFile(path, 20, 2, fallback)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	write := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			if n, err := f.Write([]byte(line + "\n")); err != nil || n != len(line)+1 {
				t.Fatalf("%d bytes, %v", n, err)
			}
		}
	}
	files := func() string {
		return readLog(t, path) + "|" + readLog(t, path+".1") + "|" + readLog(t, path+".2") + "|" + readLog(t, path+".3")
	}
	write("1-------")
	if got := files(); got != "0-------\n1-------\n|||" {
		t.Fatalf("two lines of 9 bytes fit into 20: %q", got)
	}
	write("2-------", "3-------")
	if got := files(); got != "2-------\n3-------\n|0-------\n1-------\n||" {
		t.Fatalf("after the first renaming: %q", got)
	}
	write("4-------", "a line that is longer than the limit")
	if got := files(); got != "a line that is longer than the limit\n|4-------\n|2-------\n3-------\n|" {
		t.Fatalf("two are kept, and the oldest is gone: %q", got)
	}
	write("5-------")
	if got := files(); got != "5-------\n|a line that is longer than the limit\n|4-------\n|" {
		t.Fatalf("after the long line: %q", got)
	}
	if fallback.String() != "" {
		t.Errorf("on the fallback: %q", fallback)
	}
}

func TestLogFileFollowsItsPath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	fallback := &lockedBuffer{}
	f, err := openLogFile(path, 0, 0, fallback)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if n, err := f.Write([]byte(text + "\n")); err != nil || n != len(text)+1 {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	write("one")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("three")
	if old, now := readLog(t, path+".old"), readLog(t, path); old != "one\n" || now != "three\n" {
		t.Errorf("old %q, now %q", old, now)
	}

	// Without its folder the lines go elsewhere, and come back with it.
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	write("four")
	write("five")
	if got := strings.Split(fallback.String(), "\n"); len(got) != 4 || !strings.Contains(got[0], "the log cannot be written to its file") ||
		got[1] != "four" || got[2] != "five" {
		t.Errorf("on the fallback: %q", got)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	write("six")
	if now := readLog(t, path); now != "three\nsix\n" {
		t.Errorf("now %q", now)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("seven")
	if !strings.HasSuffix(fallback.String(), "five\nseven\n") {
		t.Errorf("what comes after the end is lost: %q", fallback)
	}
}

// TestLogFileThatCannotBeRenamedGrowsOn: the name that it would get is a folder.
func TestLogFileThatCannotBeRenamedGrowsOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.MkdirAll(path+".1/full", 0o700); err != nil {
		t.Fatal(err)
	}
	fallback := &lockedBuffer{}
	f, err := openLogFile(path, 10, 1, fallback)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want := ""
	for i := range 6 {
		line := fmt.Sprintf("line %d\n", i)
		want += line
		if _, err := f.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got := readLog(t, path); got != want {
		t.Errorf("got %q", got)
	}
	if n := strings.Count(fallback.String(), "the log file cannot be renamed"); n == 0 || n == 6 {
		t.Errorf("told %d times", n)
	}
}

func TestLogFileOfManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	const writers, lines = 4, 200
	// Two handles on one path, as during a reload.
	var files []*logFile
	for range 2 {
		f, err := openLogFile(path, 500, 100, &lockedBuffer{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range lines {
				_, _ = fmt.Fprintf(files[0], "%d/%d\n", w, i)
			}
		})
	}
	all.Wait()
	if _, err := fmt.Fprint(files[1], "other\n"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := 0; ; i++ {
		name := path
		if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		text := readLog(t, name)
		if text == "" {
			break
		}
		if len(text) > 500 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		got = append(got, strings.Fields(text)...)
	}
	if n := len(got); n != writers*lines+1 {
		t.Fatalf("%d lines", n)
	}
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != writers*lines+1 {
		t.Errorf("%d lines are different", n)
	}
}
