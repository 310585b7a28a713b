package scheduler

import (
	"math"
	"time"
)

// segment is a stretch of time over which a zone keeps one offset from UTC.
type segment struct {
	start, end int64 // instants, Unix seconds; math.MinInt64 and MaxInt64 if open
	offset     int64 // local minus UTC, seconds
}

// segmentAt returns the segment of the instant t.
func segmentAt(t int64, loc *time.Location) segment {
	if loc == nil || loc == time.UTC {
		return segment{math.MinInt64, math.MaxInt64, 0}
	}
	at := time.Unix(t, 0).In(loc)
	_, offset := at.Zone()
	start, end := at.ZoneBounds()
	s := segment{math.MinInt64, math.MaxInt64, int64(offset)}
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
		if s.end <= t {
			// ZoneBounds takes every year that is extrapolated from a rule for
			// one of 365 days, so the last day of a leap year lies beyond the
			// end that it reports. A year's last segment does reach to its end.
			s.end = t - t%secondsPerDay + secondsPerDay
		}
	}
	return s
}

// shown returns up to which civil time (exclusive) the clock had got when the segment
// began. It is later than the segment's first civil time if the clock was set back,
// earlier if it was set forward. near is an instant of the segment: far away from its
// start the answer can't matter and is not looked up.
func (s segment) shown(near int64, loc *time.Location) int64 {
	if s.start == math.MinInt64 {
		return math.MinInt64
	}
	if near-s.start > slack {
		return s.start + s.offset
	}
	return s.start + segmentAt(s.start-1, loc).offset
}

// next returns the first firing at or after the instant t.
func (s *Schedule) next(t int64, loc *time.Location) (int64, bool) {
	for t < latest {
		seg := segmentAt(t, loc)
		from := t + seg.offset
		if s.fixed {
			shown := seg.shown(t, loc)
			if t == seg.start && shown < from && s.calendar.any(shown, from) {
				return t, true // right after the gap
			}
			from = max(from, shown)
		}
		w, ok := s.calendar.next(from)
		if ok && w-seg.offset < seg.end {
			return w - seg.offset, true
		}
		if seg.end == math.MaxInt64 {
			return 0, false
		}
		switch {
		case seg.end+seg.offset-from <= slack:
			t = seg.end // there the clock may be set back to before from
		case ok:
			// No civil time before w matches: leave out whole segments.
			t = max(seg.end, w-seg.offset-slack)
		default:
			return 0, false
		}
	}
	return 0, false
}

// prev returns the last firing at or before the instant t.
func (s *Schedule) prev(t int64, loc *time.Location) (int64, bool) {
	for t >= earliest {
		seg := segmentAt(t, loc)
		to := t + seg.offset
		first := int64(math.MinInt64)
		if seg.start != math.MinInt64 {
			first = seg.start + seg.offset
		}
		lowest, shown := first, first
		if s.fixed && first != math.MinInt64 {
			shown = seg.start + segmentAt(seg.start-1, loc).offset
			lowest = max(first, shown)
		}
		w, ok := s.calendar.prev(to)
		if ok && w >= lowest {
			return w - seg.offset, true
		}
		if shown < first && s.calendar.any(shown, first) {
			return seg.start, true
		}
		if seg.start == math.MinInt64 {
			return 0, false
		}
		switch {
		case to-first <= slack:
			t = seg.start - 1 // there the clock may have been ahead of to
		case ok:
			t = min(seg.start-1, w-seg.offset+slack)
		default:
			return 0, false
		}
	}
	return 0, false
}

// count returns how many firings there are at the instants from to to, inclusive.
func (s *Schedule) count(from, to int64, loc *time.Location) int64 {
	var n int64
	for t := from; t <= to; {
		seg := segmentAt(t, loc)
		lo := t + seg.offset
		hi := min(to, seg.end-1) + seg.offset
		if s.fixed {
			shown := seg.shown(t, loc)
			if t == seg.start && shown < lo && !s.calendar.matches(lo) && s.calendar.any(shown, lo) {
				n++
			}
			lo = max(lo, shown)
		}
		n += s.calendar.count(lo, hi+1)
		if seg.end == math.MaxInt64 {
			break
		}
		t = seg.end
	}
	return n
}
