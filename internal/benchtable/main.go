// Command benchtable runs go test with the arguments that it is given and prints all
// benchmarks of all packages as one table, a column per unit, with what the machine itself
// takes for processes, disk and network as its first rows.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns go test's own exit code, so that a failed benchmark fails the caller.
func run(args []string) int {
	cmd := exec.Command("go", append([]string{"test"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		return 1
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		return 1
	}
	t, readErr := read(out, os.Stderr)
	err = cmd.Wait()
	if readErr != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", readErr)
		return 1
	}
	// Measured when the benchmarks have ended, so that neither disturbs the other.
	if lerr := t.addLimits(limits()); lerr != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", lerr)
		return 1
	}
	fmt.Println(here())
	if werr := t.write(os.Stdout); werr != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", werr)
		return 1
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable: go test:", err)
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

// here says when and on what this is run.
func here() string {
	cpuinfo, err := os.Open("/proc/cpuinfo")
	if err != nil { // no Linux
		return describe(time.Now(), strings.NewReader(""))
	}
	defer cpuinfo.Close()
	return describe(time.Now(), cpuinfo)
}
