package scheduler

import (
	"fmt"
	"strconv"
	"strings"
)

// The fields in the order of the seven-field form.
const (
	fieldSecond = iota
	fieldMinute
	fieldHour
	fieldDayOfMonth
	fieldMonth
	fieldDayOfWeek
	fieldYear
)

// field describes one position of a schedule.
type field struct {
	index    int
	name     string
	min, max int
	names    string // three letters each, from the value min on
}

var fields = [...]field{
	{fieldSecond, "second", 0, 59, ""},
	{fieldMinute, "minute", 0, 59, ""},
	{fieldHour, "hour", 0, 23, ""},
	{fieldDayOfMonth, "day of month", 1, 31, ""},
	{fieldMonth, "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{fieldDayOfWeek, "day of week", 0, 7, "sunmontuewedthufrisat"},
	{fieldYear, "year", firstYear, lastYear, ""},
}

// fieldValues is what a field selects.
type fieldValues struct {
	all  bool // every value, whatever else is listed
	star bool // "*" or "?" occurs, maybe with a step: cron's mark of an open day field
	open bool // "*" or an open step occurs
	set  [3]uint64

	fromEnd, nearWeekday uint32 // as in calendar
	lastWeekday          bool
	nth                  [6]uint8
	lastDow              uint8
}

// add selects a value of f.
func (v *fieldValues) add(f *field, n int) {
	switch f.index {
	case fieldYear:
		n -= firstYear
	case fieldDayOfWeek:
		n %= 7
	}
	v.set[n/64] |= 1 << (n % 64)
}

// field parses one field.
func (p *parser) field(f *field, w word) (fieldValues, error) {
	var v fieldValues
	for offset := w.offset; ; {
		text, rest, more := strings.Cut(w.text[offset-w.offset:], ",")
		item := word{text, offset}
		if text == "" {
			return v, p.fail(f, w, "an empty list item", "remove the superfluous comma")
		}
		if err := p.item(f, &v, item); err != nil {
			return v, err
		}
		if !more {
			return v, nil
		}
		offset = w.offset + len(w.text) - len(rest)
	}
}

// item parses one element of a field's list into v.
func (p *parser) item(f *field, v *fieldValues, w word) error {
	text := lower(w.text)
	switch {
	case text == "*":
		v.all, v.star, v.open = true, true, true
		return nil
	case text == "?":
		if f.index != fieldDayOfMonth && f.index != fieldDayOfWeek {
			return p.fail(f, w, `"?" is for the two day fields only`, `write "*"`)
		}
		v.all, v.star = true, true
		return nil
	}
	var done bool
	var err error
	switch f.index {
	case fieldDayOfMonth:
		done, err = p.monthDayItem(f, v, w, text)
	case fieldDayOfWeek:
		done, err = p.weekdayItem(f, v, w, text)
	}
	if done || err != nil {
		return err
	}
	return p.rangeItem(f, v, w, text)
}

// rangeItem parses the forms that all fields share.
func (p *parser) rangeItem(f *field, v *fieldValues, w word, text string) error {
	base, step, stepped := strings.Cut(text, "/")
	from, to, ranged := strings.Cut(base, "-")
	var lo, hi int
	switch {
	case base == "*":
		lo, hi = f.min, f.top()
	case base == "?":
		return p.fail(f, w, `"?" takes no step`, fmt.Sprintf("write %q", "*/"+step))
	default:
		var err error
		if lo, err = p.value(f, w, from); err != nil {
			return err
		}
		hi = lo
		if ranged {
			if hi, err = p.value(f, w, to); err != nil {
				return err
			}
		} else if stepped {
			hi = f.top()
			if lo > hi {
				return p.fail(f, w, "Sunday begins the week in a stepped value", fmt.Sprintf("write %q", "0/"+step))
			}
		}
	}
	if ranged {
		if f.index == fieldDayOfWeek && hi == 0 {
			hi = 7 // Sunday also ends the week
			if lo == 0 {
				p.warn("day of week: %q is the whole week, Sunday to Sunday; write %q for Sunday alone", w.text, from)
			}
		}
		if lo > hi {
			return p.fail(f, w, "the range runs backwards", reversedHint(f, from, to, lo, hi))
		}
	}
	if !stepped {
		for n := lo; n <= hi; n++ {
			v.add(f, n)
		}
		return nil
	}
	n, err := p.step(f, w, step, lo)
	if err != nil {
		return err
	}
	if base == "*" {
		v.star = true
	}
	if !ranged {
		v.open = true
	}
	for ; lo <= hi; lo += n {
		v.add(f, lo)
	}
	return nil
}

// top is the highest value that "*" and open steps reach.
func (f *field) top() int {
	if f.index == fieldDayOfWeek {
		return 6
	}
	return f.max
}

// step parses a step that starts at the value from.
func (p *parser) step(f *field, w word, text string, from int) (int, error) {
	if !digits(text) {
		return 0, p.fail(f, w, fmt.Sprintf("%q is not a step", text), "a step is a whole number from 1 on")
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == 0:
		return 0, p.fail(f, w, "a step of 0", fmt.Sprintf("a step is at least 1; write \"*\" for every %s", f.unit()))
	case err != nil || from+n > f.max:
		hint := fmt.Sprintf("write %q", strconv.Itoa(from))
		if f.names != "" && from <= f.top() && strings.ContainsAny(w.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			hint = fmt.Sprintf("write %q", f.nameOf(from))
		}
		if most := f.max - from; most >= 1 {
			hint += fmt.Sprintf(", or a step of at most %d", most)
		}
		return 0, p.fail(f, w, fmt.Sprintf("a step of %s from %d goes past %d", text, from, f.max), hint)
	}
	return n, nil
}

// unit is what one value of the field is called.
func (f *field) unit() string {
	if f.index == fieldDayOfMonth || f.index == fieldDayOfWeek {
		return "day"
	}
	return f.name
}

// value parses a number or a name; w is the item it stands in.
func (p *parser) value(f *field, w word, text string) (int, error) {
	if n, ok := f.named(text); ok {
		return n, nil
	}
	at := p.within(w, text)
	switch {
	case text == "":
		hint := fmt.Sprintf("values are %s", f.allowed())
		return 0, p.fail(f, w, "a value is missing", hint)
	case !digits(text):
		return 0, p.fail(f, at, "not a value of this field", p.strangerHint(f, text))
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, p.fail(f, at, fmt.Sprintf("out of range, values are %s", f.allowed()), rangeHint(f, n))
	}
	return n, nil
}

// within finds a (lower-cased) part of an item again, as it was written.
func (p *parser) within(w word, part string) word {
	if i := strings.Index(lower(w.text), part); i >= 0 {
		return word{w.text[i : i+len(part)], w.offset + i}
	}
	return w
}

// lower lower-cases ASCII letters byte by byte, so that offsets stay what they were
// even in text that is no UTF-8.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// named returns the value of a three-letter name.
func (f *field) named(text string) (int, bool) {
	if len(text) != 3 {
		return 0, false
	}
	for i := 0; i < len(f.names); i += 3 {
		if f.names[i:i+3] == text {
			return f.min + i/3, true
		}
	}
	return 0, false
}

func (f *field) nameOf(n int) string {
	i := 3 * (n - f.min)
	if f.index == fieldDayOfWeek {
		i = 3 * (n % 7)
	}
	return f.names[i : i+3]
}

// allowed describes the values of the field.
func (f *field) allowed() string {
	s := fmt.Sprintf("%d to %d", f.min, f.max)
	switch f.index {
	case fieldMonth:
		s += " or jan to dec"
	case fieldDayOfWeek:
		s += " or sun to sat"
	}
	return s
}
