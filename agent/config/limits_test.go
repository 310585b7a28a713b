package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestLimits feeds the front ends what would exhaust an unbounded reader, and expects
// an error and bounded memory: the largest legal file takes about 500 MB at its worst.
func TestLimits(t *testing.T) {
	const most = 1 << 30
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		text []byte
	}{
		{"line.yaml", nil}, // nil stands for 100 MB without a line end
		{"line.hcl", nil},
		{"line.crontab", nil},
		{"values.yaml", append([]byte("["), bytes.Repeat([]byte("1,"), 2<<20)...)},
		{"brackets.yaml", bytes.Repeat([]byte("["), 1<<20)},
		{"brackets.hcl", append([]byte("x = "), bytes.Repeat([]byte("["), 1<<20)...)},
		{"bangs.hcl", append([]byte("x = "), bytes.Repeat([]byte("!"), 1<<20)...)},
		{"minus.hcl", append([]byte("x = "), bytes.Repeat([]byte("-"), 1<<20)...)},
		{"templates.hcl", append([]byte(`x = "`), bytes.Repeat([]byte(`${"`), 1<<18)...)},
		{"blocks.hcl", bytes.Repeat([]byte("a {\n"), 1<<18)},
		{"maps.yaml", bytes.Repeat([]byte("{a: "), 1<<18)},
		{"keys.yaml", append(bytes.Repeat([]byte("? "), 1<<18), 'a')},
		{"dashes.yaml", append(bytes.Repeat([]byte("- "), 1<<18), 'a')},
		{"commas.crontab", append([]byte("0"), append(bytes.Repeat([]byte(",0"), 1<<20), []byte(" * * * * x\n")...)...)},
	} {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, tt.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.text == nil {
			if err := os.Truncate(path, 100<<20); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		cfg, ds := Load(Sources{Files: []string{path}, Host: testHost{}})
		runtime.ReadMemStats(&after)
		if tt.name != "commas.crontab" && (cfg != nil || !ds.HasErrors()) {
			t.Errorf("%s loads", tt.name)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
			t.Errorf("%s took %d MB", tt.name, taken>>20)
		}
		if rendered := ds.Error(); len(rendered) > 4096 {
			t.Errorf("%s: %d bytes of messages", tt.name, len(rendered))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyIncludes: wide and deep include trees load; every file is read once.
func TestManyIncludes(t *testing.T) {
	const n = 1000
	job := func(i int) string {
		return fmt.Sprintf("jobs: [{name: j%d, command: x, schedule: '@hourly'}]\n", i)
	}
	var wide, deep []goldenFile
	var all []string
	for i := range n {
		all = append(all, "w"+strconv.Itoa(i)+".yaml")
		wide = append(wide, goldenFile{all[i], job(i)})
		text := job(i)
		if i+1 < n {
			text = "include: [d" + strconv.Itoa(i+1) + ".yaml, d" + strconv.Itoa(n-1) + ".yaml]\n" + text
		}
		deep = append(deep, goldenFile{"d" + strconv.Itoa(i) + ".yaml", text})
	}
	root := yamlFile("include: [" + strings.Join(all, ", ") + "]\n")
	for name, files := range map[string][]goldenFile{"wide": append([]goldenFile{root}, wide...), "deep": deep} {
		if cfg := mustLoad(t, testHost{}, files...); len(cfg.Jobs) != n {
			t.Errorf("%s: %d jobs", name, len(cfg.Jobs))
		}
	}
}

// TestManyProblems: the list of problems is bounded and says so.
func TestManyProblems(t *testing.T) {
	cfg, ds := loadFiles(t, testHost{}, yamlFile("jobs:\n"+strings.Repeat("  - {nam: x}\n", 3000)))
	if cfg != nil || len(ds) != maxDiagnostics+1 || ds[len(ds)-1].File != "" {
		t.Errorf("config %v, %d diagnostics", cfg, len(ds))
	}
}
