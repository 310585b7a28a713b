// Command benchtable runs go test with the arguments that it is given and prints all
// benchmarks of all packages as one table in Markdown, with what the machine itself takes
// for processes, disk and network as its first rows. Of benchmarks that ran several times
// it shows the medians. Each result goes to the standard error output as it comes.
//
// With -columns as the first argument, in place of -markdown, it prints plain text, one row
// per benchmark and one column per unit.
//
// Two conventions say more about a figure than itself. A benchmark whose name ends in /bare
// does the least that the system takes for what those beside it do, and is shown as their
// limit. A benchmark that reports a metric with the unit goal:UNIT says what its figure of
// that unit should be below.
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
	write := (*table).writeMarkdown
	if len(args) > 0 {
		switch args[0] {
		case "-columns":
			write, args = (*table).writeColumns, args[1:]
		case "-markdown":
			args = args[1:]
		}
	}
	began := time.Now()
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
	t, readErr := read(out, os.Stderr, os.Stderr)
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
	fmt.Printf("%s; measured in %s\n\n", here(), time.Since(began).Round(time.Second))
	if werr := write(t, os.Stdout); werr != nil {
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
