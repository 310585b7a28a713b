package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawClaims draws a record of claims.
func drawClaims(t *rapid.T) *claims {
	c := &claims{floor: instant(rapid.Int64Range(0, 50).Draw(t, "floor"))}
	var ws []watermark
	for job := range rapid.MapOf(rapid.Uint64(), rapid.Just(true)).Draw(t, "jobs") {
		ws = append(ws, watermark{
			job: jobKey(job),
			at:  instant(rapid.Int64Range(0, int64(maxInstant)).Draw(t, "at")),
			by:  owner(rapid.Uint16().Draw(t, "by")),
		})
	}
	c.raise(ws)
	return c
}

func TestClaimsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaims(t)
		back, err := decodeClaims(c.encode())
		if err != nil {
			t.Fatal(err)
		}
		if back.floor != c.floor || !slices.Equal(back.marks, c.marks) {
			t.Fatalf("%+v came back as %+v", c, back)
		}
	})
}

func TestDecodeClaimsRefusesDamage(t *testing.T) {
	whole := (&claims{floor: 7, marks: []watermark{{job: 1, at: 8, by: 2}, {job: 5, at: 9, by: 3}}}).encode()
	raw, err := base64.RawStdEncoding.DecodeString(whole)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }
	swapped := slices.Concat(raw[:claimsHeader], raw[claimsHeader+markSize:], raw[claimsHeader:claimsHeader+markSize])
	for name, text := range map[string]string{
		"cut in the header": encode(raw[:claimsHeader-1]),
		"cut in a mark":     encode(raw[:len(raw)-1]),
		"no base64":         "!" + whole,
		"padding":           whole + "=",
		"a line break":      whole[:8] + "\n" + whole[8:],
		"out of order":      encode(swapped),
		"a job twice":       encode(slices.Concat(raw, raw[claimsHeader+markSize:])),
	} {
		if c, err := decodeClaims(text); err == nil || errors.Is(err, errNoClaims) || errors.Is(err, errClaimsForm) {
			t.Errorf("%s: %+v, %v; want it to be damaged", name, c, err)
		}
	}
	if _, err := decodeClaims(""); !errors.Is(err, errNoClaims) {
		t.Errorf("nothing: %v", err)
	}
	newer := slices.Clone(raw)
	newer[0]++
	if _, err := decodeClaims(encode(newer)); !errors.Is(err, errClaimsForm) {
		t.Errorf("another form: %v", err)
	}
}

func FuzzDecodeClaims(f *testing.F) {
	f.Add("")
	f.Add((&claims{}).encode())
	f.Add((&claims{floor: 7, marks: []watermark{{job: 1, at: 8, by: 2}, {job: 5, at: 9, by: 3}}}).encode())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeClaims(text)
		if err != nil {
			return
		}
		if again := c.encode(); again != text {
			t.Errorf("%q was read and is written as %q", text, again)
		}
	})
}

// Whatever is raised and pruned, an instant that is not free never becomes free, and one
// above all that was claimed is free, unless it is as old as what was dropped.
func TestWatermarksAreNeverLowered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const jobs, instants = 4, 40
		c := &claims{}
		var taken [jobs][instants]bool
		highest := instant(-1) // dropped
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				job := rapid.IntRange(0, jobs-1).Draw(t, "job")
				at := instant(rapid.IntRange(1, instants-1).Draw(t, "at"))
				if last, _ := c.last(jobKey(job)); at > last.at {
					c.raise([]watermark{{job: jobKey(job), at: at}})
				}
			},
			"prune": func(t *rapid.T) {
				before := instant(rapid.IntRange(0, instants).Draw(t, "before"))
				most := rapid.IntRange(0, jobs).Draw(t, "most")
				kept := slices.Clone(c.marks)
				c.prune(before, most)
				if len(c.marks) > most {
					t.Fatalf("%d marks are left, want at most %d", len(c.marks), most)
				}
				for _, w := range kept {
					if !slices.Contains(c.marks, w) {
						highest = max(highest, w.at)
					}
				}
			},
			"store": func(t *rapid.T) {
				back, err := decodeClaims(c.encode())
				if err != nil {
					t.Fatal(err)
				}
				c = back
			},
			"": func(t *rapid.T) {
				if c.floor > max(highest, 0) {
					t.Fatalf("the floor is %d, but nothing above %d was dropped", c.floor, highest)
				}
				for job := range jobs {
					last, _ := c.last(jobKey(job))
					for at := range instant(instants) {
						if free := at > last.at; free && taken[job][at] {
							t.Fatalf("job %d at %d is free again", job, at)
						} else if !free {
							taken[job][at] = true
						}
					}
				}
			},
		})
	})
}

