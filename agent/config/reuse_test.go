package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sameParse parses versions of one file one after the other, each from scratch and with
// what is known of those before, and returns how many of them were known in part.
func sameParse(t interface{ Fatalf(string, ...any) }, versions ...string) (reused int) {
	var known Known
	for i, text := range versions {
		src := &source{name: "a.yaml", path: "/a.yaml", text: []byte(text)}
		want, wantProblems := parseYAML(src)
		if checkText(src) == nil && layoutOf(src.text).parseChanged(src, known.files[src.path]) != nil {
			reused++
		}
		got, gotProblems := known.parse(src)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotProblems, wantProblems) {
			t.Fatalf("version %d is read otherwise with what is known of the former\n%q\nproblems %+v, want %+v", i, versions[:i+1], gotProblems, wantProblems)
		}
	}
	return reused
}

func TestKnownJobsAreNotParsedAgain(t *testing.T) {
	job := func(name, command string) string {
		return "  - name: " + name + "\n    command: " + command + "\n    schedule: \"* * * * *\"\n"
	}
	head, rest := "# jobs\ndefaults:\n  shell: /bin/bash\njobs: # all of them\n", "web:\n  listen: [http://127.0.0.1:1]\n"
	a, b, c, d := job("a", "|+\n      echo a\n\n"), job("b", "echo b"), job("c", "'echo c'")+"    # c ends\n\n", job("d", "[echo, d]")
	base := head + a + b + c + d + rest
	if n := sameParse(t, base, base, // nothing
		head+a+strings.Replace(b, "echo b", "echo B", 1)+c+d+rest, // one
		head+"\n\n"+a+b+c+d+rest,                                  // moved
		head+d+c+b+a+rest,                                         // in another order
		head+a+c+d+rest,                                           // one less
		head+a+b+c+d+job("e", "echo e")+rest,                      // two more: now too much is new
		head+a+b+c+d,                                              // without the rest
		strings.TrimSuffix(head+a+b+c+d, "\n"),                    // without a line end
		strings.ReplaceAll(base, "/bin/bash", "/bin/sh"),
	); n != 8 {
		t.Errorf("%d versions were known in part, want 8", n)
	}
	for name, next := range map[string]string{
		"a quote that swallows what follows": head + a + strings.Replace(b, "echo b", "\"echo", 1) + c + d + "x-\": \"\n",
		"a quote that ends in a comment":     head + a + b + c + strings.Replace(d, "[echo, d]", "\"echo", 1) + "# \"\n" + rest,
		"a list that swallows what follows":  head + a + strings.Replace(b, "echo b", "[echo,", 1) + c + d + "b]\n",
		"a list that swallows comments":      head + a + strings.Replace(b, "echo b", "[echo,", 1) + "# c\n" + strings.Replace(d, "[echo, d]", "d]", 1) + rest,
		"an anchor":                          head + a + strings.Replace(b, "echo b", "&x echo b", 1) + c + d + rest,
		"an alias":                           "x-x: &x 1\n" + head + a + strings.Replace(b, "echo b", "*x", 1) + c + d + rest,
		"a second jobs":                      base + "jobs: []\n",
		"a second document":                  base + "---\n" + base,
		"an end":                             head + a + b + "...\n" + c + d,
		"jobs that are a text":               "x-a: |\n  jobs:\n" + "  " + strings.ReplaceAll(a+b+c+d, "\n", "\n  ") + "\n",
		"jobs in a quote":                    "x-a: \"\njobs:\n" + a + b + "\"\n" + base,
		"less indented":                      head + a + b + " " + "x: y\n" + c + d + rest,
		"jobs as a mapping":                  strings.Replace(base, "jobs: # all of them\n", "jobs:\n  x: y\n", 1),
		"another indentation":                head + strings.ReplaceAll("\n"+a+b+c+d, "\n  ", "\n ")[1:] + rest,
		"a tab":                              head + a + "\t" + b + c + d + rest,
		"a merge key":                        "x-m: &m {shell: x}\n" + head + a + b + strings.Replace(c, "    schedule", "    <<: *m\n    schedule", 1) + d + rest,
		"no jobs":                            rest,
		"nothing":                            "",
		"not UTF-8":                          strings.Replace(base, "echo b", "echo \xff", 1),
		"a job that is two":                  head + a + strings.Replace(b, "    command", "  - command", 1) + c + d + rest,
		"a block scalar that begins without a line":   head + a + strings.Replace(b, "echo b", "|\n", 1) + c + d + rest,
		"a job that ends in a key without a value":    head + a + "  - name: b\n    environment:\n" + c + d + rest,
		"a job that ends within a plain text":         head + a + "  - name: b\n    command: echo\n      more\n" + c + d + rest,
		"a job that ends in a folded text, kept":      head + a + "  - name: b\n    command: >+\n      more\n\n\n" + c + d + rest,
		"a dash alone":                                head + a + "  -\n    name: b\n" + c + d + rest,
		"a dash with nothing":                         head + a + "  -\n" + c + d + rest,
		"a list in the list":                          head + a + "  - - name: b\n" + c + d + rest,
		"jobs at the margin, and more indented later": "jobs:\n" + strings.ReplaceAll("\n"+a+b, "\n  ", "\n")[1:] + c + d,
	} {
		t.Run(name, func(t *testing.T) { sameParse(t, base, next, base, next) })
	}
}

