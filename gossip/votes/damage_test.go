package votes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/yacron2/yacron2/election"
)

// image makes a file as a killed process leaves it, with several transactions in it,
// and returns its bytes and votes, which are all due by now.
func image(t *testing.T) (data []byte, given []election.Vote, now time.Time) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes.db")
	began := time.Now()
	s := mustOpenAt(t, path, func() time.Time { return began })
	for batch := range 6 {
		votes := batchOf(3, batch, 40)
		for i := range votes {
			votes[i].Firing.At = began.Add(time.Duration(batch+10) * time.Second).Round(0).UTC()
		}
		mustAppend(t, s, votes)
		given = append(given, votes...)
		if batch == 3 {
			if err := s.Prune(election.Pruning{Votes: given[:20], LowWater: began}); err != nil {
				t.Fatal(err)
			}
			given = given[20:]
		}
	}
	return mustRead(t, path), given, began.Add(16 * time.Second)
}

// damage is what happened to files, and what became of that.
type damage struct {
	given []election.Vote
	now   time.Time
	path  string

	refused, opened, marked int
}

// try puts damaged bytes into the file and opens it. It is refused, or no vote that was
// given is forgotten, even after more was written: each is there, or below the mark.
func (d *damage) try(t *testing.T, what string, damaged []byte) {
	t.Helper()
	d.write(t, damaged)
	s := d.open(t, what)
	if s == nil {
		d.refused++
		return
	}
	d.opened++
	if d.mustKnow(t, what, s, d.given).Equal(d.now.Add(election.ClockSkew)) {
		d.marked++
	}
	// Some damage shows only when the file is written.
	more := []election.Vote{{Firing: election.Firing{Job: "more", At: instant(0)}, InstanceID: "x"}}
	if err := s.Append(more); err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s: append: %v", what, err)
		}
		more = nil
	}
	mustClose(t, s)
	d.write(t, mustRead(t, d.path))
	if s := d.open(t, what); s != nil {
		d.mustKnow(t, what, s, slices.Concat(d.given, more))
		mustClose(t, s)
	}
}

// write makes the file anew: one that was found damaged stays locked.
func (d *damage) write(t *testing.T, data []byte) {
	t.Helper()
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens the file; nil if it is refused as damaged.
func (d *damage) open(t *testing.T, what string) *Store {
	t.Helper()
	s, err := Open(Config{Path: d.path, NodeName: node, LockWait: time.Second, now: func() time.Time { return d.now }})
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatalf("%s: error %q does not say that the file is damaged", what, err)
	}
	return s
}

// mustKnow fails the test if a vote was forgotten, and returns the mark.
func (d *damage) mustKnow(t *testing.T, what string, s *Store, given []election.Vote) time.Time {
	t.Helper()
	votes, mark, known := mustLoad(t, s)
	if !known {
		t.Fatalf("%s: the file counts as new", what)
	}
	has := make(map[election.Vote]bool, len(votes))
	for _, v := range votes {
		has[v] = true
	}
	for _, v := range given {
		if !has[v] && v.Firing.At.After(mark) {
			t.Fatalf("%s: vote %v was forgotten, mark %v", what, v, mark)
		}
	}
	return mark
}

func TestDamaged(t *testing.T) {
	data, given, now := image(t)
	d := &damage{given: given, now: now, path: filepath.Join(t.TempDir(), "votes.db")}
	page := os.Getpagesize()
	damaged := func(change func(b []byte)) []byte {
		b := bytes.Clone(data)
		change(b)
		return b
	}
	flip := func(at int) {
		d.try(t, fmt.Sprintf("one bit of byte %d changed", at), damaged(func(b []byte) { b[at] ^= 1 << rand.IntN(8) }))
	}
	for i := range 2 * 128 { // what matters of the first two pages
		flip(i%128 + i/128*page)
	}
	for range 500 {
		flip(rand.IntN(len(data)))
	}
	for at := 0; at+512 <= len(data); at += 512 {
		d.try(t, fmt.Sprintf("cut off at %d", at), data[:at])
		d.try(t, fmt.Sprintf("the sector at %d lost", at), damaged(func(b []byte) { clear(b[at : at+512]) }))
	}
	for at := 0; at+page <= len(data); at += page {
		from := rand.IntN(len(data)/page) * page
		if at <= page {
			from = page - at // each of the first two in place of the other
		}
		d.try(t, fmt.Sprintf("the page at %d is the one at %d", at, from), damaged(func(b []byte) { copy(b[at:at+page], data[from:]) }))
	}
	t.Logf("refused %d, opened %d, of those %d with a mark over all", d.refused, d.opened, d.marked)
	if d.refused == 0 || d.opened == 0 || d.marked == 0 {
		t.Errorf("refused %d, opened %d, of those %d with a mark over all: something was not tested", d.refused, d.opened, d.marked)
	}
}

// A file that was refused stays as it is.
func TestDamagedIsLeftAlone(t *testing.T) {
	data, _, now := image(t)
	d := &damage{now: now, path: filepath.Join(t.TempDir(), "votes.db")}
	for at := 0; at < len(data); at += 256 {
		b := bytes.Clone(data)
		clear(b[at:min(at+256, len(b))])
		d.write(t, b)
		if s := d.open(t, "zeros"); s != nil {
			mustClose(t, s)
			continue
		}
		wantUntouched(t, d.path, b)
	}
}

// A file that is cut off while it is in use refuses votes and does no worse.
func TestCutOffInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	s := mustOpen(t, path)
	mustAppend(t, s, batchOf(1, 0, 1000))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for batch := range 2 {
		if err := s.Append(batchOf(1, 1+batch, 1)); !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v, want %v", err, ErrDamaged)
		}
	}
	if _, _, _, err := s.Load(); !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v, want %v", err, ErrDamaged)
	}
}

// The layout that is looked at beside bbolt is the one that bbolt writes.
func TestExamine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	for _, size := range []int{1 << 10, 4 << 10, 16 << 10, 64 << 10} {
		db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: size})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		check := func(what string, want health, fails error) {
			t.Helper()
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if got, err := examine(f); got != want || !errors.Is(err, fails) {
				t.Errorf("pages of %d bytes, %s: %v, %v; want %v, %v", size, what, got, err, want, fails)
			}
		}
		check("as made", sound, nil)
		data := mustRead(t, path)
		for i, first := range []int{0, size} {
			b := bytes.Clone(data)
			clear(b[first : first+128])
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("without page %d", i), doubtful, nil)
		}
		if err := os.WriteFile(path, data[:2*size], 0o600); err != nil {
			t.Fatal(err)
		}
		check("cut off", sound, ErrDamaged)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
