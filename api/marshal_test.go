package api

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestMarshal(t *testing.T) {
	for text, want := range map[string]string{
		"plain":        `"plain"`,
		"a<b>&c":       `"a<b>&c"`,
		"nächtlich":    `"n\u00e4chtlich"`,
		"日本":           `"\u65e5\u672c"`,
		"🕐":            `"\ud83d\udd50"`,
		"a\u2028b":     `"a\u2028b"`,
		"bad \xff end": `"bad \ufffd end"`,
		"\x7f\n\t\"\\": "\"\x7f\\n\\t\\\"\\\\\"",
	} {
		if got, err := Marshal(text); err != nil || string(got) != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	if got, err := Marshal(map[string]any{"é": []string{"ü"}}); err != nil || string(got) != `{"\u00e9":["\u00fc"]}` {
		t.Errorf("got %s (%v)", got, err)
	}
	if got, err := Marshal(math.NaN()); err == nil {
		t.Errorf("NaN became %s", got)
	}
}

func TestMarshalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "map")
		data, err := Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range data {
			if b >= utf8.RuneSelf {
				t.Fatalf("%s is not ASCII", data)
			}
		}
		var got map[string]string
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d keys, want %d", len(got), len(want))
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q is %q, want %q", k, got[k], v)
			}
		}
	})
}

func FuzzMarshal(f *testing.F) {
	f.Add("nächtlich 🕐")
	f.Add("\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		escaped, err := Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var a, b string
		if err := json.Unmarshal(plain, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escaped, &b); err != nil {
			t.Fatalf("%s: %v", escaped, err)
		}
		if a != b {
			t.Fatalf("%q became %q", a, b)
		}
	})
}

func BenchmarkMarshalJobs(b *testing.B) {
	jobs := make([]Job, 1000)
	for i := range jobs {
		jobs[i] = sampleJob()
	}
	data, err := Marshal(jobs)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(jobs); err != nil {
			b.Fatal(err)
		}
	}
}
