package config

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Severity tells errors, which reject the configuration, from warnings, and those from
// notes: what is right but means something else than it did in yacron2 1.2.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Diagnostic is one problem of the configuration. Neither its texts nor its source
// line hold secrets.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`   // as the user named or would name it
	Line     int      `json:"line,omitempty"`   // from 1; 0: the file as a whole
	Column   int      `json:"column,omitempty"` // from 1, in characters
	Job      string   `json:"job,omitempty"`    // the job it was found in, if any
	Key      string   `json:"key,omitempty"`    // path of the key, e.g. jobs[0].failsWhen
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`   // what to write instead
	Source   string   `json:"source,omitempty"` // the line, shortened, secrets masked
	// More counts further jobs with the very same problem at the same place, as a
	// bad value in the defaults of many jobs has it.
	More int `json:"more,omitempty"`

	caret  int   // characters of Source before the caret; -1: none
	hidden bool  // show nothing of the line
	sealed int32 // show nothing of the line from this column on; 0: all of it
	strict bool  // the file is broken here: show the values of known keys alone
	at     pos   // until the excerpts are made
}

// Position returns file:line:column, as far as known.
func (d Diagnostic) Position() string {
	switch {
	case d.File == "":
		return ""
	case d.Line == 0:
		return d.File
	case d.Column == 0:
		return d.File + ":" + strconv.Itoa(d.Line)
	}
	return d.File + ":" + strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Column)
}

// Error returns the problem in one line: position, severity, job, message and hint.
func (d Diagnostic) Error() string {
	text := d.headline()
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

func (d Diagnostic) headline() string {
	var b strings.Builder
	if p := d.Position(); p != "" {
		b.WriteString(p)
		b.WriteString(": ")
	}
	b.WriteString(string(d.Severity))
	b.WriteString(": ")
	if d.Job != "" {
		fmt.Fprintf(&b, "job %q", d.Job)
		if d.More > 0 {
			fmt.Fprintf(&b, " and %d more", d.More)
		}
		b.WriteString(": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics are all problems of one load: those of the files in the order in which
// they were read, then those of jobs and sections.
type Diagnostics []Diagnostic

// HasErrors reports whether the configuration was rejected.
func (ds Diagnostics) HasErrors() bool {
	for i := range ds {
		if ds[i].Severity == Error {
			return true
		}
	}
	return false
}

// Errors returns the errors alone.
func (ds Diagnostics) Errors() Diagnostics { return ds.only(Error) }

// Warnings returns the warnings alone.
func (ds Diagnostics) Warnings() Diagnostics { return ds.only(Warning) }

func (ds Diagnostics) only(s Severity) Diagnostics {
	var out Diagnostics
	for _, d := range ds {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}

// Err returns nil if there are no errors, else one error that wraps each of them as
// a Diagnostic.
func (ds Diagnostics) Err() error {
	var errs []error
	for _, d := range ds {
		if d.Severity == Error {
			errs = append(errs, d)
		}
	}
	return errors.Join(errs...)
}

// Error returns all problems, one a line.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Render writes the problems for people: each with its source line, a caret under
// the place and the hint below.
func (ds Diagnostics) Render(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, d := range ds {
		b.WriteString(d.headline())
		b.WriteByte('\n')
		if d.Source != "" {
			gutter := strconv.Itoa(d.Line)
			fmt.Fprintf(b, "  %s | %s\n", gutter, d.Source)
			if d.caret >= 0 {
				fmt.Fprintf(b, "  %s | %s^\n", strings.Repeat(" ", len(gutter)), padding(d.Source, d.caret))
			}
		}
		if d.Hint != "" {
			fmt.Fprintf(b, "  hint: %s\n", d.Hint)
		}
	}
	return b.Flush()
}

// padding returns blanks as wide as the first n characters of line: its tabs stay
// tabs, so that the caret stands right whatever the terminal's tab stops.
func padding(line string, n int) string {
	var b strings.Builder
	for _, r := range line {
		if n == 0 {
			break
		}
		n--
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteString(strings.Repeat(" ", n))
	return b.String()
}

// maxDiagnostics bounds, for errors and for all else, what one load reports (and remembers): nobody reads more,
// and a hostile file can hold millions of problems.
const maxDiagnostics = 1000

// collector gathers diagnostics, merging those that differ in the job alone.
type collector struct {
	list    Diagnostics
	seen    map[seenKey]int
	dropped int
	errors  int
}

type seenKey struct {
	at      pos
	file    string
	message string
}

// add records one problem at a place.
func (c *collector) add(at pos, d Diagnostic) {
	if at.src != nil {
		d.File, d.Line, d.Column = at.src.name, int(at.line), int(at.column)
	}
	key := seenKey{at, d.File, d.Message}
	if i, ok := c.seen[key]; ok {
		if d.Job != "" && d.Job != c.list[i].Job {
			c.list[i].More++
		}
		return
	}
	kept := c.errors
	if d.Severity != Error {
		kept = len(c.list) - c.errors
	}
	if kept >= maxDiagnostics {
		c.dropped++
		return
	}
	if d.Severity == Error {
		c.errors++
	}
	d.caret, d.at = -1, at
	if c.seen == nil {
		c.seen = map[seenKey]int{}
	}
	c.seen[key] = len(c.list)
	c.list = append(c.list, d)
}

// excerpts gives the diagnostics their lines, now that all is known of these: what one
// diagnostic takes for a secret, no other shows.
func (c *collector) excerpts() {
	type lineOf struct {
		src  *source
		line int32
	}
	all := map[lineOf]seal{}
	for i := range c.list {
		d := &c.list[i]
		l := lineOf{d.at.src, d.at.line}
		one := all[l]
		if d.sealed > 0 && (one.from == 0 || int(d.sealed) < one.from) {
			one.from = int(d.sealed)
		}
		one.strict = one.strict || d.strict
		all[l] = one
	}
	for i := range c.list {
		d := &c.list[i]
		if d.at.src != nil && d.at.line > 0 && !d.hidden {
			d.Source, d.caret = d.at.src.excerpt(int(d.at.line), int(d.at.column), all[lineOf{d.at.src, d.at.line}])
		}
		d.at = pos{} // who keeps the diagnostics keeps no files
	}
}

// result returns what was gathered: file by file as they were read, from top to
// bottom. The problems of the cluster section stay in the order of its rules, the
// general ones first.
func (c *collector) result(cluster pos) Diagnostics {
	c.excerpts()
	files := map[string]int{}
	for i := range c.list {
		if _, ok := files[c.list[i].File]; !ok {
			files[c.list[i].File] = len(files)
		}
	}
	line := func(d *Diagnostic) int {
		if strings.HasPrefix(d.Key, "cluster.") && cluster.src != nil && d.File == cluster.src.name {
			return int(cluster.line)
		}
		return d.Line
	}
	slices.SortStableFunc(c.list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(line(&a), line(&b)))
	})
	if c.dropped > 0 {
		severity := Warning
		if c.errors > 0 {
			severity = Error
		}
		c.list = append(c.list, Diagnostic{
			Severity: severity, caret: -1,
			Message: fmt.Sprintf("%d further problems are not shown", c.dropped),
		})
	}
	return c.list
}

// quote returns text for a message: quoted, shortened, without control characters.
func quote(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return strconv.Quote(text)
}