// TestKnownJobsProperty edits files at random, also into what is broken.
func TestKnownJobsProperty(t *testing.T) {
	sound := []string{
		"  - name: a\n    command: echo a\n", "  - name: b\n    command: |\n      echo b\n\n", "  - name: c\n    command: |+\n      c\n\n",
		"  - {name: i, command: i}\n", "  -\n    name: j\n", "  - >-\n    t\n\n    u\n", "  - name: 'v\n      w'\n", "  - [x,\n    y]\n", "  - name: z\n    env:\n", "# more\n",
	}
	odd := []string{
		"  - name: d\n    command: \"d\n", "  - name: e\n    command: e\"\n", "  - name: f\n    command: [f,\n", "  - name: g\n    command: g]\n",
		"  - name: 'h\n", "      h'\n", "  -\n", "  - x: &k 1\n", "  - x: *k\n", "  - >-\n", "  - ? x\n",
		"# comment \"\n", "    # \"]'\n", "\n", "  \n", "jobs:\n", "jobs: []\n", "web:\n", "  listen: [x]\n", "x-a: |\n", "x-b: \"\n", "\"\n", "]\n", "---\n", "...\n",
		" - name: l\n", "- name: m\n", "  name: n\n", "    - o\n", "\t- p\n", "    environment:\n", "      - key: q\n        value: r\n", "  - name: s\r\n", "  - \"- t\"\n", "%YAML 1.2\n", "  - !!str u\n",
	}
	// Seldom odd, since most of what is odd leaves nothing that could be known.
	pieces := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
			return rapid.SampledFrom(odd).Draw(t, "piece")
		}
		return rapid.SampledFrom(sound).Draw(t, "piece")
	})
	rapid.Check(t, func(t *rapid.T) {
		lines := append([]string{"jobs:\n"}, rapid.SliceOfN(pieces, 2, 12).Draw(t, "first")...)
		versions := []string{strings.Join(lines, "")}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			i := rapid.IntRange(0, len(lines)-1).Draw(t, "where")
			next := append([]string(nil), lines[:i]...)
			if rapid.Bool().Draw(t, "insert") {
				next = append(next, pieces.Draw(t, "what"), lines[i])
			} else if rapid.Bool().Draw(t, "replace") {
				next = append(next, pieces.Draw(t, "what"))
			}
			next = append(next, lines[i+1:]...)
			if len(next) == 0 {
				break
			}
			lines = next
			versions = append(versions, strings.Join(lines, ""))
		}
		sameParse(t, versions...)
	})
}

// FuzzKnownJobs reads two versions of a file.
func FuzzKnownJobs(f *testing.F) {
	addSeedPairs := func(text string) {
		f.Add("jobs:\n  - name: a\n  - name: b\n  - name: c\n", text)
		f.Add(text, strings.Replace(text, "command", "# command", 1))
	}
	paths, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		addSeedPairs(string(text))
	}
	f.Fuzz(func(t *testing.T, first, second string) { sameParse(t, first, second, first) })
}

// TestLoadWithKnown: a large file is read as from scratch, its memory is given back with
// it, and small files are not remembered.
func TestLoadWithKnown(t *testing.T) {
	path := manyJobs(t, 2000)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(t.TempDir(), "small.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(small, "jobs: [{name: small, command: x, schedule: '@daily'}]\n")
	known := &Known{}
	load := func(files ...string) (*Config, Diagnostics) {
		t.Helper()
		cfg, ds := Load(Sources{Files: files, Host: testHost{}, Known: known})
		want, wantDs := Load(Sources{Files: files, Host: testHost{}})
		if fmt.Sprint(ds) != fmt.Sprint(wantDs) {
			t.Fatalf("diagnostics %v, want %v", ds, wantDs)
		}
		if (cfg == nil) != (want == nil) || cfg != nil && (cfg.JobSetID != want.JobSetID || !reflect.DeepEqual(cfg.Jobs[1999], want.Jobs[1999])) {
			t.Fatal("another configuration")
		}
		return cfg, ds
	}
	load(path, small)
	if len(known.files) != 1 || len(known.files[path].trees) != 2000 {
		t.Fatalf("%d files are known", len(known.files))
	}
	// The mistake is in a job that is known, by what has changed in another one.
	broken := strings.Replace(string(text), "name: job-7\n", "name: job-1500\n", 1)
	write(path, broken)
	if cfg, ds := load(path, small); cfg != nil || len(ds) != 1 || !strings.Contains(ds[0].Message, "a second job with this name") {
		t.Errorf("%v", ds)
	}
	write(path, strings.Replace(string(text), "executionTimeout: 8\n", "executionTimeout: x\n", 1))
	if cfg, ds := load(path, small); cfg != nil || len(ds) != 1 || ds[0].Job != "job-7" {
		t.Errorf("%v", ds)
	}
	write(path, "# moved\n\n"+string(text))
	load(path, small)
	if cfg, _ := load(path, small); cfg.Jobs[7].ExecutionTimeout.Seconds() != 8 {
		t.Errorf("%+v", cfg.Jobs[7])
	}
	if _, ds := Load(Sources{Files: []string{small}, Host: testHost{}, Known: known}); ds.HasErrors() || len(known.files) != 0 {
		t.Errorf("%d files are known after %v", len(known.files), ds)
	}
}
