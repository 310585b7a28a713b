package scheduler

import (
	"fmt"
	"strings"
)

// ScheduleError says what is wrong with a schedule and what to write instead.
type ScheduleError struct {
	Text   string // the whole schedule as written
	Field  string // "minute", "day of month", ...; "" if the whole text is meant
	Value  string // the offending part of Text
	Offset int    // where Value begins in Text, in bytes
	Reason string // what is wrong with Value
	Hint   string // what to do about it; may be ""
}

// Error names the field, the offending text, the reason and the remedy in one line.
func (e *ScheduleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schedule %q: ", shorten(e.Text))
	if e.Field != "" {
		fmt.Fprintf(&b, "%s: ", e.Field)
	}
	if e.Value != "" && e.Value != e.Text {
		fmt.Fprintf(&b, "%q: ", shorten(e.Value))
	}
	b.WriteString(e.Reason)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// shorten keeps a message readable whatever was given as a schedule.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
