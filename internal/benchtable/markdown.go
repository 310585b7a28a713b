package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

var errNothing = errors.New("no benchmark ran")

// bare is the last part of the name of a benchmark that does the least that the system
// takes for what those beside it do: it is their limit.
const bare = "/bare"

// writeMarkdown prints a row for each figure: what it is, the machine's limit for the same
// where there is one, and the goal where there is one. What is of interest only to who
// changes the code, allocations, is left out. An error means that nothing was measured or
// that w failed.
func (t *table) writeMarkdown(w io.Writer) error {
	if len(t.rows) == 0 {
		return errNothing
	}
	lines := []string{
		"| package | benchmark | figure | unit | limit | goal |",
		"| --- | --- | --- | --- | --- | --- |",
	}
	for _, r := range t.rows {
		if strings.HasSuffix(r.name, bare) {
			continue
		}
		for _, unit := range t.units {
			v, ok := r.median(unit)
			if !ok || unit == "B/op" || unit == "allocs/op" {
				continue
			}
			scale, name := readable(v, unit)
			limit, goal := "", ""
			if v, ok := t.limit(r, unit); ok {
				limit = figure(v / scale)
			}
			if v, ok := r.goals[unit]; ok {
				goal = "< " + figure(v/scale)
			}
			lines = append(lines, fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |",
				r.pkg, strings.ReplaceAll(r.name, "|", `\|`), figure(v/scale), name, limit, goal))
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// limit is what the nearest bare benchmark beside or above r takes.
func (t *table) limit(r *row, unit string) (v float64, ok bool) {
	for at := strings.LastIndexByte(r.name, '/'); at > 0; at = strings.LastIndexByte(r.name[:at], '/') {
		i := slices.IndexFunc(t.rows, func(other *row) bool { return other.pkg == r.pkg && other.name == r.name[:at]+bare })
		if i >= 0 {
			return t.rows[i].median(unit)
		}
	}
	return 0, false
}

// readable turns nanoseconds into what people read: what they are divided by, and the
// unit of the result.
func readable(v float64, unit string) (scale float64, name string) {
	rest, ok := strings.CutPrefix(unit, "ns/")
	switch {
	case !ok || v < 1e3:
		return 1, unit
	case v < 1e6:
		return 1e3, "µs/" + rest
	case v < 1e9:
		return 1e6, "ms/" + rest
	}
	return 1e9, "s/" + rest
}

// figure writes a number with three digits that count, or all of a whole part that has more.
func figure(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
