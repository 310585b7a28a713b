package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata is the folder of the cases, wherever a test has changed to.
var testdata = func() string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	return dir
}()

var update = flag.Bool("update", false, "write the golden files anew")

// A golden file holds many cases: each has a headline "=== name", the files of one
// configuration ("--- file name", the first one is loaded), and after a line "--->"
// everything that the load has to say.
type goldenCase struct {
	name  string
	files []goldenFile
	want  string
}

type goldenFile struct{ name, text string }

func readGolden(t *testing.T, path string) []goldenCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		input, want, _ := strings.Cut(body, "--->\n")
		c := goldenCase{name: name, want: strings.TrimRight(want, "\n")}
		for _, f := range strings.Split("\n"+input, "\n--- ")[1:] {
			fileName, content, _ := strings.Cut(f, "\n")
			c.files = append(c.files, goldenFile{fileName, content})
		}
		if len(c.files) == 0 {
			t.Fatalf("%s: case %s has no file", path, name)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no cases", path)
	}
	return cases
}

func writeGolden(t *testing.T, path string, cases []goldenCase) {
	t.Helper()
	var b bytes.Buffer
	for _, c := range cases {
		b.WriteString("=== " + c.name + "\n")
		for _, f := range c.files {
			b.WriteString("--- " + f.name + "\n" + f.text)
			if !strings.HasSuffix(f.text, "\n") {
				b.WriteByte('\n')
			}
		}
		b.WriteString("--->\n" + c.want + "\n\n")
	}
	if err := os.WriteFile(path, bytes.TrimRight(b.Bytes(), "\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// loadGolden writes the files of a case and loads the first one. Paths are relative,
// so that texts do not depend on the machine.
func loadGolden(t *testing.T, c goldenCase) (*Config, Diagnostics) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range c.files {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("<TAB>", "\t", "<BAD>", "\xff", "<BEL>", "\a").Replace(f.text)
		if err := os.WriteFile(f.name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sources := Sources{Host: testHost{root: strings.HasPrefix(c.name, "jobs.")}}
	if dir := filepath.Dir(c.files[0].name); dir == "conf.d" {
		sources.Dirs = []string{dir}
	} else {
		sources.Files = []string{c.files[0].name}
	}
	return Load(sources)
}

// TestGolden holds every message of a load to its text.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		cases := readGolden(t, abs)
		for i, c := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".golden")+"/"+c.name, func(t *testing.T) {
				cfg, ds := loadGolden(t, c)
				if (cfg == nil) != ds.HasErrors() {
					t.Errorf("config is nil: %v, errors: %v", cfg == nil, ds.HasErrors())
				}
				var b strings.Builder
				if err := ds.Render(&b); err != nil {
					t.Fatal(err)
				}
				got := strings.TrimRight(b.String(), "\n")
				if cfg != nil {
					got = strings.TrimLeft(got+"\nok", "\n")
				}
				if *update {
					cases[i].want = got
				} else if got != c.want {
					t.Errorf("got:\n%s\n\nwant:\n%s", got, c.want)
				}
			})
		}
		if *update {
			writeGolden(t, abs, cases)
		}
	}
}
