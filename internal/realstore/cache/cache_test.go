package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modules writes a folder like the root of this module, with an etcd of that version.
func modules(t *testing.T, etcd string) (root string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, filepath.FromSlash(module))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("module x\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 %s\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n", etcd)
	for name, text := range map[string]string{"go.mod": text, "go.sum": "sum\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// script writes a program that says what it is.
func script(t *testing.T, dir, name, says string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+says+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, from string) *Cache {
	t.Helper()
	c, err := Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFolderFollowsWhatIsBuilt(t *testing.T) {
	t.Setenv(Env, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := modules(t, "v3.0.1")
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	first := open(t, root).Dir()
	if again := open(t, below).Dir(); again != first {
		t.Errorf("from a folder below it is %s, not %s", again, first)
	}
	if other := open(t, modules(t, "v3.0.2")).Dir(); other == first {
		t.Error("another version has the same folder")
	}
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(module), "go.sum"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := open(t, root).Dir(); other == first {
		t.Error("another go.sum has the same folder")
	}
	if _, err := Open(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without the module of the programs is good enough")
	}
}

func TestCheckAsksForVersions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	c := open(t, modules(t, "v3.0.1"))
	if c.Dir() != dir {
		t.Fatalf("the folder is %s, want the given %s", c.Dir(), dir)
	}
	if err := c.Check(t.Context()); err == nil {
		t.Error("an empty folder passes")
	}
	script(t, dir, "etcd", "etcd Version: 3.0.1")
	script(t, dir, "kube-apiserver", "Kubernetes v1.2.3")
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	// What is there is not built again.
	var said bytes.Buffer
	if err := c.Build(t.Context(), &said); err != nil || said.Len() > 0 {
		t.Errorf("building what is there: %v, and said %q", err, said.String())
	}
	script(t, dir, "etcd", "etcd Version: 3.0.0")
	if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "3.0.0") {
		t.Errorf("another version: %v", err)
	}
}

// A build that fails leaves nothing that could be taken for a whole one.
func TestFailedBuildLeavesNothing(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv(Env, "")
	t.Setenv("XDG_CACHE_HOME", cacheDir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	c := open(t, modules(t, "v0.0.0-none"))
	var said bytes.Buffer
	if err := c.Build(t.Context(), &said); err == nil || !strings.Contains(said.String(), "building etcd v0.0.0-none") {
		t.Fatalf("building nothing: %v, and said %q", err, said.String())
	}
	left, err := os.ReadDir(filepath.Dir(c.Dir()))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPublish(t *testing.T) {
	works, broken := func() error { return nil }, func() error { return errors.New("broken") }
	for _, test := range []struct {
		name  string
		there bool
		check func() error
		want  string
	}{
		{"nothing there", false, broken, "new"},
		{"a whole one there", true, works, "old"},
		{"a broken one there", true, broken, "new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			built, final := filepath.Join(t.TempDir(), "built"), filepath.Join(t.TempDir(), "final")
			script(t, built, "etcd", "new")
			if test.there {
				script(t, final, "etcd", "old")
			}
			if err := publish(built, final, test.check); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(final, "etcd"))
			if err != nil || !strings.Contains(string(text), test.want) {
				t.Errorf("%q, %v; want the %s one", text, err, test.want)
			}
		})
	}
}
