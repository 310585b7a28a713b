package scheduler

import (
	"slices"
	"time"
)

// entry is the position of one job in the timetable.
type entry struct {
	job   *Job
	index int       // in the configuration
	held  time.Time // since when
	next  time.Time // the coming firing; zero: none
	last  time.Time // the newest firing handed out; zero: none

	// What was handed out of a schedule with fixed times: all its firings within
	// each span. In the usual course of time this is a single growing span; a clock
	// that jumps ahead begins another.
	had []span
}

// maxSpans bounds an entry's memory. Only a clock that jumped ahead and back as many
// times makes the oldest be forgotten.
const maxSpans = 16

// span is a closed interval.
type span struct{ from, to time.Time }

func (s span) contains(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// firing is what an entry hands out: its newest due firing and the older ones.
type firing struct {
	at     time.Time
	index  int
	missed Missed
}

// take hands out what is due at now and moves on; e.next is not after now.
func (e *entry) take(now time.Time) firing {
	s, loc := e.job.Schedule, e.job.Location
	f := firing{at: e.next, index: e.index, missed: Missed{Job: e.job}}
	first := e.next
	e.next = e.following(first)
	if !e.next.IsZero() && !e.next.After(now) {
		f.at = e.preceding(s.Prev(now, loc))
		older := e.preceding(f.at.Add(-time.Second))
		for !older.Before(first) && len(f.missed.At) < maxMissed {
			f.missed.At = append(f.missed.At, older)
			older = e.preceding(older.Add(-time.Second))
		}
		slices.Reverse(f.missed.At)
		f.missed.Unlisted = e.fresh(first, f.missed.At[0].Add(-time.Second))
		e.next = e.following(f.at)
	}
	e.record(f.at)
	return f
}

// following returns the first firing after t that was not handed out.
func (e *entry) following(t time.Time) time.Time {
	at := e.job.Schedule.Next(t, e.job.Location)
	for i := 0; i < len(e.had) && !at.IsZero(); i++ {
		if e.had[i].contains(at) {
			at = e.job.Schedule.Next(e.had[i].to, e.job.Location)
		}
	}
	return at
}

// preceding returns the last firing at or before the firing t that was not handed out.
func (e *entry) preceding(t time.Time) time.Time {
	at := e.job.Schedule.Prev(t, e.job.Location)
	for i := len(e.had) - 1; i >= 0 && !at.IsZero(); i-- {
		if e.had[i].contains(at) {
			at = e.job.Schedule.Prev(e.had[i].from.Add(-time.Second), e.job.Location)
		}
	}
	return at
}

// fresh counts the firings in [from, to] that were not handed out.
func (e *entry) fresh(from, to time.Time) int64 {
	s, loc := e.job.Schedule, e.job.Location
	n := s.Count(from.Add(-time.Second), to, loc)
	for _, h := range e.had {
		if h.from.Before(from) {
			h.from = from
		}
		if h.to.After(to) {
			h.to = to
		}
		n -= s.Count(h.from.Add(-time.Second), h.to, loc)
	}
	return n
}

// record notes that at was handed out. The spans are disjoint and ascending, and two
// have at least one other firing between them.
func (e *entry) record(at time.Time) {
	e.last = at
	s, loc := e.job.Schedule, e.job.Location
	if !s.FixedTime() {
		return
	}
	i, _ := slices.BinarySearchFunc(e.had, at, func(h span, at time.Time) int { return h.to.Compare(at) })
	before := i > 0 && s.Next(e.had[i-1].to, loc).Equal(at)
	after := i < len(e.had) && s.Next(at, loc).Equal(e.had[i].from)
	switch {
	case before && after:
		e.had[i-1].to = e.had[i].to
		e.had = slices.Delete(e.had, i, i+1)
	case before:
		e.had[i-1].to = at
	case after:
		e.had[i].from = at
	default:
		if len(e.had) == maxSpans {
			if i == 0 {
				return // older than all that is remembered
			}
			e.had = slices.Delete(e.had, 0, 1)
			i--
		}
		e.had = slices.Insert(e.had, i, span{at, at})
	}
}

// setBack finds the place to go on from after the clock was set back to now.
func (e *entry) setBack(now time.Time) {
	s, loc := e.job.Schedule, e.job.Location
	if !s.FixedTime() && e.last.After(now) && e.last.Sub(now) < smallStep {
		if period := s.Next(e.last, loc).Sub(e.last); e.last.Sub(now) < period {
			now = e.last
		}
	}
	e.next = e.following(now)
}