func TestPruneDropsWhatIsOldOrTooMuch(t *testing.T) {
	c := &claims{floor: 3}
	c.raise([]watermark{{job: 4, at: 10}, {job: 2, at: 20}, {job: 3, at: 30}, {job: 1, at: 30}, {job: 9, at: 40}})
	c.prune(15, 5)
	if c.floor != 10 || len(c.marks) != 4 {
		t.Errorf("what is older than 15 is gone: %+v", c)
	}
	// Two have the same instant: both go, since the floor refuses that instant anyway.
	c.prune(0, 2)
	if want := []watermark{{job: 9, at: 40}}; c.floor != 30 || !slices.Equal(c.marks, want) {
		t.Errorf("the two newest are kept: %+v", c)
	}
	if last, claimed := c.last(1); claimed || last.at != 30 {
		t.Errorf("a job whose mark was dropped has %+v, %t", last, claimed)
	}
}

// The watermarks of as many jobs as there may be leave room for the rest.
func TestMaxJobsHaveRoom(t *testing.T) {
	c := &claims{}
	ws := make([]watermark, MaxJobs)
	for i := range ws {
		ws[i] = watermark{job: keyOf(fmt.Sprint("job ", i)), at: maxInstant, by: 65535}
	}
	c.raise(ws)
	c.prune(0, MaxJobs)
	if len(c.marks) != MaxJobs {
		t.Fatalf("%d of %d jobs have a watermark", len(c.marks), MaxJobs)
	}
	if size, most := len(c.encode()), 200_100; size > most {
		t.Errorf("they take %d bytes, want at most %d of %d", size, most, maxAnnotations)
	}
}

func TestInstantOf(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		at   time.Time
		want instant
	}{
		{at, instant(at.Unix())},
		{at.Add(time.Nanosecond), instant(at.Unix()) + 1},
		{at.In(time.FixedZone("", 7200)), instant(at.Unix())},
		{time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), 0},
		{time.Unix(1<<50, 0), maxInstant},
	} {
		if got := instantOf(row.at); got != row.want {
			t.Errorf("%s: %d, want %d", row.at, got, row.want)
		}
	}
	if got := instantOf(at).String(); got != "2026-11-30T03:00:00Z" {
		t.Errorf("an instant reads %s", got)
	}
}

func TestKeysOfJobsDiffer(t *testing.T) {
	seen := make(map[jobKey]bool)
	for i := range MaxJobs {
		seen[keyOf(strings.Repeat("x", i%100)+fmt.Sprint(i))] = true
	}
	if len(seen) != MaxJobs {
		t.Errorf("%d names have %d keys", MaxJobs, len(seen))
	}
}

func BenchmarkClaimsOfMaxJobs(b *testing.B) {
	c := &claims{}
	for i := range MaxJobs {
		c.marks = append(c.marks, watermark{job: jobKey(i), at: 1 << 31})
	}
	text := c.encode()
	b.ReportAllocs()
	for b.Loop() {
		c, err := decodeClaims(text)
		if err != nil {
			b.Fatal(err)
		}
		c.raise([]watermark{{job: 77, at: 1<<31 + 1}})
		text = c.encode()
	}
}
