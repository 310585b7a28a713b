package run

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func retained(limit int, lines []string, open bool) Stream {
	r := newRetention(limit)
	for i, line := range lines {
		r.add([]byte(line), !open || i < len(lines)-1)
	}
	return Stream{Captured: true, Text: r.text(), Discarded: r.discarded}
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int
		lines string // one rune a line
		open  bool
		want  Stream
	}{
		{"nothing", 10, "", false, Stream{Captured: true}},
		{"all", 10, "abc", false, Stream{Captured: true, Text: "a\nb\nc\n"}},
		{"exactly all", 3, "abc", false, Stream{Captured: true, Text: "a\nb\nc\n"}},
		{"one dropped", 3, "abcd", false, Stream{Captured: true, Text: "a\n[... 1 lines dropped ...]\nc\nd\n", Discarded: 1}},
		{"even", 4, "abcdefg", false, Stream{Captured: true, Text: "a\nb\n[... 3 lines dropped ...]\nf\ng\n", Discarded: 3}},
		{"last only", 1, "abc", false, Stream{Captured: true, Text: "[... 2 lines dropped ...]\nc\n", Discarded: 2}},
		{"none", 0, "abc", false, Stream{Captured: true, Discarded: 3}},
		{"unterminated", 10, "ab", true, Stream{Captured: true, Text: "a\nb"}},
		{"unterminated, dropped", 2, "abc", true, Stream{Captured: true, Text: "a\n[... 1 lines dropped ...]\nc", Discarded: 1}},
		{"unterminated, none", 0, "a", true, Stream{Captured: true, Discarded: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := retained(c.limit, strings.Split(c.lines, "")[:len(c.lines)], c.open); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRetentionKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,5}`), 0, 60).Draw(t, "lines")
		open := len(lines) > 0 && rapid.Bool().Draw(t, "open")
		var want strings.Builder
		dropped := max(0, len(lines)-limit)
		for i, line := range lines {
			if i >= limit/2 && i < limit/2+dropped {
				continue
			}
			if i == limit/2+dropped && dropped > 0 {
				fmt.Fprintf(&want, "[... %d lines dropped ...]\n", dropped)
			}
			want.WriteString(line + "\n")
		}
		text := want.String()
		if open {
			text = text[:len(text)-1]
		}
		if got := retained(limit, lines, open); got.Text != text || got.Discarded != dropped {
			t.Fatalf("got %+v, want %q with %d dropped", got, text, dropped)
		}
	})
}

func TestRetentionBoundsBytes(t *testing.T) {
	r := newRetention(4096)
	line := []byte(strings.Repeat("x", 1<<20))
	const lines = 100
	for range lines {
		r.add(line, true)
	}
	if n := len(r.head) + len(r.tail.buf); n > 2*retainedBytes {
		t.Errorf("%d bytes held, the limit is %d", n, retainedBytes)
	}
	text := r.text()
	if len(text) > retainedBytes+100 {
		t.Errorf("%d bytes retained, the limit is %d", len(text), retainedBytes)
	}
	if kept := strings.Count(text, "\n") - 1; kept+r.discarded != lines || kept < 10 {
		t.Errorf("%d lines kept and %d dropped of %d", kept, r.discarded, lines)
	}
}

func TestRetentionKeepsOneLineOfAnyLength(t *testing.T) {
	r := newRetention(10)
	line := strings.Repeat("x", retainedBytes)
	r.add([]byte(line), true)
	if text := r.text(); text != line+"\n" {
		t.Errorf("%d bytes retained of a line of %d", len(text), len(line))
	}
}
