package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzLoad loads one text under a name and checks what holds for every input: an
// answer, positions inside the text, and a config exactly if there is no error.
func fuzzLoad(t *testing.T, name, text string) {
	l := newLoader(Sources{Host: testHost{}})
	src := &source{name: name, path: "/fuzz/" + name, text: []byte(text), dialect: languageOf(name, []byte(text))}
	cfg := l.assemble([]*file{l.read(src)})
	ds := l.out.result(l.clusterAt)
	if (cfg == nil) != ds.HasErrors() {
		t.Fatalf("config is nil: %v, diagnostics: %v", cfg == nil, ds)
	}
	if err := ds.Render(&strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(text, "\n") + 1
	for _, d := range ds {
		if d.Message == "" || d.Line > lines+1 || d.Line < 0 || d.Column < 0 {
			t.Fatalf("a diagnostic without message or outside of the file: %+v", d)
		}
		if strings.ContainsAny(d.Source, "\n\r") {
			t.Fatalf("a source line with line ends: %q", d.Source)
		}
	}
	if cfg == nil {
		return
	}
	for _, j := range cfg.Jobs {
		if j.Name == "" || j.Schedule == nil || j.Location == nil {
			t.Fatalf("an incomplete job: %+v", j)
		}
	}
}

// addSeeds gives the fuzzer every case and every golden input of a language.
func addSeeds(f *testing.F, extension string) {
	paths, err := filepath.Glob("testdata/cases/*" + extension)
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range goldens {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n--- ")[1:] {
			name, body, _ := strings.Cut(part, "\n")
			body, _, _ = strings.Cut(body, "--->\n")
			if strings.HasSuffix(name, extension) {
				f.Add(body)
			}
		}
	}
}

func FuzzYAML(f *testing.F) {
	addSeeds(f, ".yaml")
	f.Fuzz(func(t *testing.T, text string) { fuzzLoad(t, "fuzz.yaml", text) })
}

func FuzzHCL(f *testing.F) {
	addSeeds(f, ".hcl")
	f.Fuzz(func(t *testing.T, text string) { fuzzLoad(t, "fuzz.hcl", text) })
}

func FuzzCrontab(f *testing.F) {
	addSeeds(f, ".crontab")
	f.Fuzz(func(t *testing.T, text string) { fuzzLoad(t, "fuzz.crontab", text) })
}
