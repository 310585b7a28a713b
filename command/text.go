package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// table prints rows under a header, aligned. Empty cells show as a dash.
func table(w io.Writer, header []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = plain(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush()
}

// pairs prints a name and a value a line, aligned.
func pairs(w io.Writer, rows [][2]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintf(tw, "%s\t%s\n", row[0], plain(row[1]))
	}
	_ = tw.Flush()
}

// plain returns text without anything that a terminal would obey rather than show:
// names and errors come from other machines.
func plain(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }

// setInstant returns the setter of an option that names an instant: in RFC 3339 form,
// as the tables show it, or as a date, which means midnight UTC.
func setInstant(at *time.Time) func(string) error {
	return func(value string) error {
		for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", time.DateOnly} {
			if t, err := time.Parse(layout, value); err == nil {
				*at = t
				return nil
			}
		}
		return errors.New("write it like 2026-03-29T01:30:00Z or 2026-03-29")
	}
}

// ago says in words how long before now an instant was, "" for the zero instant.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(now.Sub(t), 0)
	if d < time.Second {
		return "now"
	}
	return short(d) + " ago"
}

// short writes a duration with its largest unit alone, cut.
func short(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// shortID returns the first digits of a job-set id, enough to compare by eye.
func shortID(id string) string {
	const digits = 12
	if _, hex, ok := strings.Cut(id, ":"); ok {
		id = hex
	}
	return id[:min(len(id), digits)]
}

// count writes a number with its noun, in the plural unless it is one.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
