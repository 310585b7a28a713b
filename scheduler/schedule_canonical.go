package scheduler

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Canonical returns a text that equivalent spellings share: macros and their fields,
// names and numbers, 0 and 7 for Sunday, blanks, order and repetitions in lists,
// steps that are spelled out, a day rule that makes no difference. Schedules with one
// canonical text have the same firings in every zone. The text is for comparing and
// hashing; it has the seven fields and what they can't express, and is not meant to
// be parsed.
func (s *Schedule) Canonical() string {
	switch {
	case s.reboot:
		return "@reboot"
	case s.every > 0:
		return "@every " + (time.Duration(s.every) * time.Second).String()
	}
	c := &s.calendar
	dom := listValues(c.values.Dom, allDays)
	for k := range 31 {
		switch {
		case c.fromEnd&(1<<k) == 0:
		case k == 0:
			dom = append(dom, "L")
		default:
			dom = append(dom, fmt.Sprintf("L-%d", k))
		}
	}
	for n := 1; n <= 31; n++ {
		if c.nearWeekday&(1<<n) != 0 {
			dom = append(dom, fmt.Sprintf("%dW", n))
		}
	}
	if c.lastWeekday {
		dom = append(dom, "LW")
	}
	dow := listValues(c.values.Dow, allWeekday)
	for d := range 7 {
		for n, set := range c.nth {
			if set&(1<<d) != 0 {
				dow = append(dow, fmt.Sprintf("%d#%d", d, n))
			}
		}
		if c.lastDow&(1<<d) != 0 {
			dow = append(dow, fmt.Sprintf("L%d", d))
		}
	}
	fields := []string{
		strings.Join(listValues(c.values.Second, allSixty), ","),
		strings.Join(listValues(c.values.Minute, allSixty), ","),
		strings.Join(listValues(c.values.Hour, allHours), ","),
		orNone(dom),
		strings.Join(listValues(c.values.Month, allMonths), ","),
		orNone(dow),
		c.years.String(),
	}
	if c.either {
		fields = append(fields, "either-day")
	}
	if !s.fixed && c.values.Minute != allSixty && c.values.Hour != allHours {
		fields = append(fields, "follows-clock")
	}
	return strings.Join(fields, " ")
}

// orNone joins a list; a list of nothing, which matches no day, is "none".
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}

// listValues spells a set out as values and ranges, ascending.
func listValues(set, all uint64) []string {
	if set == all {
		return []string{"*"}
	}
	var list []string
	for set != 0 {
		lo := bits.TrailingZeros64(set)
		n := bits.TrailingZeros64(^(set >> lo))
		list = appendRange(list, lo, lo+n-1)
		set &^= (1<<n - 1) << lo
	}
	return list
}

func appendRange(list []string, lo, hi int) []string {
	if lo == hi {
		return append(list, strconv.Itoa(lo))
	}
	return append(list, fmt.Sprintf("%d-%d", lo, hi))
}

// String spells the years out as values and ranges, ascending.
func (y *yearSet) String() string {
	var list []string
	for lo := firstYear; lo <= lastYear; lo++ {
		if !y.has(lo) {
			continue
		}
		hi := lo
		for y.has(hi + 1) {
			hi++
		}
		if lo == firstYear && hi == lastYear {
			return "*"
		}
		list = appendRange(list, lo, hi)
		lo = hi
	}
	return strings.Join(list, ",")
}
