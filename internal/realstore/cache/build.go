package cache

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the programs if they are not there, and tells on w what it does. They
// become visible all at once, under their final name, when they have answered: a build
// that was cut off is never taken for a whole one.
func (c *Cache) Build(ctx context.Context, w io.Writer) error {
	if c.Check(ctx) == nil {
		return nil
	}
	parent := filepath.Dir(c.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(parent, "building-")
	if err != nil {
		return err
	}
	// The compiler's own cache would keep gigabytes of packages that nothing else ever
	// imports, so the build has one for itself and leaves only the programs.
	defer os.RemoveAll(work)
	for _, p := range programs() {
		if err := c.buildOne(ctx, p, work, w); err != nil {
			return err
		}
	}
	built := &Cache{source: c.source, dir: filepath.Join(work, "bin"), versions: c.versions}
	if err := built.Check(ctx); err != nil {
		return err
	}
	return publish(built.dir, c.dir, func() error { return c.Check(ctx) })
}

// publish gives what was built its name. What has that name already and works was built
// by somebody else meanwhile and stays.
func publish(built, final string, check func() error) error {
	err := os.Rename(built, final)
	if err == nil || check() == nil {
		return nil
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(built, final)
}

func (c *Cache) buildOne(ctx context.Context, p program, work string, w io.Writer) error {
	fmt.Fprintf(w, "building %s %s\n", p.name, c.versions[p.owner])
	cmd := exec.CommandContext(ctx, "go", c.arguments(p, filepath.Join(work, "bin", p.name))...)
	cmd.Dir = c.source
	cmd.Env = append(append(os.Environ(), environment()...), "GOCACHE="+filepath.Join(work, "cache"))
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %w", p.name, err)
	}
	return nil
}

// arguments are those of the go command that builds a program into a file.
func (c *Cache) arguments(p program, file string) []string {
	flags := "-s -w"
	if p.stamp != "" {
		flags += " -X " + p.stamp + "=" + c.versions[p.owner]
	}
	return []string{"build", "-trimpath", "-ldflags", flags, "-o", file, p.main}
}

// environment is what the result must not take from the machine: a C compiler, a
// workspace around the module.
func environment() []string { return []string{"CGO_ENABLED=0", "GOWORK=off"} }
