package scheduler

import (
	"slices"
	"time"
)

// position is where one job stands in the timetable.
type position struct {
	job   *Job
	index int       // in the configuration
	held  time.Time // since when
	next  time.Time // the coming firing; zero: none
	last  time.Time // the newest firing handed out; zero: none

	// What was handed out of a schedule with fixed times: all its firings within
	// each stretch. In the usual course of time this is a single growing stretch; a clock
	// that jumps ahead begins another.
	had []stretch
}

// maxStretches bounds a position's memory. Only a clock that jumped ahead and back as many
// times makes the oldest be forgotten.
const maxStretches = 16

// stretch is a closed interval.
type stretch struct{ from, to time.Time }

func (s stretch) contains(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// dueFiring is what a position hands out: its newest due firing and the older ones.
type dueFiring struct {
	at     time.Time
	index  int
	missed Missed
}

// take hands out what is due at now and moves on; p.next is not after now.
func (p *position) take(now time.Time) dueFiring {
	s, loc := p.job.Schedule, p.job.Location
	f := dueFiring{at: p.next, index: p.index, missed: Missed{Job: p.job}}
	first := p.next
	p.next = p.following(first)
	if !p.next.IsZero() && !p.next.After(now) {
		f.at = p.preceding(s.Prev(now, loc))
		older := p.preceding(f.at.Add(-time.Second))
		for !older.Before(first) && len(f.missed.At) < maxMissed {
			f.missed.At = append(f.missed.At, older)
			older = p.preceding(older.Add(-time.Second))
		}
		slices.Reverse(f.missed.At)
		f.missed.Unlisted = p.fresh(first, f.missed.At[0].Add(-time.Second))
		p.next = p.following(f.at)
	}
	p.record(f.at)
	return f
}

// following returns the first firing after t that was not handed out.
func (p *position) following(t time.Time) time.Time {
	at := p.job.Schedule.Next(t, p.job.Location)
	for i := 0; i < len(p.had) && !at.IsZero(); i++ {
		if p.had[i].contains(at) {
			at = p.job.Schedule.Next(p.had[i].to, p.job.Location)
		}
	}
	return at
}

// preceding returns the last firing at or before the firing t that was not handed out.
func (p *position) preceding(t time.Time) time.Time {
	at := p.job.Schedule.Prev(t, p.job.Location)
	for i := len(p.had) - 1; i >= 0 && !at.IsZero(); i-- {
		if p.had[i].contains(at) {
			at = p.job.Schedule.Prev(p.had[i].from.Add(-time.Second), p.job.Location)
		}
	}
	return at
}

// fresh counts the firings in [from, to] that were not handed out.
func (p *position) fresh(from, to time.Time) int64 {
	s, loc := p.job.Schedule, p.job.Location
	n := s.Count(from.Add(-time.Second), to, loc)
	for _, h := range p.had {
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

// record notes that at was handed out. The stretches are disjoint and ascending, and two
// have at least one other firing between them.
func (p *position) record(at time.Time) {
	p.last = at
	s, loc := p.job.Schedule, p.job.Location
	if !s.FixedTime() {
		return
	}
	i, _ := slices.BinarySearchFunc(p.had, at, func(h stretch, at time.Time) int { return h.to.Compare(at) })
	before := i > 0 && s.Next(p.had[i-1].to, loc).Equal(at)
	after := i < len(p.had) && s.Next(at, loc).Equal(p.had[i].from)
	switch {
	case before && after:
		p.had[i-1].to = p.had[i].to
		p.had = slices.Delete(p.had, i, i+1)
	case before:
		p.had[i-1].to = at
	case after:
		p.had[i].from = at
	default:
		if len(p.had) == maxStretches {
			if i == 0 {
				return // older than all that is remembered
			}
			p.had = slices.Delete(p.had, 0, 1)
			i--
		}
		p.had = slices.Insert(p.had, i, stretch{at, at})
	}
}

// setBack finds the place to go on from after the clock was set back to now.
func (p *position) setBack(now time.Time) {
	s, loc := p.job.Schedule, p.job.Location
	if !s.FixedTime() && p.last.After(now) && p.last.Sub(now) < smallStep {
		if period := s.Next(p.last, loc).Sub(p.last); p.last.Sub(now) < period {
			now = p.last
		}
	}
	p.next = p.following(now)
}
