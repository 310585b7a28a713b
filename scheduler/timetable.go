package scheduler

import "time"

// Batch is everything that is due at one instant.
type Batch struct {
	At     time.Time // the scheduled instant, UTC
	Jobs   []*Job    // in configuration order
	Missed []Missed  // older due firings of Jobs
}

// Missed are the due firings of one job that a newer one replaced.
type Missed struct {
	Job      *Job
	At       []time.Time // the newest ones, ascending, UTC
	Unlisted int64       // how many more there were before At[0]
}

// Timetable knows when which job is due.
type Timetable struct{}

// NewTimetable starts at now.
func NewTimetable(jobs []*Job, now time.Time) *Timetable { return nil }

// Next returns the earliest coming firing; zero: none.
func (t *Timetable) Next() time.Time { return time.Time{} }

// NextOf returns the job's coming firing; zero: none.
func (t *Timetable) NextOf(job *Job) time.Time { return time.Time{} }

// Due returns what is due at now, ascending.
func (t *Timetable) Due(now time.Time) []Batch { return nil }

// Replace swaps the jobs; call Due(now) first.
func (t *Timetable) Replace(jobs []*Job, now time.Time) {}

// HeldSince returns since when this very (name, schedule, zone) is held; zero: not held.
func (t *Timetable) HeldSince(job *Job) time.Time { return time.Time{} }

// Past lists the job's firings in (from, to], ascending, the newest ones at most.
func (t *Timetable) Past(job *Job, from, to time.Time) []time.Time { return nil }
