package testcluster

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package that starts agents, and removes the binaries that
// were built for them. Unless the command line says otherwise, parallel of its tests run
// at a time: they wait far more than they compute. It returns the exit code.
func Main(m *testing.M, parallel string) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", parallel); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if err := RemoveBinaries(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
