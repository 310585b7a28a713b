package realstore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/yacron2/yacron2/internal/realstore/cache"
)

// Flavour says which etcd a test runs.
type Flavour string

const (
	// Current is the release that `make stores` builds.
	Current Flavour = "current"
	// Debian is the one of the package etcd-server, years older.
	Debian Flavour = "debian"

	debianEtcd = "/usr/bin/etcd"
)

// Flavours returns all of them, for tests that run on each.
func Flavours() []Flavour { return []Flavour{Current, Debian} }

// programs knows, after the first question, where the built programs are.
var programs = sync.OnceValues(func() (string, error) {
	c, err := cache.Open(context.Background(), ".")
	if err != nil {
		return "", err
	}
	return c.Dir(), c.Check(context.Background())
})

// etcdProgram returns the path of an etcd. Without it the test is skipped, or fails on
// a CI machine.
func etcdProgram(tb testing.TB, flavour Flavour) string {
	tb.Helper()
	if flavour == Debian {
		if _, err := exec.LookPath(debianEtcd); err != nil {
			missing(tb, "needs "+debianEtcd+" of Debian's package etcd-server")
		}
		return debianEtcd
	}
	return built(tb, "etcd")
}

// Require skips a test, or fails it on a CI machine, if the programs that `make stores`
// builds are not there.
func Require(tb testing.TB) {
	tb.Helper()
	built(tb, "kube-apiserver")
}

func built(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := programs()
	if err != nil {
		missing(tb, fmt.Sprintf("needs the programs that make stores builds: %v", err))
	}
	return filepath.Join(dir, name)
}

// missing ends a test that can not run here. Where everything must be there, a test
// that did not run is a failure: a green run has had the real stores.
func missing(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatal(reason)
	}
	tb.Skip(reason)
}
