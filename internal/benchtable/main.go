// Command benchtable runs go test with the arguments that it is given and prints all
// benchmarks of all packages as one table, a column per unit.
package main

import (
	"fmt"
	"os"
	"os/exec"
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
