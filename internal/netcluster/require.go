package netcluster

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Enabled is the environment variable that lets tests with namespaces run. They take
// minutes, so they are not among those that "go test ./..." runs.
const Enabled = "YACRON2_NETNS"

// Require skips a test or benchmark that cannot make networks here, or lacks one of more
// programs, with the reason. On a CI machine, where CI is true, what is missing is a
// failure.
func Require(tb testing.TB, programs ...string) {
	tb.Helper()
	if os.Getenv(Enabled) != "1" {
		tb.Skipf("only with %s=1, as make netns sets it", Enabled)
	}
	var missing []string
	if runtime.GOOS != "linux" {
		missing = append(missing, "Linux")
	}
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, program := range append([]string{"ip", "nft"}, programs...) {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, "the program "+program)
		}
	}
	if len(missing) == 0 {
		return
	}
	if reason := "needs " + strings.Join(missing, ", "); os.Getenv("CI") == "true" {
		tb.Fatal(reason)
	} else {
		tb.Skip(reason)
	}
}
