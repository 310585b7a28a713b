package scheduler

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	firstYear = 1970
	lastYear  = 2099

	secondsPerDay = 24 * 60 * 60

	// Offsets of zones lie well within two days of UTC and of each other.
	slack = 2 * secondsPerDay

	// The civil times that schedules range over, as seconds since 1970 that take
	// the wall clock for UTC.
	firstCivil = 0
	endCivil   = 4102444800 // 2100-01-01

	// Instants outside [earliest, latest) can't be firings in any zone.
	earliest = firstCivil - slack
	latest   = endCivil + slack
)

// calendar is a schedule without a clock: the set of civil (wall clock) times that
// match. Civil times are seconds since 1970 as if the wall clock were UTC.
type calendar struct {
	// The plain values of each field; bit n stands for value n.
	values cron.SpecSchedule
	years  yearSet

	// Days of the month counted from its end or moved to a working day.
	fromEnd     uint32 // bit n: n days before the last day
	nearWeekday uint32 // bit n: the weekday nearest to day n
	lastWeekday bool   // the last Monday to Friday

	// Days of the week within the month; bit d stands for weekday d.
	nth     [6]uint8 // nth[n]: only the n-th of the month, n from 1
	lastDow uint8    // only the last of the month

	either bool // one matching day field is enough
}

// yearSet holds years; bit 0 of the first word is firstYear.
type yearSet [3]uint64

func (y *yearSet) has(year int) bool {
	i := year - firstYear
	return i >= 0 && i <= lastYear-firstYear && y[i/64]&(1<<(i%64)) != 0
}

const (
	allHours   = 1<<24 - 1
	allSixty   = 1<<60 - 1
	allDays    = 1<<32 - 2
	allMonths  = 1<<13 - 2
	allWeekday = 1<<7 - 1
)

// next returns the first matching civil time at or after w.
func (c *calendar) next(w int64) (int64, bool) {
	w = max(w, firstCivil)
	if w >= endCivil {
		return 0, false
	}
	y, m, d := time.Unix(w, 0).UTC().Date()
	if c.matchesDay(y, m, d) {
		if t, ok := c.nextTime(int(w % secondsPerDay)); ok {
			return w - w%secondsPerDay + int64(t), true
		}
	}
	d++
	for ; y <= lastYear; y, m, d = y+1, time.January, 1 {
		if !c.years.has(y) {
			continue
		}
		for ; m <= time.December; m, d = m+1, 1 {
			if c.values.Month&(1<<m) == 0 {
				continue
			}
			if rest := c.days(y, m) >> d; rest != 0 {
				d += bits.TrailingZeros32(rest)
				t, ok := c.nextTime(0)
				return civil(y, m, d) + int64(t), ok
			}
		}
	}
	return 0, false
}

// prev returns the last matching civil time at or before w.
func (c *calendar) prev(w int64) (int64, bool) {
	w = min(w, endCivil-1)
	if w < firstCivil {
		return 0, false
	}
	y, m, d := time.Unix(w, 0).UTC().Date()
	if c.matchesDay(y, m, d) {
		if t, ok := c.prevTime(int(w % secondsPerDay)); ok {
			return w - w%secondsPerDay + int64(t), true
		}
	}
	// From here on d is exclusive.
	for ; y >= firstYear; y, m, d = y-1, time.December, 32 {
		if !c.years.has(y) {
			continue
		}
		for ; m >= time.January; m, d = m-1, 32 {
			if c.values.Month&(1<<m) == 0 {
				continue
			}
			if rest := c.days(y, m) & (1<<d - 1); rest != 0 {
				d = bits.Len32(rest) - 1
				t, ok := c.prevTime(secondsPerDay - 1)
				return civil(y, m, d) + int64(t), ok
			}
		}
	}
	return 0, false
}

// matches reports whether the civil time w matches.
func (c *calendar) matches(w int64) bool {
	if w < firstCivil || w >= endCivil {
		return false
	}
	second := w % secondsPerDay
	if c.values.Second&(1<<(second%60)) == 0 || c.values.Minute&(1<<(second/60%60)) == 0 || c.values.Hour&(1<<(second/3600)) == 0 {
		return false
	}
	return c.matchesDay(time.Unix(w, 0).UTC().Date())
}

// any reports whether a civil time in [from, to) matches.
func (c *calendar) any(from, to int64) bool {
	at, ok := c.next(from)
	return ok && at < to
}

// count returns how many civil times in [from, to) match.
func (c *calendar) count(from, to int64) int64 {
	from, to = max(from, firstCivil), min(to, endCivil)
	if from >= to {
		return 0
	}
	// Count whole days, then take off what lies before from and from to on.
	perDay := int64(c.timesBefore(secondsPerDay))
	y, m, d := time.Unix(from, 0).UTC().Date()
	endY, endM, endD := time.Unix(to-1, 0).UTC().Date()
	var n int64
	for first := true; y < endY || y == endY && m <= endM; first = false {
		if c.years.has(y) && c.values.Month&(1<<m) != 0 {
			days := c.days(y, m)
			if first {
				days &^= 1<<d - 1
			}
			if y == endY && m == endM {
				days &= 1<<(endD+1) - 1
			}
			n += perDay * int64(bits.OnesCount32(days))
		}
		if m++; m > time.December {
			y, m = y+1, time.January
		}
	}
	if fy, fm, fd := time.Unix(from, 0).UTC().Date(); c.matchesDay(fy, fm, fd) {
		n -= int64(c.timesBefore(int(from % secondsPerDay)))
	}
	if c.matchesDay(endY, endM, endD) {
		n -= perDay - int64(c.timesBefore(int((to-1)%secondsPerDay)+1))
	}
	return n
}

