package scheduler

import "time"

// SharedBy lists those of jobs that fire whenever a schedule does, and only then, by name:
// those whose schedules mean the same in the same zone.
func SharedBy(jobs []*Job, s *Schedule, zone string) []string {
	var names []string
	for _, j := range jobs {
		if keyOf(j.Schedule, j.Timezone) == keyOf(s, zone) {
			names = append(names, j.Name)
		}
	}
	return names
}

// Busiest returns which of some instants most of the enabled jobs fire at, and how many
// do; the first of several, and the zero time if no job fires at any.
func Busiest(jobs []*Job, instants []time.Time) (at time.Time, firing int) {
	type kind struct {
		job   *Job
		count int
	}
	kinds := map[scheduleKey]*kind{} // most of ten thousand jobs have the schedule of others
	for _, j := range jobs {
		if !j.Enabled || j.Schedule.Reboot() {
			continue
		}
		key := keyOf(j.Schedule, j.Timezone)
		if kinds[key] == nil {
			kinds[key] = &kind{job: j}
		}
		kinds[key].count++
	}
	for _, instant := range instants {
		together := 0
		offsets := map[*time.Location]segment{} // there are few zones, and asking them is slow
		for _, k := range kinds {
			seg, known := offsets[k.job.Location]
			if !known {
				seg = segmentAt(instant.Unix(), k.job.Location)
				offsets[k.job.Location] = seg
			}
			if k.job.Schedule.firesAt(instant.Unix(), seg, k.job.Location) {
				together += k.count
			}
		}
		if together > firing {
			at, firing = instant, together
		}
	}
	return at, firing
}

// firesAt reports whether the instant t, which lies in seg, is a firing.
func (s *Schedule) firesAt(t int64, seg segment, loc *time.Location) bool {
	if s.every > 0 {
		return t >= 0 && t%s.every == 0
	}
	if t-seg.start > slack {
		return s.calendar.matches(t + seg.offset)
	}
	// Near a change of the clock there is more to it.
	at, ok := s.prev(t, loc)
	return ok && at == t
}

// scheduleKey is what schedules with the same firings have in common.
type scheduleKey struct{ canonical, zone string }

func keyOf(s *Schedule, zone string) scheduleKey {
	if s.reboot || s.every > 0 {
		zone = "" // it fires by no zone's clock
	}
	return scheduleKey{s.canonical, zone}
}
