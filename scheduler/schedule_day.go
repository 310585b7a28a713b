package scheduler

import (
	"fmt"
	"strconv"
	"strings"
)

// monthDayItem parses the forms that only the day of month has. It reports whether
// the item was one of them.
func (p *parser) monthDayItem(f *field, v *fieldValues, w word, text string) (bool, error) {
	switch {
	case text == "l":
		v.fromEnd |= 1
	case text == "lw":
		v.lastWeekday = true
	case strings.HasPrefix(text, "l"):
		return true, p.fromLast(f, v, w, text)
	case strings.HasPrefix(text, "z"):
		return true, p.beforeLast(f, v, w, text)
	case strings.HasSuffix(text, "w"):
		return true, p.nearest(f, v, w, strings.TrimSuffix(text, "w"))
	case strings.HasPrefix(text, "w"):
		return false, p.fail(f, w, `"W" follows its day`, `write for example "15W", or "LW" for the last weekday`)
	case strings.Contains(text, "#"):
		return false, p.fail(f, w, `"#" belongs in the day of week`, "")
	default:
		return false, nil
	}
	return true, nil
}

// fromLast parses L-n.
func (p *parser) fromLast(f *field, v *fieldValues, w word, text string) error {
	n, ok := strings.CutPrefix(text, "l-")
	if !ok || !digits(n) {
		return p.fail(f, w, "not a day", `write "L" for the last day, "L-3" for three days before it, "LW" for the last weekday`)
	}
	k, err := strconv.Atoi(n)
	switch {
	case err == nil && k == 0:
		return p.fail(f, w, "no days before the last one", `write "L"`)
	case err != nil || k > 30:
		return p.fail(f, w, "no month is that long", `"L-1" to "L-30" count back from the last day`)
	}
	v.fromEnd |= 1 << k
	return nil
}

// beforeLast parses Zn and Za-b, an older way to write L-n.
func (p *parser) beforeLast(f *field, v *fieldValues, w word, text string) error {
	from, to, ranged := strings.Cut(text[1:], "-")
	if !ranged {
		to = from
	}
	a, okA := digit(from, 7)
	b, okB := digit(to, 7)
	if !okA || !okB || a > b {
		return p.fail(f, w, "not a day", `write "L-3" for three days before the last`)
	}
	var instead []string
	for ; a <= b; a++ {
		v.fromEnd |= 1 << a
		if a == 0 {
			instead = append(instead, "L")
		} else {
			instead = append(instead, "L-"+strconv.Itoa(a))
		}
	}
	p.warn("day of month: %q is an old form, write %q", w.text, strings.Join(instead, ","))
	return nil
}

// nearest parses what stands before W.
func (p *parser) nearest(f *field, v *fieldValues, w word, text string) error {
	if text == "" {
		return p.fail(f, w, `"W" needs a day`, `write for example "15W", or "LW" for the last weekday`)
	}
	if strings.Contains(text, "-") {
		hint := `write for example "15W"`
		if !strings.HasPrefix(text, "l") {
			hint = `write them one by one, such as "14W,15W", or restrict the day of week to mon-fri`
		}
		return p.fail(f, w, `"W" takes a single day`, hint)
	}
	if !digits(text) {
		return p.fail(f, w, "not a day", `write for example "15W"`)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 31 {
		return p.fail(f, w, fmt.Sprintf("out of range, days are %s", f.allowed()), "")
	}
	v.nearWeekday |= 1 << n
	return nil
}

// weekdayItem parses the forms that only the day of week has. It reports whether the
// item was one of them.
func (p *parser) weekdayItem(f *field, v *fieldValues, w word, text string) (bool, error) {
	if day, week, ok := strings.Cut(text, "#"); ok {
		return true, p.nthWeekday(f, v, w, day, week)
	}
	if strings.HasPrefix(text, "l") {
		return true, p.lastWeekdays(f, v, w, text[1:])
	}
	if day, ok := strings.CutSuffix(text, "l"); ok {
		hint := ""
		if d, ok := p.single(f, day); ok {
			hint = fmt.Sprintf("write %q for the last one of the month", "L"+strconv.Itoa(d))
		}
		return false, p.fail(f, w, "not a day", hint)
	}
	if strings.Contains(text, "w") {
		if _, named := f.named(text[:min(3, len(text))]); !named {
			return false, p.fail(f, w, `"W" belongs in the day of month`, `write "mon-fri" for every weekday`)
		}
	}
	return false, nil
}

// nthWeekday parses d#n.
func (p *parser) nthWeekday(f *field, v *fieldValues, w word, day, week string) error {
	d, ok := p.single(f, day)
	if !ok {
		return p.fail(f, w, "not one day", `write one day before "#", such as "mon#1" for the first Monday`)
	}
	n, ok := digit(week, 5)
	if !ok || n == 0 {
		return p.fail(f, w, fmt.Sprintf("a month has no week %q", week),
			fmt.Sprintf("write a week from 1 to 5, or %q for the last one of the month", "L"+strconv.Itoa(d%7)))
	}
	v.nth[n] |= 1 << (d % 7)
	return nil
}

// lastWeekdays parses what follows L: a day, or a range of days.
func (p *parser) lastWeekdays(f *field, v *fieldValues, w word, text string) error {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	a, okA := digit(from, 7)
	b, okB := digit(to, 7)
	if !okA || !okB {
		hint := `write for example "L5" for the last Friday of the month; the last day of the month is "L" in the day of month`
		if d, ok := p.single(f, text); ok {
			hint = fmt.Sprintf("write %q", "L"+strconv.Itoa(d))
		}
		return p.fail(f, w, `"L" needs the number of a day`, hint)
	}
	if a > b {
		p.warn("day of week: %q runs backwards and matches nothing; list the days one by one, such as \"L5,L6,L0\"", w.text)
	}
	for ; a <= b; a++ {
		v.lastDow |= 1 << (a % 7)
	}
	return nil
}

// single parses one number or name of f.
func (p *parser) single(f *field, text string) (int, bool) {
	if n, ok := f.named(text); ok {
		return n, true
	}
	return digit(text, f.max)
}

// digit parses a single digit from 0 to most.
func digit(text string, most int) (int, bool) {
	if len(text) != 1 || !digits(text) || int(text[0]-'0') > most {
		return 0, false
	}
	return int(text[0] - '0'), true
}
