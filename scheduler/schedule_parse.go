package scheduler

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// maxScheduleText bounds the text of a schedule, in bytes. Listing every value of
// every field takes less than 1,200.
const maxScheduleText = 4096

// macro is a name for a schedule.
type macro struct{ name, fields string }

var macros = [...]macro{
	{"@yearly", "0 0 1 1 *"},
	{"@annually", "0 0 1 1 *"},
	{"@monthly", "0 0 1 * *"},
	{"@weekly", "0 0 * * 0"},
	{"@daily", "0 0 * * *"},
	{"@midnight", "0 0 * * *"},
	{"@hourly", "0 * * * *"},
}

// ParseSchedule parses a schedule of one of these forms:
//
//   - five fields: minute, hour, day of month, month, day of week;
//   - six fields: the same and the year;
//   - seven fields: second, then those six;
//   - @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly;
//   - @every and a duration of whole seconds such as 90s or 1h30m, counted from
//     the start of 1970 in UTC;
//   - @reboot.
//
// A field is a comma-separated list of *, */step, value, value/step, low-high and
// low-high/step; months and days of the week have three-letter names; the two day
// fields may also be "?". Day of month takes L (last day), L-n (n days before it),
// nW (the weekday nearest to day n) and LW (the last weekday); day of week takes d#n
// (the n-th of the month) and Ln (the last of the month).
//
// dayMatch says how the two day fields combine. The error is a *ScheduleError.
func ParseSchedule(text string, dayMatch DayMatch) (*Schedule, error) {
	p := parser{text: text, s: &Schedule{text: text}}
	if err := p.parse(dayMatch); err != nil {
		return nil, err
	}
	p.s.canonical = p.s.canonicalText()
	return p.s, nil
}

// parser holds what the steps of one ParseSchedule share.
type parser struct {
	text   string // as written, for errors
	s      *Schedule
	parsed [len(fields)]fieldValues
}

// word is a part of the text and where it begins.
type word struct {
	text   string
	offset int
}

// fail makes an error about w; field is nil if it concerns the whole.
func (p *parser) fail(f *field, w word, reason, hint string) error {
	e := &ScheduleError{Text: p.text, Value: w.text, Offset: w.offset, Reason: reason, Hint: hint}
	if f != nil {
		e.Field = f.name
	}
	return e
}

func (p *parser) warn(format string, args ...any) {
	p.s.warnings = append(p.s.warnings, fmt.Sprintf(format, args...))
}

func (p *parser) parse(dayMatch DayMatch) error {
	whole := word{text: p.text}
	switch dayMatch {
	case "", DayMatchAnd, DayMatchOr:
	default:
		return p.fail(nil, whole, fmt.Sprintf("unknown day rule %q", string(dayMatch)), `the day rules are "and" and "or"`)
	}
	if len(p.text) > maxScheduleText {
		return p.fail(nil, whole, fmt.Sprintf("longer than %d bytes", maxScheduleText), "")
	}
	words := split(p.text)
	if len(words) == 0 {
		return p.fail(nil, whole, "empty", `write five fields, such as "0 3 * * *" for every day at 03:00`)
	}
	if strings.HasPrefix(words[0].text, "@") {
		expanded, err := p.macro(words)
		if err != nil || expanded == "" {
			return err
		}
		words = split(expanded)
	}
	return p.fields(words, dayMatch)
}

// split cuts a text at its blanks.
func split(text string) []word {
	var words []word
	begin := -1
	for i, r := range text {
		switch blank := unicode.IsSpace(r); {
		case blank && begin >= 0:
			words = append(words, word{text[begin:i], begin})
			begin = -1
		case !blank && begin < 0:
			begin = i
		}
	}
	if begin >= 0 {
		words = append(words, word{text[begin:], begin})
	}
	return words
}

// macro handles schedules that begin with "@": it returns the fields that one stands
// for, or "" if it has already set what there is to set.
func (p *parser) macro(words []word) (string, error) {
	whole := word{text: p.text}
	if strings.TrimSpace(p.text) != p.text {
		return "", p.fail(nil, whole, "blanks around a macro", fmt.Sprintf("write %q", strings.TrimSpace(p.text)))
	}
	if words[0].text == "@every" {
		return "", p.every(words[1:])
	}
	if p.text == "@reboot" {
		p.s.reboot = true
		return "", nil
	}
	for _, m := range macros {
		if p.text == m.name {
			return m.fields, nil
		}
	}
	hint := "the macros are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @every and @reboot"
	if name := nearestMacro(p.text); name != "" {
		hint = fmt.Sprintf("write %q", name)
	}
	return "", p.fail(nil, whole, "unknown macro", hint)
}

