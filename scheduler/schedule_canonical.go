package scheduler

import (
	"math/bits"
	"strconv"
	"time"
)

// Canonical returns a text that equivalent spellings share: macros and their fields,
// names and numbers, 0 and 7 for Sunday, blanks, order and repetitions in lists,
// steps that are spelled out, a day rule that makes no difference. Schedules with one
// canonical text have the same firings in every zone. The text is for comparing and
// hashing; it has the seven fields and what they can't express, and is not meant to
// be parsed.
func (s *Schedule) Canonical() string { return s.canonical }

// canonicalText builds what Canonical returns.
func (s *Schedule) canonicalText() string {
	switch {
	case s.reboot:
		return "@reboot"
	case s.every > 0:
		return "@every " + (time.Duration(s.every) * time.Second).String()
	}
	c := &s.calendar
	b := make(canonicalBuffer, 0, 64)
	for _, f := range [...]struct{ set, all uint64 }{
		{c.values.Second, allSixty}, {c.values.Minute, allSixty}, {c.values.Hour, allHours},
	} {
		b.values(f.set, f.all)
		b = append(b, ' ')
	}
	b.monthDays(c)
	b = append(b, ' ')
	b.values(c.values.Month, allMonths)
	b = append(b, ' ')
	b.weekdays(c)
	b = append(b, ' ')
	b.years(&c.years)
	if c.either {
		b = append(b, " either-day"...)
	}
	if !s.fixed && c.values.Minute != allSixty && c.values.Hour != allHours {
		b = append(b, " follows-clock"...)
	}
	return string(b)
}

// canonicalBuffer collects a canonical text.
type canonicalBuffer []byte

// next separates the elements of a list.
func (b *canonicalBuffer) next() {
	if n := len(*b); n > 0 && (*b)[n-1] != ' ' {
		*b = append(*b, ',')
	}
}

// element adds an element with up to two numbers: lo if it is not negative, what
// stands between, hi if it is not negative.
func (b *canonicalBuffer) element(lo int, between string, hi int) {
	b.next()
	if lo >= 0 {
		*b = strconv.AppendInt(*b, int64(lo), 10)
	}
	*b = append(*b, between...)
	if hi >= 0 {
		*b = strconv.AppendInt(*b, int64(hi), 10)
	}
}

func (b *canonicalBuffer) span(lo, hi int) {
	if lo == hi {
		b.element(lo, "", -1)
		return
	}
	b.element(lo, "-", hi)
}

// values spells a set out as values and ranges, ascending.
func (b *canonicalBuffer) values(set, all uint64) {
	if set == all {
		*b = append(*b, '*')
		return
	}
	for set != 0 {
		lo := bits.TrailingZeros64(set)
		n := bits.TrailingZeros64(^(set >> lo))
		b.span(lo, lo+n-1)
		set &^= (1<<n - 1) << lo
	}
}

func (b *canonicalBuffer) monthDays(c *calendar) {
	b.values(c.values.Dom, allDays)
	for rest := c.fromEnd; rest != 0; rest &= rest - 1 {
		if k := bits.TrailingZeros32(rest); k > 0 {
			b.element(-1, "L-", k)
		} else {
			b.element(-1, "L", -1)
		}
	}
	for rest := c.nearWeekday; rest != 0; rest &= rest - 1 {
		b.element(bits.TrailingZeros32(rest), "W", -1)
	}
	if c.lastWeekday {
		b.element(-1, "LW", -1)
	}
}

func (b *canonicalBuffer) weekdays(c *calendar) {
	begin := len(*b)
	b.values(c.values.Dow, allWeekday)
	for d := range 7 {
		for n, set := range c.nth {
			if set&(1<<d) != 0 {
				b.element(d, "#", n)
			}
		}
		if c.lastDow&(1<<d) != 0 {
			b.element(-1, "L", d)
		}
	}
	if len(*b) == begin { // no day at all
		*b = append(*b, "none"...)
	}
}

func (b *canonicalBuffer) years(y *yearSet) {
	for lo := firstYear; lo <= lastYear; lo++ {
		if !y.has(lo) {
			continue
		}
		hi := lo
		for y.has(hi + 1) {
			hi++
		}
		if lo == firstYear && hi == lastYear {
			*b = append(*b, '*')
			return
		}
		b.span(lo, hi)
		lo = hi
	}
}
