package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program is one main package of this module, built at most once per test process.
type program struct {
	pkg  string // import path
	once sync.Once
	dir  string // holds the binary; "" until it is built
	path string
	err  error
}

var (
	agent = &program{pkg: "github.com/yacron2/yacron2"}
	demo  = &program{pkg: "github.com/yacron2/yacron2/internal/demo"}
)

// Binary returns the path of the agent: the one that YACRON2_E2E_BINARY names, such as
// a release to be tried, else one built from this source tree.
func Binary(tb testing.TB) string {
	if given := os.Getenv("YACRON2_E2E_BINARY"); given != "" {
		return given
	}
	return agent.get(tb)
}

// DemoBinary returns the path of the program behind "make demo".
func DemoBinary(tb testing.TB) string { return demo.get(tb) }

// RemoveBinaries removes what Binary and DemoBinary built; TestMain calls it when all
// tests have ended.
func RemoveBinaries() error {
	for _, p := range []*program{agent, demo} {
		if p.dir == "" {
			continue
		}
		if err := os.RemoveAll(p.dir); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) get(tb testing.TB) string {
	tb.Helper()
	p.once.Do(func() { p.err = p.build() })
	if p.err != nil {
		tb.Fatal(p.err)
	}
	return p.path
}

func (p *program) build() error {
	var err error
	if p.dir, err = os.MkdirTemp("", "yacron2-test-"); err != nil {
		return err
	}
	p.path = filepath.Join(p.dir, filepath.Base(p.pkg))
	args := []string{"build", "-o", p.path}
	if RaceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, p.pkg)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", p.pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}
