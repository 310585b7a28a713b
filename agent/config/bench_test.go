package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// manyJobs writes a file with n jobs as people write them.
func manyJobs(tb testing.TB, n int) string {
	tb.Helper()
	var b strings.Builder
	b.WriteString("defaults:\n  shell: /bin/bash\n  captureStdout: true\n  environment:\n    - {key: PATH, value: /usr/bin}\njobs:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: job-%d\n    command: |\n      echo %d\n      sync\n    schedule: \"%d %d * * *\"\n    concurrencyPolicy: Forbid\n"+
			"    executionTimeout: %d\n    environment:\n      - key: INDEX\n        value: \"%d\"\n", i, i, i%60, i/60%24, i+1, i)
	}
	path := filepath.Join(tb.TempDir(), "many.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// BenchmarkLoad10000 loads 10,000 jobs from one YAML file. live-MB is what the result
// holds when everything else is collected, peak-MB what the process took from the
// system so far.
func BenchmarkLoad10000(b *testing.B) {
	path := manyJobs(b, 10_000)
	b.ReportAllocs()
	var cfg *Config
	for b.Loop() {
		var ds Diagnostics
		if cfg, ds = Load(Sources{Files: []string{path}}); cfg == nil {
			b.Fatal(ds)
		}
	}
	b.StopTimer()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "live-MB")
	b.ReportMetric(float64(m.Sys)/(1<<20), "peak-MB")
	if len(cfg.Jobs) != 10_000 {
		b.Fatal(len(cfg.Jobs))
	}
}

// BenchmarkLoadLanguages10000 loads 10,000 plain jobs in the other two languages.
func BenchmarkLoadLanguages10000(b *testing.B) {
	var hcl, crontab strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&hcl, "job \"job-%d\" {\n  command  = \"echo %d\"\n  schedule = \"%d %d * * *\"\n  capture_stdout = true\n}\n", i, i, i%60, i/60%24)
		fmt.Fprintf(&crontab, "%d %d * * * echo %d\n", i%60, i/60%24, i)
	}
	for name, text := range map[string]string{"many.hcl": hcl.String(), "many.crontab": crontab.String()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if cfg, ds := Load(Sources{Inline: []Inline{{name, text}}}); cfg == nil || len(cfg.Jobs) != 10_000 {
					b.Fatal(ds)
				}
			}
		})
	}
}

func BenchmarkJobSetID10000(b *testing.B) {
	cfg, ds := Load(Sources{Files: []string{manyJobs(b, 10_000)}})
	if cfg == nil {
		b.Fatal(ds)
	}
	for b.Loop() {
		JobSetID(cfg.Jobs)
	}
}
