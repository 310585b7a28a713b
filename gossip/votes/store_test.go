package votes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

const node = "yacron-a"

func TestFirstLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "yacron2", "votes.db")
	before := time.Now()
	s := mustOpen(t, path)
	votes, mark, known, err := s.Load()
	if err != nil || known || len(votes) > 0 {
		t.Errorf("a new file: votes %v, known %v, error %v; want none, false, none", votes, known, err)
	}
	// The next life must not grant what a life without a file may have granted.
	if least := before.Add(election.ClockSkew).Round(0); mark.Before(least) {
		t.Errorf("a new file: mark %v, want at least %v", mark, least)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != want {
			t.Errorf("mode of %s is %v, want %v", name, got, want)
		}
	}
}

func TestNextLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	s := mustOpen(t, path)
	given := slices.Concat(batchOf(7, 0, 3), batchOf(7, 1, 1000))
	mustAppend(t, s, given[:3])
	mustAppend(t, s, given[3:])
	mustAppend(t, s, []election.Vote{{Firing: election.Firing{Job: "boot"}, InstanceID: "x", JobSetID: "y"}})
	mustClose(t, s)

	s = mustOpen(t, path)
	votes, mark, known := mustLoad(t, s)
	if !known {
		t.Error("a file of an earlier life is not known")
	}
	if !slices.Equal(votes, given) {
		t.Errorf("loaded %d votes that differ from the %d given", len(votes), len(given))
	}
	pruned := election.Pruning{Votes: given[:500], LowWater: lowWater(9)}
	if err := s.Prune(pruned); err != nil {
		t.Fatal(err)
	}
	// A mark never goes back.
	if err := s.Prune(election.Pruning{LowWater: mark}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)

	s = mustOpen(t, path)
	votes, mark, known = mustLoad(t, s)
	if !known || !slices.Equal(votes, given[500:]) || !mark.Equal(pruned.LowWater) {
		t.Errorf("after pruning: %d votes, mark %v, known %v; want %d, %v, true",
			len(votes), mark, known, len(given)-500, pruned.LowWater)
	}
}

// What the voter restores grants what the earlier life granted to the same instance
// only, and nothing else that this life could have voted on.
func TestRestoredVoter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	made := time.Now()
	s := mustOpenAt(t, path, func() time.Time { return made })
	now := made.Add(time.Minute)
	given := election.Vote{Firing: election.Firing{Job: "backup", At: now.Add(-time.Second)}, InstanceID: "first"}
	mustAppend(t, s, []election.Vote{given})
	mustClose(t, s)

	s = mustOpenAt(t, path, func() time.Time { return now })
	votes, mark, known := mustLoad(t, s)
	if !known {
		t.Fatal("not known")
	}
	restored := election.RestoreVotes(votes, mark)
	for _, c := range []struct {
		name, instance string
		at             time.Time
		want           election.Refusal
	}{
		{"granted before", "first", given.Firing.At, ""},
		{"granted to another", "second", given.Firing.At, election.RefusedTaken},
		{"due right before the restart", "second", now.Add(-2 * time.Second), ""},
		{"due right after the first start", "second", made.Add(election.ClockSkew), election.RefusedTooOld},
		{"due after what that start fences off", "second", made.Add(election.ClockSkew + time.Second), ""},
	} {
		b := restored.Judge(election.VoterContext{
			Clock: election.Clock{Wall: now}, Size: 3, Bound: true, LeaderJob: func(string) bool { return true },
		}, election.ClaimRequest{
			InstanceID: c.instance, Size: 3, Firings: []election.Firing{{Job: "backup", At: c.at}},
		})
		if got := b.Answers[0].Refusal; got != c.want {
			t.Errorf("%s: refusal %q, want %q", c.name, got, c.want)
		}
	}
}

// A file that was made while the clock was ahead does not deny firings until then.
func TestClockWasAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	now := time.Now()
	s := mustOpenAt(t, path, func() time.Time { return now.Add(time.Hour) })
	mustClose(t, s)
	for range 2 {
		s = mustOpenAt(t, path, func() time.Time { return now })
		_, mark, known := mustLoad(t, s)
		if want := now.Add(election.ClockSkew); !known || !mark.Equal(want) {
			t.Errorf("mark %v, known %v; want %v, true", mark, known, want)
		}
		mustClose(t, s)
	}
}

// While the process that made the file lives, its fence follows the clock.
func TestClockCorrectedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	began := time.Now()
	clock := began.Round(0)
	s := mustOpenAt(t, path, func() time.Time { return clock })
	clock = clock.Add(time.Hour) // set, without time that passed
	mustAppend(t, s, batchOf(1, 0, 1))
	mustClose(t, s)
	s = mustOpenAt(t, path, func() time.Time { return clock.Add(time.Hour) })
	if _, mark, _ := mustLoad(t, s); mark.Before(began.Add(election.ClockSkew)) {
		t.Errorf("mark %v lies before the fence of the first life", mark)
	}
}

