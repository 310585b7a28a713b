package scheduler

import (
	"time"

	"github.com/robfig/cron/v3"
)

// DayMatch says how the two day fields of a schedule combine.
type DayMatch string

// The day rules. The empty value counts as DayMatchAnd.
const (
	// DayMatchAnd: a day must match both fields.
	DayMatchAnd DayMatch = "and"
	// DayMatchOr is cron's rule: if both fields are restricted (neither holds a
	// "*"), a day that matches one of them is enough.
	DayMatchOr DayMatch = "or"
)

// Schedule says when a job fires. It knows no time zone: the zone is an argument of
// the methods that ask about instants. A Schedule is immutable and safe for
// concurrent use; make one with ParseSchedule.
//
// Firings lie on whole seconds of the years 1970 to 2099, local time. When the clock
// of a zone changes, a schedule with fixed hour and minute (see FixedTime) still
// fires exactly once for each of its wall times: one that falls into a gap fires at
// the first instant after it, one that comes twice fires the first time. All other
// schedules follow the clock: what a gap leaves out does not fire, what is repeated
// fires again.
type Schedule struct {
	text      string
	reboot    bool
	every     int64 // seconds; 0 unless @every
	calendar  calendar
	fixed     bool
	canonical string
	warnings  []string
}

// String returns the text that the schedule was parsed from.
func (s *Schedule) String() string { return s.text }

// Reboot reports whether the schedule is @reboot, which has no firings in time.
func (s *Schedule) Reboot() bool { return s.reboot }

// FixedTime reports whether both hour and minute are fixed. A field is not fixed if
// it holds "*" or an open step (*/5, 3/5), or if it lists every value.
func (s *Schedule) FixedTime() bool { return s.fixed }

// Next returns the first firing strictly after the instant, in UTC, or the zero time
// if there is none. A nil location means UTC.
func (s *Schedule) Next(after time.Time, loc *time.Location) time.Time {
	if s.reboot {
		return time.Time{}
	}
	from := max(after.Unix()+1, earliest)
	if s.every > 0 {
		at := ceilDiv(max(from, 0), s.every) * s.every
		if at >= latest {
			return time.Time{}
		}
		return time.Unix(at, 0).UTC()
	}
	at, ok := s.next(from, loc)
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// Prev returns the last firing at or before the instant, in UTC, or the zero time if
// there is none. A nil location means UTC.
func (s *Schedule) Prev(until time.Time, loc *time.Location) time.Time {
	if s.reboot {
		return time.Time{}
	}
	to := min(until.Unix(), latest-1)
	if s.every > 0 {
		if to < 0 {
			return time.Time{}
		}
		return time.Unix(to/s.every*s.every, 0).UTC()
	}
	at, ok := s.prev(to, loc)
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// Count returns how many firings there are in (after, until], without visiting each.
func (s *Schedule) Count(after, until time.Time, loc *time.Location) int64 {
	if s.reboot {
		return 0
	}
	from, to := max(after.Unix()+1, earliest), min(until.Unix(), latest-1)
	if from > to {
		return 0
	}
	if s.every > 0 {
		return to/s.every - ceilDiv(max(from, 0), s.every) + 1
	}
	return s.count(from, to, loc)
}

// Newest returns the firings in (after, until], ascending, but only the newest ones
// if there are more than limit, and how many older ones were left out.
func (s *Schedule) Newest(after, until time.Time, loc *time.Location, limit int) (at []time.Time, more int64) {
	for at1 := s.Prev(until, loc); at1.After(after) && len(at) < limit; at1 = s.Prev(at1.Add(-time.Second), loc) {
		at = append(at, at1)
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		at[i], at[j] = at[j], at[i]
	}
	if len(at) == limit {
		if limit > 0 {
			until = at[0].Add(-time.Second)
		}
		more = s.Count(after, until, loc)
	}
	return at, more
}

// NeverFires reports whether the schedule has no firing after the instant. It is
// false for @reboot.
func (s *Schedule) NeverFires(from time.Time, loc *time.Location) bool {
	return !s.reboot && s.Next(from, loc).IsZero()
}

// Warnings lists, in sentences for a person, what the schedule says but probably
// does not mean.
func (s *Schedule) Warnings() []string { return append([]string(nil), s.warnings...) }

// In ties the schedule to a zone, as the interface that cron libraries share.
func (s *Schedule) In(loc *time.Location) cron.Schedule { return zoned{s, loc} }

type zoned struct {
	*Schedule
	loc *time.Location
}

var _ cron.Schedule = zoned{}

// Next implements cron.Schedule.
func (z zoned) Next(after time.Time) time.Time { return z.Schedule.Next(after, z.loc) }

// ceilDiv divides rounding up; b > 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}
