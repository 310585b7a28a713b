package scheduler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// suggestSeconds points an error about six fields at their order if the text makes
// sense with the second in front.
func (p *parser) suggestSeconds(err error) {
	var e *ScheduleError
	if !errors.As(err, &e) {
		return
	}
	seven := strings.Join(texts(split(p.text)), " ") + " *"
	if _, err := ParseSchedule(seven, ""); err == nil {
		e.Hint = fmt.Sprintf("six fields end with the year (minute, hour, day of month, month, day of week, year); if the first one is meant as seconds, write %q", seven)
	}
}

// rangeHint proposes something for a number that the field does not have.
func rangeHint(f *field, n int) string {
	switch {
	case f.index == fieldHour && n == 24:
		return `write "0" for midnight`
	case n == 60 && f.max == 59:
		return `write "0"`
	case f.index == fieldDayOfMonth && n > f.max:
		return `write "L" for the last day`
	case f.index == fieldYear && n < 100:
		return "write all four digits"
	}
	return ""
}

// strangerHint proposes something for a text that is neither number nor name.
func (p *parser) strangerHint(f *field, text string) string {
	for i := range fields {
		other := &fields[i]
		if len(text) < 3 || other.names == "" {
			continue
		}
		n, ok := other.named(text[:3])
		if !ok || !strings.HasPrefix(longName(other, n), text) {
			continue
		}
		if other == f {
			return fmt.Sprintf("write %q", text[:3])
		}
		return fmt.Sprintf("%q belongs in the field %s; the order is minute, hour, day of month, month, day of week", text, other.name)
	}
	switch text[0] {
	case '"', '\'':
		return "remove the quotes inside the value"
	case 'h':
		if text == "h" || text[1] == '(' {
			return "hashed values are not supported: write a number"
		}
	case 'l', 'w', 'z', '#':
		return "L, W and # belong in the day fields"
	case '-', '+':
		return "numbers have no sign"
	}
	if strings.Contains(text, "~") {
		return "random values are not supported: write a number"
	}
	return "values are " + f.allowed()
}

// longName is the English name that a three-letter name abbreviates.
func longName(f *field, n int) string {
	if f.index == fieldMonth {
		return [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}[n-1]
	}
	return [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}[n]
}

// reversedHint spells out what a range from > to probably means.
func reversedHint(f *field, from, to string, lo, hi int) string {
	if f.index == fieldYear {
		return fmt.Sprintf("write %q", to+"-"+from)
	}
	first, last := strconv.Itoa(f.min), strconv.Itoa(f.max)
	low := f.min
	_, named := f.named(from)
	if named {
		first, last = f.nameOf(f.min), f.nameOf(f.max)
	}
	if f.index == fieldDayOfWeek { // the first part reaches Sunday already
		low = 1
		first = "1"
		if named {
			first = "mon"
		}
	}
	upper, lower := from+"-"+last, first+"-"+to
	if lo == f.max {
		upper = from
	}
	if hi == low {
		lower = to
	}
	return fmt.Sprintf("write %q", upper+","+lower)
}

// nearestMacro returns the macro that was probably meant, or "".
func nearestMacro(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	best, least := "", 3
	for _, m := range append(macros[:], macro{name: "@reboot"}) {
		if d := distance(text, m.name); d < least {
			best, least = m.name, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between two short texts.
func distance(a, b string) int {
	if len(a) > 2*len(b) {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
