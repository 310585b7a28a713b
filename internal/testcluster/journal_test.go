package testcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestJournal(t *testing.T) {
	j := Journal(filepath.Join(t.TempDir(), "journal"))
	if entries, err := j.Read(); err != nil || len(entries) != 0 {
		t.Fatalf("journal before the first run: %v, %v", entries, err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lines := []string{
		"tick 2026-03-01T12:00:00Z a r1 1",
		"tick 2026-03-01T12:00:01Z a r2 1",
		"tick 2026-03-01T12:00:01Z b r3 1", // doubled
		"tick 2026-03-01T12:00:01Z b r4 2", // a retry is no double
		"other 2026-03-01T12:00:01Z b r5 1",
		"tick 2026-03-01T12:00:03Z b r6 1", // 12:00:02 is missing
		"tick - b r7 1",
		"tick - b r8 1",
		"tick 2026-03-01T12:00:04Z b", // being written
	}
	if err := os.WriteFile(string(j), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := j.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 8 {
		t.Fatalf("%d entries, want 8: %v", len(entries), entries)
	}
	var doubled []string
	for _, e := range entries.Duplicates() {
		doubled = append(doubled, e.RunID)
	}
	if got := strings.Join(doubled, " "); got != "r2 r3" {
		t.Errorf("duplicates %q, want r2 r3", got)
	}
	first := entries.Of("tick").filter(func(e Entry) bool { return e.Attempt == 1 })
	err = first.Each(at, at.Add(3*time.Second), 1, nil)
	if err == nil || err.Error() != "2 firings did not run 1 times: 12:00:01 ran 2 times, 12:00:02 ran 0 times" {
		t.Errorf("Each: %v", err)
	}
	if err := first.On("a").Each(at, at.Add(time.Second), 1, nil); err != nil {
		t.Errorf("Each of node a: %v", err)
	}
	excused := map[time.Time]int{at.UTC().Add(time.Second): 1, at.UTC().Add(2 * time.Second): 1}
	err = first.Each(at, at.Add(3*time.Second), 1, excused)
	if err == nil || err.Error() != "1 firings did not run 1 times: 12:00:01 ran 2 times" {
		t.Errorf("Each with excuses: %v", err)
	}
}

func TestJournalRefusesStrangeLines(t *testing.T) {
	for _, line := range []string{
		"tick 2026-03-01T12:00:00Z  r1 1", // no node
		"tick yesterday a r1 1",
		"tick 2026-03-01T12:00:00Z a r1 first",
		"",
	} {
		j := Journal(filepath.Join(t.TempDir(), "journal"))
		if err := os.WriteFile(string(j), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if entries, err := j.Read(); err == nil {
			t.Errorf("line %q was read as %v", line, entries)
		}
	}
}
