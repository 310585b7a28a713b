package scheduler

import (
	"errors"
	"time"
)

// DayMatch says how the two day fields of a schedule combine.
type DayMatch string

// The day rules. The zero value counts as DayMatchAnd.
const (
	DayMatchAnd DayMatch = "and" // a day must match both fields
	DayMatchOr  DayMatch = "or"  // either field is enough when both are restricted
)

// Schedule is a parsed schedule.
type Schedule struct{}

// ScheduleError says what is wrong with a schedule and what to write instead.
type ScheduleError struct {
	Text   string // the whole schedule as written
	Field  string // "minute", "day of month", ...; "" if the whole text is meant
	Value  string // the offending part of Text
	Offset int    // of Value in Text, in bytes
	Reason string // what is wrong
	Hint   string // what to write instead; may be ""
}

func (e *ScheduleError) Error() string { return e.Reason }

// ParseSchedule parses a schedule.
func ParseSchedule(text string, dayMatch DayMatch) (*Schedule, error) {
	return nil, errors.New("not yet")
}

// Reboot reports whether the schedule is @reboot.
func (s *Schedule) Reboot() bool { return false }

// Next returns the first firing strictly after the instant, in UTC.
func (s *Schedule) Next(after time.Time, loc *time.Location) time.Time { return time.Time{} }

// Prev returns the last firing at or before the instant, in UTC.
func (s *Schedule) Prev(until time.Time, loc *time.Location) time.Time { return time.Time{} }

// Canonical is equal for equivalent spellings.
func (s *Schedule) Canonical() string { return "" }

// FixedTime reports whether hour and minute are fixed.
func (s *Schedule) FixedTime() bool { return false }

// Warnings lists what is probably not meant.
func (s *Schedule) Warnings() []string { return nil }

// NeverFires reports whether no firing follows the instant.
func (s *Schedule) NeverFires(from time.Time, loc *time.Location) bool { return false }

// Occurrence is one coming firing.
type Occurrence struct {
	At    time.Time // UTC
	Local time.Time // the same instant in the job's zone
	Note  string    // "" or what a clock change does to it
}

// Upcoming lists the next n firings.
func Upcoming(s *Schedule, loc *time.Location, from time.Time, n int) []Occurrence { return nil }
