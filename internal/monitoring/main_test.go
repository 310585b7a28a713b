package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m, "4")) }

// shipped is the path of a file of example/monitoring.
func shipped(name string) string { return filepath.Join("..", "..", "example", "monitoring", name) }

// read returns the text of a file of example/monitoring.
func read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(shipped(name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// program returns the path of a program of Debian's package prometheus. Without it the
// test is skipped, but where everything must be there a test that did not run is a
// failure.
func program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatalf("needs %s of Debian's package prometheus: %v", name, err)
	default:
		tb.Skipf("needs %s of Debian's package prometheus: %v", name, err)
	}
	return path
}
