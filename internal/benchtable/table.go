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
	units []string // in order of first appearance
	rows  []*row
}

// row is what one benchmark has shown.
type row struct {
	pkg, name string
	values    map[string][]float64 // by unit; one for each time that it ran
	goals     map[string]float64   // by unit
}

// cpus is the suffix that go test appends to a benchmark's name.
var cpus = regexp.MustCompile(`-\d+$`)

// goalPrefix leads the unit of a figure that says what another one should be below.
const goalPrefix = "goal:"

// read takes the output of go test -bench. Results go to progress as they come, lines
// that are none (a failure, a log line) to other, so that nothing is lost but the noise.
func read(in io.Reader, progress, other io.Writer) (*table, error) {
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
		to := other
		if t.add(pkg, line) {
			to, line = progress, pkg+" "+line
		} else if noise(line) {
			continue
		}
		if _, err := fmt.Fprintln(to, line); err != nil {
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
	var values []float64
	for i := 2; i < len(f); i += 2 {
		value, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return false
		}
		values = append(values, value)
	}
	r := t.row(pkg, cpus.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), ""))
	timed := slices.Contains(f, "ns/op")
	for i, value := range values {
		unit := f[2*i+3]
		if of, ok := strings.CutPrefix(unit, goalPrefix); ok {
			r.goals[of] = value
			continue
		}
		// A benchmark that hides its own time measures other processes: then the
		// allocations of this one say nothing either.
		if !timed && (unit == "B/op" || unit == "allocs/op") {
			continue
		}
		if !slices.Contains(t.units, unit) {
			t.units = append(t.units, unit)
		}
		r.values[unit] = append(r.values[unit], value)
	}
	return true
}

// row returns the row of a benchmark, and adds it if there is none.
func (t *table) row(pkg, name string) *row {
	for _, r := range t.rows {
		if r.pkg == pkg && r.name == name {
			return r
		}
	}
	r := &row{pkg: pkg, name: name, values: make(map[string][]float64), goals: make(map[string]float64)}
	t.rows = append(t.rows, r)
	return r
}

// median returns the value in the middle of those of a unit; ok is false if there are none.
func (r *row) median(unit string) (v float64, ok bool) {
	values := slices.Sorted(slices.Values(r.values[unit]))
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

// writeColumns prints a column for each unit, names to the left, numbers to the right.
// An error means that nothing was measured or that w failed.
func (t *table) writeColumns(w io.Writer) error {
	if len(t.rows) == 0 {
		return errNothing
	}
	lines := [][]string{append([]string{"package", "benchmark"}, t.units...)}
	for _, r := range t.rows {
		line := []string{r.pkg, r.name}
		for _, unit := range t.units {
			cell := ""
			if v, ok := r.median(unit); ok {
				cell = strconv.FormatFloat(v, 'f', -1, 64)
			}
			line = append(line, cell)
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