func TestOtherNode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.db")
	mustClose(t, mustOpen(t, path))
	before := mustRead(t, path)
	_, err := Open(Config{Path: path, NodeName: "yacron-b"})
	wantError(t, err, ErrForeign, path, `"yacron-a"`, `"yacron-b"`, "data directory of its own")
	wantUntouched(t, path, before)
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       error
		texts      []string
	}{
		{"a directory", dir, nil, []string{"not a regular file"}},
		{"below a file", filepath.Join(file, "votes.db"), nil, []string{"not a directory"}},
		{"empty", file, ErrDamaged, []string{"it is empty", "move the file away"}},
	} {
		_, err := Open(Config{Path: c.path, NodeName: node})
		wantError(t, err, c.want, append(c.texts, c.path)...)
	}
	wantUntouched(t, file, nil)
	if _, err := Open(Config{Path: filepath.Join(dir, "x")}); err == nil {
		t.Error("opened for no node")
	}
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "votes.db"))
	mustClose(t, s)
	mustClose(t, s)
	_, _, _, err := s.Load()
	for _, err := range []error{err, s.Append(batchOf(1, 0, 1)), s.Prune(election.Pruning{})} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want %v", err, ErrClosed)
		}
	}
}

// Whatever happens in whatever order, the file has what it should.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "votes-model-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "votes.db")
		s := mustOpen(rt, path)
		defer func() { mustClose(rt, s) }()
		want := map[election.Firing]string{}
		var mark time.Time
		firings := rapid.Custom(func(t *rapid.T) election.Firing {
			return election.Firing{
				Job: rapid.SampledFrom([]string{"a", "b", "ä\n", strings.Repeat("x", 256)}).Draw(t, "job"),
				At:  instant(rapid.IntRange(0, 20).Draw(t, "at")),
			}
		})
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				var votes []election.Vote
				for _, f := range rapid.SliceOfN(firings, 1, 30).Draw(t, "firings") {
					v := election.Vote{Firing: f, InstanceID: rapid.SampledFrom([]string{"i", "j"}).Draw(t, "instance")}
					votes = append(votes, v)
					want[f] = v.InstanceID
				}
				mustAppend(t, s, votes)
			},
			"prune": func(t *rapid.T) {
				var p election.Pruning
				for _, f := range rapid.SliceOfN(firings, 0, 30).Draw(t, "firings") {
					p.Votes = append(p.Votes, election.Vote{Firing: f})
					delete(want, f)
				}
				p.LowWater = lowWater(rapid.IntRange(0, 20).Draw(t, "mark"))
				if p.LowWater.After(mark) {
					mark = p.LowWater
				}
				if err := s.Prune(p); err != nil {
					t.Fatal(err)
				}
			},
			"renew": func(*rapid.T) { s.suspect = true }, // as after a failed write
			"reopen": func(t *rapid.T) {
				mustClose(t, s)
				s = mustOpen(t, path)
			},
			"": func(t *rapid.T) {
				votes, gotMark, _ := mustLoad(t, s)
				got := map[election.Firing]string{}
				for _, v := range votes {
					got[v.Firing] = v.InstanceID
				}
				if len(votes) != len(got) || len(got) != len(want) {
					t.Fatalf("%d votes for %d firings, want %d", len(votes), len(got), len(want))
				}
				for f, instance := range want {
					if got[f] != instance {
						t.Fatalf("%v is %q's, want %q", f, got[f], instance)
					}
				}
				if !mark.IsZero() && !gotMark.Equal(mark) {
					t.Fatalf("mark %v, want %v", gotMark, mark)
				}
			},
		})
	})
}

// fataler is what the helpers need of a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func mustOpen(t fataler, path string) *Store {
	t.Helper()
	return mustOpenAt(t, path, nil)
}

func mustOpenAt(t fataler, path string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(Config{Path: path, NodeName: node, now: now})
	if err != nil {
		t.Fatal(err)
	}
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() { mustClose(t, s) })
	}
	return s
}

func mustAppend(t fataler, s *Store, votes []election.Vote) {
	t.Helper()
	if err := s.Append(votes); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t fataler, s *Store) ([]election.Vote, time.Time, bool) {
	t.Helper()
	votes, mark, known, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return votes, mark, known
}

func mustClose(t fataler, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func wantUntouched(t *testing.T, path string, before []byte) {
	t.Helper()
	if after := mustRead(t, path); string(after) != string(before) {
		t.Errorf("%s was changed", path)
	}
	if others, err := filepath.Glob(path + ".*"); err != nil || len(others) > 0 {
		t.Errorf("files were left beside it: %v, %v", others, err)
	}
}

func wantError(t *testing.T, err, is error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %q, want one of kind %q", err, is)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}
