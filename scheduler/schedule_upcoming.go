package scheduler

import (
	"fmt"
	"math"
	"time"
)

// Occurrence is one coming firing, for people.
type Occurrence struct {
	At    time.Time // UTC
	Local time.Time // the same instant in the job's zone
	Note  string    // what a clock change does to this firing; mostly ""
}

// Upcoming lists the next n firings after an instant, fewer if there are no more.
// Its notes point out the wall times that a clock change left out, moved or repeated.
// A nil location means UTC.
func Upcoming(s *Schedule, loc *time.Location, from time.Time, n int) []Occurrence {
	if loc == nil {
		loc = time.UTC
	}
	var list []Occurrence
	for at := s.Next(from, loc); !at.IsZero() && len(list) < n; at = s.Next(at, loc) {
		list = append(list, Occurrence{At: at, Local: at.In(loc), Note: s.note(at.Unix(), loc)})
	}
	return list
}

// note says what is special about the firing at the instant t.
func (s *Schedule) note(t int64, loc *time.Location) string {
	if s.every > 0 {
		return ""
	}
	seg := segmentAt(t, loc)
	w := t + seg.offset
	if seg.end != math.MaxInt64 {
		if again := seg.end + segmentAt(seg.end, loc).offset; w >= again {
			if s.fixed {
				return fmt.Sprintf("%s comes twice, as the clock goes back from %s to %s: runs only now, the first time",
					wall(w, w), wall(seg.end+seg.offset, w), wall(again, w))
			}
			return fmt.Sprintf("%s comes twice, as the clock goes back from %s to %s: the first time",
				wall(w, w), wall(seg.end+seg.offset, w), wall(again, w))
		}
	}
	if seg.start == math.MinInt64 {
		return ""
	}
	first, shown := seg.start+seg.offset, seg.shown(t, loc)
	if w < shown {
		return fmt.Sprintf("%s comes twice, as the clock went back from %s to %s: the second time",
			wall(w, w), wall(shown, w), wall(first, w))
	}
	left := s.calendar.count(shown, first)
	if shown >= first || left == 0 {
		return ""
	}
	missing, _ := s.calendar.next(shown) // there is one: left > 0
	what := wall(missing, w)
	change := fmt.Sprintf("as the clock goes from %s to %s", wall(shown, first), wall(first, shown))
	switch {
	case s.fixed && t != seg.start:
		return ""
	case s.fixed && left == 1:
		return fmt.Sprintf("%s does not exist, %s: runs right after that", what, change)
	case s.fixed:
		return fmt.Sprintf("%d times from %s on do not exist, %s: runs once, right after that", left, what, change)
	}
	if before, ok := s.prev(t-1, loc); ok && before >= seg.start {
		return ""
	}
	if left == 1 {
		return fmt.Sprintf("%s was left out, %s", what, change)
	}
	return fmt.Sprintf("%d times from %s on were left out, %s", left, what, change)
}

// wall formats a civil time, with its date if that differs from the date of near.
func wall(w, near int64) string {
	at := time.Unix(w, 0).UTC()
	layout := "15:04"
	if w%60 != 0 {
		layout = "15:04:05"
	}
	if w/secondsPerDay != near/secondsPerDay {
		layout = "2006-01-02 " + layout
	}
	return at.Format(layout)
}
