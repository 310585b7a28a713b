//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestPipes: what is found is not waited for, and what somebody names is read.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "conf.d", "pipe.yaml")
	including := file("including.yaml", "include: [conf.d/pipe.yaml]\n")
	withEnv := file("env.yaml", "jobs: [{name: a, command: x, schedule: '@daily', env_file: conf.d/pipe.yaml}]\n")
	file("conf.d/good.yaml", "jobs: [{name: a, command: x, schedule: '@daily'}]\n")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Sources{
		"directory": {Dirs: []string{filepath.Dir(pipe)}}, "include": {Files: []string{including}}, "env_file": {Files: []string{withEnv}},
	} {
		s.Host = testHost{}
		cfg, ds := Load(s)
		if cfg != nil || len(ds) != 1 || !strings.Contains(ds[0].Message, "it is a pipe, a socket or a device") {
			t.Errorf("%s: config %v, diagnostics %v", name, cfg, ds)
		}
	}

	var writing sync.WaitGroup
	writing.Go(func() { // opens the pipe when the loader does
		if err := os.WriteFile(pipe, []byte("jobs: [{name: piped, command: x, schedule: '@daily'}]\n"), 0o600); err != nil {
			t.Error(err)
		}
	})
	cfg, ds := Load(Sources{Files: []string{pipe}, Host: testHost{}})
	writing.Wait()
	if cfg == nil || len(cfg.Jobs) != 1 || cfg.Jobs[0].Name != "piped" || len(ds) != 1 || !strings.Contains(ds[0].Message, "this is a pipe") {
		t.Errorf("config %+v, diagnostics %v", cfg, ds)
	}
}
