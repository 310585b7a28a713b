package run

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"
)

// processFor returns what a stream needs of its process.
func processFor(spec *Spec) *Process {
	return &Process{log: newLog(), logger: logger{spec.Logger, spec.JobName}, open: 1}
}

// feedAll gives a stream its input in the pieces named by cuts.
func feedAll(spec Spec, input []byte, cuts []int) (s *stream, log *Log, emitted string) {
	p := processFor(&spec)
	log = p.log
	var out bytes.Buffer
	spec.Stdout = &out
	s = newStream(&spec, 0, p)
	for _, n := range cuts {
		n = min(n, len(input))
		s.take(input[:n])
		input = input[n:]
	}
	s.take(input)
	s.finish()
	log.end()
	return s, log, out.String()
}

// TestStreamSplitsAlike checks that where the pipe happens to cut the output makes no
// difference, against a plain split at newlines.
func TestStreamSplitsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "maxLineLength")
		piece := rapid.OneOf(
			rapid.Just("\n"), rapid.Just("\r\n"), rapid.Just("\xff"), rapid.Just("€"), rapid.Just("\x1b[1m"),
			rapid.StringMatching(`[a-z]{0,14}`))
		input := []byte(strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), ""))
		cuts := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(t, "cuts")

		spec := Spec{JobName: "j", StreamPrefix: "[{job_name} {stream_name}] ", SaveLimit: 1000, MaxLineLength: limit}
		s, log, emitted := feedAll(spec, input, cuts)

		var lines []string
		var text, out string
		tooLong := 0
		for rest := input; len(rest) > 0; {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			rest = after
			if len(line) > limit {
				tooLong++
				continue
			}
			decoded := string(appendValid(nil, line))
			lines = append(lines, decoded)
			text += decoded
			if found {
				text += "\n"
			}
			out += "[j stdout] " + decoded + "\n"
		}
		got, notes := s.result()
		if got.Text != text || got.Discarded != 0 {
			t.Fatalf("retained %q, want %q", got.Text, text)
		}
		var live []string
		for _, l := range log.Lines() {
			live = append(live, l.Text)
		}
		if !slices.Equal(live, lines) {
			t.Fatalf("live %q, want %q", live, lines)
		}
		if emitted != out {
			t.Fatalf("emitted %q, want %q", emitted, out)
		}
		if s.tooLong != tooLong || (len(notes) > 0) != (tooLong > 0) {
			t.Fatalf("%d lines too long, notes %q, want %d", s.tooLong, notes, tooLong)
		}
	})
}

func TestTooLongLines(t *testing.T) {
	var warnings bytes.Buffer
	spec := Spec{SaveLimit: 10, MaxLineLength: 4, Logger: hclog.New(&hclog.LoggerOptions{Output: &warnings})}
	var cuts []int
	for range 200 {
		cuts = append(cuts, 1)
	}
	s, _, _ := feedAll(spec, []byte("abcd\n"+strings.Repeat("x", 150)+"\nok\nabcde\n"), cuts)
	got, notes := s.result()
	if got.Text != "abcd\nok\n" {
		t.Errorf("retained %q", got.Text)
	}
	if n := strings.Count(warnings.String(), "maxLineLength"); n != 2 {
		t.Errorf("%d warnings for 2 lines: %s", n, warnings.String())
	}
	if want := []string{"stdout: dropped 2 lines longer than 4 bytes"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	one, _, _ := feedAll(Spec{SaveLimit: 10, MaxLineLength: 4}, []byte("abcde\n"), nil)
	if _, notes := one.result(); !slices.Equal(notes, []string{"stdout: dropped 1 line longer than 4 bytes"}) {
		t.Errorf("notes %q", notes)
	}
	// Only a line that is too long, so nothing that counts.
	s, _, _ = feedAll(spec, []byte("abcde"), nil)
	if got, _ := s.result(); !got.Empty() {
		t.Errorf("a dropped line counts: %+v", got)
	}
	// A single newline does.
	s, _, _ = feedAll(spec, []byte("\n"), nil)
	if got, _ := s.result(); got.Empty() || got.Text != "\n" {
		t.Errorf("an empty line does not count: %+v", got)
	}
}

func TestTooLongLinesWarnWithinBounds(t *testing.T) {
	var warnings bytes.Buffer
	spec := Spec{SaveLimit: 10, MaxLineLength: 1, Logger: hclog.New(&hclog.LoggerOptions{Output: &warnings})}
	s, _, _ := feedAll(spec, bytes.Repeat([]byte("xx\n"), 1000), nil)
	if n := strings.Count(warnings.String(), "\n"); n != warnLines {
		t.Errorf("%d warnings, want %d", n, warnLines)
	}
	if _, notes := s.result(); len(notes) != 1 || !strings.Contains(notes[0], "1000 lines") {
		t.Errorf("notes %q", notes)
	}
}

type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, errors.New("gone")
}

func TestBrokenOutputStopsOnlyReemission(t *testing.T) {
	w := new(brokenWriter)
	spec := Spec{SaveLimit: 10, Stdout: w}
	s := newStream(&spec, 0, processFor(&spec))
	s.take([]byte("a\n"))
	s.take([]byte("b\n"))
	got, notes := s.result()
	if got.Text != "a\nb\n" || w.writes != 1 {
		t.Errorf("retained %q after %d writes", got.Text, w.writes)
	}
	if len(notes) != 1 || notes[0] != "stdout: not passed on any more: gone" {
		t.Errorf("notes %q", notes)
	}
}

func TestExpandPrefix(t *testing.T) {
	for template, want := range map[string]string{
		"":                            "",
		"[{job_name} {stream_name}] ": "[j{{x}} stdout] ",
		"{{job_name}} ":               "{job_name} ",
		"{{{job_name}}}":              "{j{{x}}}",
		"{other}":                     "{other}",
	} {
		if got := expandPrefix(template, "j{{x}}", "stdout"); got != want {
			t.Errorf("%q: got %q, want %q", template, got, want)
		}
	}
}

// BenchmarkStream measures what a flood costs once it is read.
func BenchmarkStream(b *testing.B) {
	for name, line := range map[string]string{
		"50B":    "the quick brown fox jumps over the lazy dog 0123",
		"1KB":    strings.Repeat("x", 1023),
		"binary": strings.Repeat("\xff\xe2", 25),
	} {
		for _, emit := range []bool{false, true} {
			kind := "/silent"
			if emit {
				kind = "/emitted"
			}
			b.Run(name+kind, func(b *testing.B) {
				chunk := bytes.Repeat([]byte(line+"\n"), chunkSize/(len(line)+1)+1)[:chunkSize]
				spec := Spec{JobName: "j", StreamPrefix: "[{job_name} {stream_name}] ", SaveLimit: 4096, MaxLineLength: 16 << 20}
				if emit {
					spec.Stdout = discard{}
				}
				s := newStream(&spec, 0, processFor(&spec))
				b.SetBytes(int64(len(chunk)))
				b.ReportAllocs()
				for b.Loop() {
					s.take(chunk)
				}
			})
		}
	}
}

// discard is io.Discard without its other methods.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
