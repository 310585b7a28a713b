package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table collects benchmark results.
type table struct {
	units []string // columns, in order of first appearance
	rows  []row
}

type row struct {
	pkg, name string
	values    map[string]string // by unit
}

// cpus is the suffix that go test appends to a benchmark's name.
var cpus = regexp.MustCompile(`-\d+$`)

// read takes the output of go test -bench. Lines that are no result (a failure, a log
// line) go to other, so that nothing is lost but the noise.
func read(in io.Reader, other io.Writer) (*table, error) {
	t := new(table)
	pkg := ""
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = name[strings.LastIndex(name, "yacron2/")+len("yacron2/"):]
			continue
		}
		if t.add(pkg, line) || noise(line) {
			continue
		}
		if _, err := fmt.Fprintln(other, line); err != nil {
			return nil, err
		}
	}
	return t, lines.Err()
}

// noise reports whether line only says where and that go test ran.
func noise(line string) bool {
	for _, prefix := range []string{"goos: ", "goarch: ", "cpu: ", "ok  \t", "PASS", "?   \t"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return strings.Contains(line, "[no test files]")
}

// add takes one result line: name, iterations, then pairs of value and unit.
func (t *table) add(pkg, line string) bool {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return false
	}
	if _, err := strconv.Atoi(f[1]); err != nil {
		return false
	}
	r := row{pkg: pkg, name: cpus.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), ""), values: map[string]string{}}
	timed := slices.Contains(f, "ns/op")
	for i := 2; i < len(f); i += 2 {
		value, unit := f[i], f[i+1]
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return false
		}
		// A benchmark that hides its own time measures other processes: then the
		// allocations of this one say nothing either.
		if !timed && (unit == "B/op" || unit == "allocs/op") {
			continue
		}
		if !slices.Contains(t.units, unit) {
			t.units = append(t.units, unit)
		}
		r.values[unit] = value
	}
	t.rows = append(t.rows, r)
	return true
}

// write prints the table, names to the left, numbers to the right. An error means
// that nothing was measured or that w failed.
func (t *table) write(w io.Writer) error {
	if len(t.rows) == 0 {
		return fmt.Errorf("no benchmark ran")
	}
	lines := [][]string{append([]string{"package", "benchmark"}, t.units...)}
	for _, r := range t.rows {
		line := []string{r.pkg, r.name}
		for _, unit := range t.units {
			line = append(line, r.values[unit])
		}
		lines = append(lines, line)
	}
	width := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-len(cell))
			if i < 2 {
				b.WriteString(cell + pad + "  ")
			} else {
				b.WriteString(pad + cell + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