func (c *calendar) matchesDay(y int, m time.Month, d int) bool {
	return c.years.has(y) && c.values.Month&(1<<m) != 0 && c.days(y, m)&(1<<d) != 0
}

// days returns the matching days of a month; bit d stands for day d.
func (c *calendar) days(y int, m time.Month) uint32 {
	first := civil(y, m, 1) / secondsPerDay
	length := daysIn(y, m)
	inMonth := uint32(1<<(length+1) - 2)

	dom := uint32(c.values.Dom) //nolint:gosec // days 1 to 31, without the bit of a star
	if c.values.Dow == allWeekday && c.fromEnd|c.nearWeekday == 0 && !c.lastWeekday {
		return dom & inMonth
	}
	weekday := func(d int) time.Weekday { return time.Weekday((first + int64(d) - 1 + 4) % 7) }
	for rest := c.fromEnd; rest != 0; rest &= rest - 1 {
		if d := length - bits.TrailingZeros32(rest); d >= 1 {
			dom |= 1 << d
		}
	}
	for rest := c.nearWeekday; rest != 0; rest &= rest - 1 {
		d := bits.TrailingZeros32(rest)
		if d > length {
			break
		}
		switch weekday(d) {
		case time.Saturday:
			if d--; d == 0 {
				d = 3
			}
		case time.Sunday:
			if d++; d > length {
				d -= 3
			}
		}
		dom |= 1 << d
	}
	if c.lastWeekday {
		d := length
		switch weekday(d) {
		case time.Saturday:
			d--
		case time.Sunday:
			d -= 2
		}
		dom |= 1 << d
	}

	var dow uint32
	for wd := range 7 {
		bit := uint8(1) << wd
		d := 1 + (wd-int(weekday(1))+7)%7 // its first one
		// Seven days apart, five at most.
		all := uint32((1|1<<7|1<<14|1<<21|1<<28)<<uint64(d)) & inMonth //nolint:gosec // d is 1 to 7
		if uint8(c.values.Dow)&bit != 0 {                              //nolint:gosec // seven days
			dow |= all
			continue
		}
		for n := 1; n <= 5; n++ {
			if c.nth[n]&bit != 0 {
				dow |= all & (1 << (d + 7*(n-1)))
			}
		}
		if c.lastDow&bit != 0 {
			dow |= 1 << (bits.Len32(all) - 1)
		}
	}
	if c.either {
		return (dom | dow) & inMonth
	}
	return dom & dow & inMonth
}

// nextTime returns the first matching time of day at or after tod, in seconds.
func (c *calendar) nextTime(tod int) (int, bool) {
	v := &c.values
	h, m, s := tod/3600, tod/60%60, tod%60
	if v.Hour&(1<<h) != 0 {
		if v.Minute&(1<<m) != 0 {
			if s := bitFrom(v.Second, s); s >= 0 {
				return h*3600 + m*60 + s, true
			}
		}
		if m := bitFrom(v.Minute, m+1); m >= 0 {
			return h*3600 + m*60 + bitFrom(v.Second, 0), v.Second != 0
		}
	}
	if h = bitFrom(v.Hour, h+1); h < 0 || v.Minute == 0 || v.Second == 0 {
		return 0, false
	}
	return h*3600 + bitFrom(v.Minute, 0)*60 + bitFrom(v.Second, 0), true
}

// prevTime returns the last matching time of day at or before tod, in seconds.
func (c *calendar) prevTime(tod int) (int, bool) {
	v := &c.values
	h, m, s := tod/3600, tod/60%60, tod%60
	if v.Hour&(1<<h) != 0 {
		if v.Minute&(1<<m) != 0 {
			if s := bitUpTo(v.Second, s); s >= 0 {
				return h*3600 + m*60 + s, true
			}
		}
		if m := bitUpTo(v.Minute, m-1); m >= 0 {
			return h*3600 + m*60 + bitUpTo(v.Second, 59), v.Second != 0
		}
	}
	if h = bitUpTo(v.Hour, h-1); h < 0 || v.Minute == 0 || v.Second == 0 {
		return 0, false
	}
	return h*3600 + bitUpTo(v.Minute, 59)*60 + bitUpTo(v.Second, 59), true
}

// timesBefore returns how many matching times of day lie before tod.
func (c *calendar) timesBefore(tod int) int {
	v := &c.values
	h, m, s := tod/3600, tod/60%60, tod%60
	minutes, seconds := bits.OnesCount64(v.Minute), bits.OnesCount64(v.Second)
	n := bits.OnesCount64(v.Hour&(1<<h-1)) * minutes * seconds
	if v.Hour&(1<<h) != 0 {
		n += bits.OnesCount64(v.Minute&(1<<m-1)) * seconds
		if v.Minute&(1<<m) != 0 {
			n += bits.OnesCount64(v.Second & (1<<s - 1))
		}
	}
	return n
}

// bitFrom returns the lowest set bit at or above from, or -1.
func bitFrom(set uint64, from int) int {
	if rest := set >> from; rest != 0 {
		return from + bits.TrailingZeros64(rest)
	}
	return -1
}

// bitUpTo returns the highest set bit at or below to, or -1.
func bitUpTo(set uint64, to int) int {
	return bits.Len64(set&(1<<(to+1)-1)) - 1
}

// civil returns the start of a day as civil time.
func civil(y int, m time.Month, d int) int64 {
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
}

func daysIn(y int, m time.Month) int {
	switch m {
	case time.April, time.June, time.September, time.November:
		return 30
	case time.February:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
