package run

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func TestAppendValid(t *testing.T) {
	const bad = "\uFFFD"
	for in, want := range map[string]string{
		"":                     "",
		"plain":                "plain",
		"\xff":                 bad,
		"a\xffb":               "a" + bad + "b",
		"\xff\xfe":             bad + bad,
		"\x80\x80":             bad + bad,
		"é€😀":                  "é€😀",
		"\xe2\x82":             bad,             // a rune cut short is one
		"\xe2\x82x":            bad + "x",       // wherever it is
		"\xf0\x9f\x98":         bad,             //
		"\xf0\x9f\x98\xe2\x82": bad + bad,       // two of them
		"\xf0\x9f":             bad,             //
		"\xe0\x80\x80":         bad + bad + bad, // overlong
		"\xed\xa0\x80":         bad + bad + bad, // surrogate
		"\xf4\x90\x80\x80":     bad + bad + bad + bad,
		"\xf0\x80\x80\x80":     bad + bad + bad + bad,
		"\xc3":                 bad,
		"\xc3\x28":             bad + "(",
		"\xc0\xaf":             bad + bad,
		"\xf5\x80":             bad + bad,
		"\uFFFD":               bad, // the replacement character itself is valid
		"a\x00b\r":             "a\x00b\r",
	} {
		if got := string(appendValid(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzAppendValid(f *testing.F) {
	f.Add([]byte("é\xff€\xe2\x82😀\xf0\x9f"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := appendValid(nil, in)
		if !utf8.Valid(out) {
			t.Fatalf("%q: invalid %q", in, out)
		}
		if utf8.Valid(in) && !bytes.Equal(in, out) {
			t.Fatalf("valid %q changed to %q", in, out)
		}
		// Every valid rune is kept, in order.
		keep := func(b []byte) (runes []rune) {
			for len(b) > 0 {
				r, n := utf8.DecodeRune(b)
				if r != utf8.RuneError {
					runes = append(runes, r)
				}
				b = b[n:]
			}
			return runes
		}
		if a, b := string(keep(in)), string(keep(out)); a != b {
			t.Fatalf("%q: runes %q, want %q", in, b, a)
		}
	})
}