// every parses what follows @every.
func (p *parser) every(words []word) error {
	const example = `write for example "@every 90s" or "@every 1h30m"`
	if len(words) != 1 {
		return p.fail(nil, word{text: p.text}, "@every takes one duration", example)
	}
	w := words[0]
	d, err := time.ParseDuration(w.text)
	if err != nil {
		hint := example
		if digits(w.text) {
			hint = fmt.Sprintf("write %q", w.text+"s")
		} else if days, ok := strings.CutSuffix(w.text, "d"); ok && digits(days) {
			hint = "durations have no days: write hours, 24h for a day"
		}
		return p.fail(nil, w, "not a duration", hint)
	}
	switch {
	case d < time.Second:
		return p.fail(nil, w, "shorter than a second", example)
	case d%time.Second != 0:
		return p.fail(nil, w, "not a whole number of seconds", fmt.Sprintf("write %q", "@every "+d.Truncate(time.Second).String()))
	}
	p.s.every = int64(d / time.Second)
	return nil
}

// fields parses five to seven fields into the schedule.
func (p *parser) fields(words []word, dayMatch DayMatch) error {
	first, last := fieldMinute, fieldDayOfWeek
	switch len(words) {
	case 5:
	case 6:
		last = fieldYear
	case 7:
		first, last = fieldSecond, fieldYear
	default:
		return p.wrongCount(words)
	}
	p.parsed[fieldSecond].set[0] = 1
	p.parsed[fieldYear].all = true
	for i := first; i <= last; i++ {
		v, err := p.field(&fields[i], words[i-first])
		if err != nil {
			if len(words) == 6 {
				p.suggestSeconds(err)
			}
			return err
		}
		p.parsed[i] = v
	}
	if len(words) == 6 && p.parsed[fieldYear].all {
		p.warn("the sixth field is the year; for seconds write seven fields, seconds first: %q", strings.Join(texts(words), " ")+" *")
	}
	p.build(dayMatch)
	return nil
}

func (p *parser) wrongCount(words []word) error {
	whole := word{text: p.text}
	hint := "the fields are minute, hour, day of month, month, day of week; a sixth is the year, and with seven the first is the second"
	reason := fmt.Sprintf("%d fields instead of 5, 6 or 7", len(words))
	if len(words) == 1 {
		reason = "one field instead of 5, 6 or 7"
		if name := nearestMacro("@" + words[0].text); name != "" {
			hint = fmt.Sprintf("write %q", name)
		}
	}
	if strings.ContainsAny(words[0].text[:1], `"'`) {
		hint = "remove the quotes inside the value"
	}
	return p.fail(nil, whole, reason, hint)
}

// build turns the parsed fields into the calendar.
func (p *parser) build(dayMatch DayMatch) {
	s, c := p.s, &p.s.calendar
	set := func(i int, all uint64) uint64 {
		if p.parsed[i].all {
			return all
		}
		return p.parsed[i].set[0]
	}
	c.values.Second = set(fieldSecond, allSixty)
	c.values.Minute = set(fieldMinute, allSixty)
	c.values.Hour = set(fieldHour, allHours)
	c.values.Dom = set(fieldDayOfMonth, allDays)
	c.values.Month = set(fieldMonth, allMonths)
	c.values.Dow = set(fieldDayOfWeek, allWeekday)
	c.years = p.parsed[fieldYear].set
	if p.parsed[fieldYear].all {
		c.years = yearSet{1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	}
	s.fixed = !p.parsed[fieldHour].open && c.values.Hour != allHours &&
		!p.parsed[fieldMinute].open && c.values.Minute != allSixty

	dom, dow := &p.parsed[fieldDayOfMonth], &p.parsed[fieldDayOfWeek]
	c.fromEnd, c.nearWeekday, c.lastWeekday = dom.fromEnd, dom.nearWeekday, dom.lastWeekday
	c.nth, c.lastDow = dow.nth, dow.lastDow
	bothRestricted := !dom.star && !dow.star
	anyDom, anyDow := c.values.Dom == allDays, c.values.Dow == allWeekday
	switch {
	case bothRestricted && dayMatch == DayMatchOr:
		c.either = !anyDom && !anyDow
		if !c.either { // one of them matches every day
			c.values.Dom, c.values.Dow = allDays, allWeekday
		}
	case bothRestricted && !anyDom && !anyDow:
		p.warn("day of month and day of week are both restricted and a day must match both; with dayMatch \"or\" one of them is enough")
	}
	c.simplify()
	if _, ok := c.next(firstCivil); !ok {
		p.warn("no date matches: it never fires")
	}
}

// simplify removes what other members of the calendar say already, so that
// schedules that mean the same look the same.
func (c *calendar) simplify() {
	if c.values.Dom == allDays {
		c.fromEnd, c.nearWeekday, c.lastWeekday = 0, 0, false
	}
	if c.fromEnd&1 != 0 {
		c.values.Dom &^= 1 << 31 // day 31 is the last day wherever it exists
	}
	plain := uint8(c.values.Dow) //nolint:gosec // seven days
	for n := range c.nth {
		c.nth[n] &^= plain
	}
	// The fifth of its kind is the last one.
	c.lastDow &^= plain
	c.nth[5] &^= c.lastDow
}

func texts(words []word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return all
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
