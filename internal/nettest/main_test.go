package nettest

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
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		// These tests wait far more than they compute.
		if err := flag.Set("test.parallel", "5"); err != nil {
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
