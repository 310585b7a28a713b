package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const sourceTree = "../.."

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// copyTree copies what Go and the release need of a source tree to another place.
func copyTree(t *testing.T, tree string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "elsewhere")
	from := os.DirFS(tree)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || slices.Contains([]string{"bin", "dist", "demo", "site", "testdata", "node_modules", "tools", "website"}, base)) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if strings.HasSuffix(base, "_test.go") || !d.Type().IsRegular() {
			return nil
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// The same source gives the same bytes, wherever it lies, and others can install them. Of
// packages that needs nfpm, which make release builds.
func TestReproducible(t *testing.T) {
	nfpm := filepath.Join(sourceTree, "bin", "nfpm")
	if !exists(nfpm) {
		missing(t, nfpm)
		nfpm = ""
	}
	build := func(root string) string {
		r := &release{root: root, out: filepath.Join(t.TempDir(), "dist"), version: "9.8.7", time: noon, targets: targets()[:1], nfpm: nfpm}
		if err := r.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r.out
	}
	// Of copies, so that nobody who works on the tree meanwhile makes a difference.
	first := copyTree(t, sourceTree)
	here, there := build(first), build(copyTree(t, first))
	list, err := os.ReadFile(filepath.Join(here, sums))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(there, sums))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(list, again) || len(list) == 0 {
		t.Errorf("two builds differ:\n%s\n%s", list, again)
	}
	archive := filepath.Join(here, "yacron2_9.8.7_linux_amd64.tar.gz")
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), filepath.Base(archive)); !strings.Contains(string(list), line) {
		t.Errorf("%s lacks %s", list, line)
	}
	checkArchive(t, content)
	if nfpm != "" {
		checkDebian(t, nfpm, filepath.Join(here, "yacron2_9.8.7_amd64.deb"))
	}
}

// missing logs that something is not checked for want of a program, which on a CI machine
// is a failure.
func missing(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s", program)
	}
	t.Logf("not all is checked: there is no %s", program)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// checkArchive looks into the archive: all files of one folder, one time and nobody, and a
// static program that says its version and holds no path of where it was built.
func checkArchive(t *testing.T, content []byte) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var program []byte
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(noon) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s: %v of %d %q", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		name, inside := strings.CutPrefix(h.Name, "yacron2_9.8.7_linux_amd64/")
		if !inside {
			t.Errorf("%s is not in the folder", h.Name)
		}
		names = append(names, name)
		if name == "yacron2" {
			if program, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
			if h.Mode != 0o755 {
				t.Errorf("the program's mode is %o", h.Mode)
			}
		}
	}
	examples := len(names)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "example/") && name != "example/jobs.yaml" })
	if examples -= len(names); examples < 30 {
		t.Errorf("only %d examples", examples)
	}
	want := []string{
		"yacron2", "CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY_LICENSES.txt",
		"completion/yacron2.bash", "completion/yacron2.fish", "completion/yacron2.zsh", "example/jobs.yaml", "yacron2.service",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	file := filepath.Join(t.TempDir(), "yacron2")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(file, "version").Output(); err != nil || string(out) != "9.8.7\n" {
		t.Errorf("version: %q, %v", out, err)
	}
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := e.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("not static: %v", libraries)
	}
	if bytes.Contains(program, []byte(os.TempDir()+"/")) {
		t.Errorf("the program holds a path below %s, where it was built", os.TempDir())
	}
}

// All that is built in has a license that somebody has read.
func TestLicenses(t *testing.T) {
	r := &release{root: sourceTree}
	all, err := r.modules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, m := range all {
		names[m.path] = m.licenses
	}
	for path, want := range map[string]string{
		"github.com/hashicorp/memberlist": "MPL-2.0", "go.etcd.io/bbolt": "MIT", "Go's standard library": "BSD-3-Clause",
		"github.com/prometheus/client_golang": "Apache-2.0",
	} {
		if !slices.Contains(names[path], want) {
			t.Errorf("%s has %v, want %s", path, names[path], want)
		}
	}
	text := string(texts(all))
	if !strings.Contains(text, "github.com/hashicorp/memberlist") || strings.Count(text, strings.Repeat("=", 80)) < len(all) {
		t.Errorf("the texts lack some of %d modules", len(all))
	}
}

func TestLicenseOf(t *testing.T) {
	for text, want := range map[string]string{
		"MIT License\n\nPermission is hereby granted,\nfree of charge, to any person": "MIT",
		"Mozilla Public License, version 2.0":                                         "MPL-2.0",
		"Apache License\n   Version 2.0, January 2004":                                "Apache-2.0",
		"Redistribution and use in source and binary forms ... Neither the name of":   "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                           "BSD-2-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                        "",
		"All rights reserved.":                                                        "",
	} {
		if got := licenseOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestZip(t *testing.T) {
	files := []file{{"a/yacron2.exe", []byte("program"), 0o755}, {"a/LICENSE", []byte("MIT"), 0o644}}
	first, err := zipped(files, noon)
	if err != nil {
		t.Fatal(err)
	}
	second, err := zipped(files, noon)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two archives differ (%v)", err)
	}
	r, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.File) != 2 || !r.File[0].Modified.Equal(noon) || r.File[0].Mode() != 0o755 || r.File[1].Name != "a/LICENSE" {
		t.Errorf("%+v", r.File)
	}
}

func TestOutIsNotEmptiedBlindly(t *testing.T) {
	out := t.TempDir()
	precious := filepath.Join(out, "thesis.txt")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&release{out: out}).empty(); err == nil || !exists(precious) {
		t.Errorf("emptied a folder with something else: %v", err)
	}
	if err := os.Remove(precious); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(out, "yacron2_1.0.0_amd64.deb")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&release{out: out}).empty(); err != nil || exists(old) {
		t.Errorf("an older release is left: %v", err)
	}
}

func TestCommitTime(t *testing.T) {
	at, err := commitTime(t.Context(), sourceTree, "1772366400")
	if err != nil || !at.Equal(noon) {
		t.Errorf("%v, %v", at, err)
	}
	if _, err := commitTime(t.Context(), sourceTree, "today"); err == nil {
		t.Error("today is a number")
	}
}
