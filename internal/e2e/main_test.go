package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	if !given("test.parallel") {
		// These tests wait far more than they compute, so more of them can run at a
		// time than there are processors.
		if err := flag.Set("test.parallel", "6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if err := testcluster.RemoveBinaries(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// given reports whether a flag was set on the command line.
func given(name string) bool {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
