// Package cache builds the real stores of the tests, etcd and kube-apiserver, and keeps
// them where the next clone finds them: in a folder of the user's cache, named by what
// went into the build. Building takes minutes and gigabytes; a folder that is there costs
// nothing.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// Env names the environment variable with the folder of the programs. Set by
	// whoever has them already; unset, they are looked for in the user's cache.
	Env = "YACRON2_STORES"

	// module is the folder, below the root of this module, of the one that names the
	// programs and their versions.
	module = "internal/realstore/programs"
)

// A program is one of those that are built.
type program struct {
	name string // of its file
	// main is its main package, and owner the module whose version it answers.
	main, owner string
	// stamp is the linker's variable for that version; "" if it is in the source.
	stamp string
}

// programs are built in this order: the second is by far the larger one, so that a fault
// in the first shows early.
func programs() []program {
	return []program{
		{name: "etcd", main: "go.etcd.io/etcd/server/v3", owner: "go.etcd.io/etcd/server/v3"},
		{name: "kube-apiserver", main: "k8s.io/kubernetes/cmd/kube-apiserver", owner: "k8s.io/kubernetes",
			stamp: "k8s.io/component-base/version.gitVersion"},
	}
}

// A Cache is the place of one set of programs.
type Cache struct {
	source   string            // folder of the module that names them
	dir      string            // where they are once built
	versions map[string]string // of each owner, as its module says
}

// Open finds the place of the programs that the module around folder from asks for. It
// builds nothing and writes nothing.
func Open(ctx context.Context, from string) (*Cache, error) {
	root, err := findRoot(from)
	if err != nil {
		return nil, err
	}
	c := &Cache{source: filepath.Join(root, filepath.FromSlash(module))}
	if c.versions, err = readVersions(filepath.Join(c.source, "go.mod")); err != nil {
		return nil, err
	}
	if c.dir = os.Getenv(Env); c.dir != "" {
		c.dir, err = filepath.Abs(c.dir)
		return c, err
	}
	key, err := c.key(ctx)
	if err != nil {
		return nil, err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	c.dir = filepath.Join(user, "yacron2", "stores-"+key)
	return c, nil
}

// Dir is the folder of the programs, whether they are there or not.
func (c *Cache) Dir() string { return c.dir }

// Check asks each program for its version. An error says which one is missing or is not
// the one that was asked for.
func (c *Cache) Check(ctx context.Context) error {
	for _, p := range programs() {
		path := filepath.Join(c.dir, p.name)
		out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s --version: %w", path, err)
		}
		if want := strings.TrimPrefix(c.versions[p.owner], "v"); !strings.Contains(string(out), want) {
			return fmt.Errorf("%s is not %s: it says %q", path, want, firstLine(out))
		}
	}
	return nil
}

// key is a hash of all that the programs depend on: their modules, how they are built,
// and the compiler.
func (c *Cache) key(ctx context.Context) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(c.source, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	for _, p := range programs() {
		fmt.Fprintf(hash, "%q %q\n", c.arguments(p, p.name), environment())
	}
	cmd := exec.CommandContext(ctx, "go", "version")
	cmd.Dir = c.source
	version, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go version: %w", err)
	}
	hash.Write(version)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// findRoot goes up from a folder to the one that holds the module of the programs.
func findRoot(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(module), "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no folder above %s has %s", from, module)
		}
		dir = up
	}
}

// readVersions reads the requirements of the module of the programs.
func readVersions(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, p := range programs() {
			if len(fields) >= 2 && fields[0] == p.owner && strings.HasPrefix(fields[1], "v") {
				versions[p.owner] = fields[1]
			}
		}
	}
	for _, p := range programs() {
		if versions[p.owner] == "" {
			return nil, fmt.Errorf("%s requires no version of %s", path, p.owner)
		}
	}
	return versions, nil
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
