package scheduler

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// vectorFiles returns the paths of a vector file: the one in testdata and, when
// YACRON2_VECTORS names a folder that has it, the one there.
func vectorFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in testdata: %v", pattern, err)
	}
	if dir := os.Getenv("YACRON2_VECTORS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	return files
}

func TestVectorCron(t *testing.T) {
	for _, file := range vectorFiles(t, "cron.json") {
		t.Run(file, func(t *testing.T) { testCronVectors(t, file) })
	}
}

func testCronVectors(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Exprs map[string]struct {
			OK   bool       `json:"ok"`
			Test []bool     `json:"test"`
			Next []*float64 `json:"next"` // seconds from now, null: never
		} `json:"exprs"`
		Nows []string `json:"naive_next_nows"`
		Test []string `json:"test_dts"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	parse := func(s string) time.Time {
		at, err := time.Parse("2006-01-02T15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if len(vectors.Exprs) == 0 || len(vectors.Nows) == 0 || len(vectors.Test) == 0 {
		t.Fatal("the file holds no vectors")
	}
	for text, want := range vectors.Exprs {
		s, err := ParseSchedule(text, DayMatchAnd)
		if (err == nil) != want.OK {
			t.Errorf("%q: ok is %v, want %v (error: %v)", text, err == nil, want.OK, err)
			continue
		}
		if err != nil {
			continue
		}
		if len(want.Test) != len(vectors.Test) || len(want.Next) != len(vectors.Nows) {
			t.Fatalf("%q: the lists differ in length", text)
		}
		for i, dt := range vectors.Test {
			at := parse(dt)
			if got := s.Next(at.Add(-time.Second), time.UTC).Equal(at); got != want.Test[i] {
				t.Errorf("%q at %s: fires is %v, want %v", text, dt, got, want.Test[i])
			}
		}
		for i, now := range vectors.Nows {
			at := parse(now)
			var wanted time.Time
			if want.Next[i] != nil {
				wanted = at.Add(time.Duration(*want.Next[i] * float64(time.Second)))
			}
			if got := s.Next(at, time.UTC); !got.Equal(wanted) {
				t.Errorf("%q after %s: next is %v, want %v", text, now, got, wanted)
			}
		}
	}
}

// TestVectorCases runs files of real reports: expression, zone, start (exclusive),
// expected firings, and where they differ those under the "or" rule.
func TestVectorCases(t *testing.T) {
	for _, pattern := range []string{"CRON-*.tsv", "TZ-*.tsv"} {
		for _, file := range vectorFiles(t, pattern) {
			t.Run(filepath.Base(file), func(t *testing.T) { testCases(t, file) })
		}
	}
}

func testCases(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		line := scan.Text()
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) < 4 {
			t.Fatalf("row with %d columns: %q", len(columns), line)
		}
		rows++
		checkCase(t, columns[0], DayMatchAnd, columns[1], columns[2], columns[3])
		if len(columns) > 4 {
			or := columns[4]
			if or == "same" {
				or = columns[3]
			}
			checkCase(t, columns[0], DayMatchOr, columns[1], columns[2], or)
		}
	}
	if err := scan.Err(); err != nil || rows == 0 {
		t.Fatalf("%d rows, error %v", rows, err)
	}
}

// checkCase checks one row. Alternatives are separated by "|": either for a whole
// answer (REJECT|...) or for one instant.
func checkCase(t *testing.T, text string, rule DayMatch, zone, after, want string) {
	t.Helper()
	name := fmt.Sprintf("%q (%s, %s) after %s", text, zone, rule, after)
	s, err := ParseSchedule(text, rule)
	rest, mayReject := strings.CutPrefix(want, "REJECT")
	switch {
	case mayReject && rest == "":
		if err == nil {
			t.Errorf("%s: accepted, want it refused", name)
		}
		return
	case err != nil && mayReject:
		return
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return
	}
	want = strings.TrimPrefix(rest, "|")
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at := caseInstant(t, after)
	if want == "NEVER" {
		if got := s.Next(at, loc); !got.IsZero() {
			t.Errorf("%s: fires at %v, want never", name, got)
		}
		if !s.NeverFires(at, loc) {
			t.Errorf("%s: not reported as never firing", name)
		}
		return
	}
	for _, step := range strings.Split(want, ",") {
		at = s.Next(at, loc)
		found := false
		for _, alternative := range strings.Split(step, "|") {
			found = found || at.Equal(caseInstant(t, alternative))
		}
		if !found {
			t.Errorf("%s: %v, want %s", name, at, step)
			return
		}
	}
}

func caseInstant(t *testing.T, s string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02T15:04Z", time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			return at
		}
	}
	t.Fatalf("no instant: %q", s)
	return time.Time{}
}
