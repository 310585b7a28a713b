//go:build unix

package run

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultPath is searched when the environment has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// program returns the file to execute: Argv[0], or what a shell would find under
// that name with the run's own PATH and directory.
func (s *Spec) program() (string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errNoCommand
	}
	for _, list := range [...][]string{s.Argv, s.Env, {s.Dir}} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return "", errNUL
			}
		}
	}
	name := s.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	search := defaultPath
	for _, entry := range s.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	missing := &notInPath{name: name}
	for _, dir := range filepath.SplitList(search) {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) {
			path = "./" + path // relative to Dir, where the child will be
		}
		info, err := os.Stat(s.abs(path))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if unix.Access(s.abs(path), unix.X_OK) == nil {
			return path, nil
		}
		if missing.barred == "" {
			missing.barred = s.abs(path)
		}
	}
	return "", missing
}

// abs makes a path relative to Dir one that the agent can look at.
func (s *Spec) abs(path string) string {
	if s.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.Dir, path)
}
