package command

import (
	"bytes"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	var b bytes.Buffer
	table(&b, []string{"NAME", "WHAT"}, [][]string{{"nächtlich", "a\tb\nc"}, {"", "\x1b[1m"}, {"x", ""}})
	want := "NAME       WHAT\nnächtlich  a b c\n-          \\x1b[1m\nx          -\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain ü 日本 🕐": "plain ü 日本 🕐", "a\nb\tc": "a b c", "\x1b[31m": `\x1b[31m`,
		"\u202egnp": `\u202egnp`, "\x00\x7f": `\x00\x7f`, "\xff": `\ufffd`,
	} {
		if got := plain(text); got != want {
			t.Errorf("%q shows as %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := plain(text)
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q shows as %q", text, got)
			}
		}
		if plain(got) != got {
			t.Fatalf("%q is not stable: %q", text, got)
		}
	})
}

func TestAgo(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "now"}, {0, "now"}, {999 * time.Millisecond, "now"}, {time.Second, "1s ago"}, {119 * time.Second, "119s ago"},
		{2 * time.Minute, "2m ago"}, {119 * time.Minute, "119m ago"}, {2 * time.Hour, "2h ago"}, {47 * time.Hour, "47h ago"}, {400 * 24 * time.Hour, "400d ago"},
	} {
		if got := ago(noon.Add(-test.d), noon); got != test.want {
			t.Errorf("%v before is %q, want %q", test.d, got, test.want)
		}
	}
	if got := ago(time.Time{}, noon); got != "" {
		t.Errorf("never is %q", got)
	}
}

func TestShortID(t *testing.T) {
	for id, want := range map[string]string{someID: "2d27fbdf4e8c", "": "", "v1:0f": "0f", "odd": "odd"} {
		if got := shortID(id); got != want {
			t.Errorf("%q is %q in short, want %q", id, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"members", "leader", "validate", "version"}
	for word, want := range map[string]string{
		"member": "members", "memebrs": "members", "laeder": "leader", "valid": "", "validat": "validate", "x": "", "": "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("near %q is %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abü")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) {
			t.Fatal("not symmetric")
		}
		if (d == 0) != (a == b) {
			t.Fatalf("distance %d", d)
		}
		la, lb := len([]rune(a)), len([]rune(b))
		if d > max(la, lb) || d < max(la, lb)-min(la, lb) {
			t.Fatalf("distance %d of %d and %d letters", d, la, lb)
		}
	})
}
