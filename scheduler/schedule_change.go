package scheduler

import (
	"math"
	"time"
)

// ClockChange is a change of the clock that leaves out, moves or repeats firings.
type ClockChange struct {
	At    time.Time  // of the change, in the zone that it happens in
	First Occurrence // the first firing that it concerns, with a note
}

// Changes lists what changes of the clock in (from, until] do to a schedule. Schedules that
// fire in every hour are not surprised by any, and a nil location has none.
func Changes(s *Schedule, loc *time.Location, from, until time.Time) []ClockChange {
	if s.reboot || s.every > 0 || s.calendar.values.Hour == allHours {
		return nil
	}
	var list []ClockChange
	for seg := segmentAt(max(from.Unix(), earliest), loc); seg.end != math.MaxInt64 && seg.end <= min(until.Unix(), latest-1); {
		after := segmentAt(seg.end, loc)
		// Of a clock that is set back, the firings before that come twice.
		back := max(0, seg.offset-after.offset)
		at := s.Next(time.Unix(seg.end-back-1, 0), loc)
		if note := s.noteOf(at, loc); after.offset != seg.offset && note != "" {
			list = append(list, ClockChange{time.Unix(seg.end, 0).In(loc), Occurrence{At: at, Local: at.In(loc), Note: note}})
		}
		seg = after
	}
	return list
}

func (s *Schedule) noteOf(at time.Time, loc *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return s.note(at.Unix(), loc)
}
