package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// module is a module that is built into the agent on some system.
type module struct {
	path, version string
	licenses      []string // their names, of all texts
	texts         []string
}

// modules returns the modules that are built in for any target, and Go itself, each with
// its licenses. One without a license that this program knows is an error: somebody has to
// read it.
func (r *release) modules(ctx context.Context) ([]module, error) {
	dirs := map[string]module{}
	for _, t := range targets() {
		out, err := output(ctx, r.root, t.environment(), "go", "list", "-deps", "-json=Module,Standard", ".")
		if err != nil {
			return nil, err
		}
		for dec := json.NewDecoder(strings.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
					Replace            *struct{ Path, Version, Dir string }
				}
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main {
				dir := m.Dir
				if m.Replace != nil {
					dir = m.Replace.Dir
				}
				dirs[dir] = module{path: m.Path, version: m.Version}
			}
		}
	}
	goroot, err := output(ctx, r.root, nil, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(goroot)
	dirs[words[0]] = module{path: "Go's standard library", version: words[1]}
	var all []module
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		m := dirs[dir]
		if err := m.read(dir); err != nil {
			errs = append(errs, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return all, errors.Join(errs...)
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([-.].*)?$`)

// read reads the licenses in a module's folder.
func (m *module) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		if strings.HasPrefix(strings.ToLower(e.Name()), "notice") {
			continue
		}
		name := licenseOf(string(text))
		if name == "" {
			return fmt.Errorf("%s %s: nobody has said what license %s is", m.path, m.version, e.Name())
		}
		if !slices.Contains(m.licenses, name) {
			m.licenses = append(m.licenses, name)
		}
	}
	if len(m.licenses) == 0 {
		return fmt.Errorf("%s %s: no license in %s", m.path, m.version, dir)
	}
	return nil
}

// licenseOf tells a license by what it says, "" if it is none that is known to be fine
// here.
func licenseOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(words string) bool { return strings.Contains(text, words) }
	var names []string
	switch {
	case has("mozilla public license") && has("2.0"):
		names = append(names, "MPL-2.0")
	case has("apache license") && has("version 2.0"):
		names = append(names, "Apache-2.0")
	}
	if has("redistribution and use in source and binary forms") {
		if has("neither the name") || has("names of its contributors") {
			names = append(names, "BSD-3-Clause")
		} else {
			names = append(names, "BSD-2-Clause")
		}
	}
	if has("permission is hereby granted, free of charge") {
		names = append(names, "MIT")
	}
	if has("permission to use, copy, modify, and/or distribute this software for any purpose") ||
		has("permission to use, copy, modify, and distribute this software for any purpose") {
		names = append(names, "ISC")
	}
	return strings.Join(names, " and ")
}

// printLicenses lists all modules with the names of their licenses.
func (r *release) printLicenses(ctx context.Context, to io.Writer) error {
	all, err := r.modules(ctx)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.path, m.version, strings.Join(m.licenses, ", "))
	}
	return errors.Join(err, w.Flush())
}

// texts is the file that goes with each program: who wrote what is in it.
func texts(all []module) []byte {
	var b bytes.Buffer
	b.WriteString("yacron2 contains the following software.\n")
	for _, m := range all {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(m.licenses, ", "))
		for _, text := range m.texts {
			fmt.Fprintf(&b, "%s\n\n%s\n", strings.Repeat("-", 80), text)
		}
	}
	return b.Bytes()
}
