package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// release is what is to be built.
type release struct {
	version string
	root    string
	out     string
	nfpm    string
	targets []target
	time    time.Time
}

// sums lists the archives and packages with their sums.
const sums = "SHA256SUMS"

// build builds everything into an empty folder.
func (r *release) build(ctx context.Context) error {
	if err := r.empty(); err != nil {
		return err
	}
	var err error
	if r.version == "" {
		if r.version, err = r.sourceVersion(); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp("", "yacron2-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	common, err := r.common(ctx, work)
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		program := filepath.Join(work, t.name(), t.program())
		if err := r.compile(ctx, t, program); err != nil {
			return err
		}
		if err := r.archive(t, program, common); err != nil {
			return err
		}
		if t.debian() != "" && r.nfpm != "" {
			if err := r.debian(ctx, t, program, common, work); err != nil {
				return err
			}
		}
	}
	return r.writeSums()
}

// empty makes the folder for the release and removes an older one from it.
func (r *release) empty() error {
	entries, err := os.ReadDir(r.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != sums && !strings.HasPrefix(e.Name(), "yacron2_") {
			return fmt.Errorf("%s holds something else than a release: %s", r.out, e.Name())
		}
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

var versionLine = regexp.MustCompile(`(?m)^var Version = "(.*)"$`)

// sourceVersion is the version that the source has.
func (r *release) sourceVersion() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "internal", "version", "version.go"))
	if err != nil {
		return "", err
	}
	m := versionLine.FindSubmatch(text)
	if m == nil {
		return "", errors.New("the source has no version")
	}
	return string(m[1]), nil
}

// compile builds the agent for a target.
func (r *release) compile(ctx context.Context, t target, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	stamp := "-s -w -X github.com/yacron2/yacron2/internal/version.Version=" + r.version
	_, err = output(ctx, r.root, t.environment(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", to, ".")
	return err
}

// common returns the files that come with the agent on every system.
func (r *release) common(ctx context.Context, work string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "example/systemd/yacron2.service"} {
		text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: filepath.Base(name), content: text, mode: 0o644})
	}
	examples, err := r.examples()
	if err != nil {
		return nil, err
	}
	files = append(files, examples...)
	modules, err := r.modules(ctx)
	if err != nil {
		return nil, err
	}
	files = append(files, file{name: "THIRD_PARTY_LICENSES.txt", content: texts(modules), mode: 0o644})
	// One for this machine, which is asked what it completes.
	here := filepath.Join(work, "here")
	if _, err := output(ctx, r.root, []string{"CGO_ENABLED=0"}, "go", "build", "-o", here, "."); err != nil {
		return nil, err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := output(ctx, r.root, nil, here, "completion", shell)
		if err != nil {
			return nil, err
		}
		// The script names the program that wrote it; those who install it have it on their PATH.
		script = strings.ReplaceAll(script, here, "yacron2")
		files = append(files, file{name: "completion/yacron2." + shell, content: []byte(script), mode: 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// examples returns the folder of examples.
func (r *release) examples() ([]file, error) {
	var files []file
	tree := os.DirFS(r.root)
	err := fs.WalkDir(tree, "example", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		files = append(files, file{name: name, content: text, mode: 0o644})
		return err
	})
	return files, err
}

// writeSums writes the list that "sha256sum --check" reads.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sums), list.Bytes(), 0o644)
}

// output runs a program with more in its environment and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out.String(), nil
}
