package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// modelJob follows one job by trying every minute and remembering every firing.
type modelJob struct {
	oracle
	job      *Job
	position time.Time // firings up to here are done with
	last     time.Time
	had      map[time.Time]bool
}

// setBack is the rule for a clock that goes back to now.
func (m *modelJob) setBack(now time.Time) {
	m.position = now
	if m.fixed || !m.last.After(now) || m.last.Sub(now) >= time.Minute {
		return
	}
	// No schedule of five fields has a period of less than a minute.
	m.position = m.last
}

// due returns the firings that are due at now, ascending.
func (m *modelJob) due(now time.Time) []time.Time {
	var list []time.Time
	for at := m.position.Truncate(time.Minute).Add(time.Minute); !at.After(now); at = at.Add(time.Minute) {
		if m.match(at) && !(m.fixed && m.had[at]) {
			list = append(list, at)
		}
	}
	if len(list) > 0 {
		m.last = list[len(list)-1]
		m.had[m.last] = true
	}
	if m.position.Before(now) {
		m.position = now
	}
	return list
}

// TestTimetableModel plays random clocks and reloads and compares every answer.
func TestTimetableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		var pool []oracle
		for range rapid.IntRange(1, 4).Draw(t, "schedules") {
			pool = append(pool, drawSchedule(t, 5, 2, 9, 10))
		}
		names := []string{"a", "b", "c"}
		current := map[string]*modelJob{}
		var order []string
		draw := func() []*Job {
			order = rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(1, 3).Draw(t, "jobs")]
			next := map[string]*modelJob{}
			var jobs []*Job
			for _, name := range order {
				o := rapid.SampledFrom(pool).Draw(t, "schedule of "+name)
				s, err := ParseSchedule(o.text, o.rule)
				if err != nil {
					t.Fatal(err)
				}
				job := &Job{Name: name, Enabled: true, Schedule: s, Timezone: "UTC", Location: time.UTC}
				jobs = append(jobs, job)
				m := current[name]
				if m == nil || m.job.Schedule.Canonical() != s.Canonical() {
					m = &modelJob{oracle: o, position: now, had: map[time.Time]bool{}}
				}
				m.job = job
				next[name] = m
			}
			current = next
			return jobs
		}
		table := NewTimetable(draw(), now)
		var story []string
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			before := now
			reload := false
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0: // the clock is set
				now = now.Add(time.Duration(rapid.IntRange(-3*3600, 3*3600).Draw(t, "seconds")) * time.Second)
			case 1: // it is corrected
				now = now.Add(time.Duration(rapid.IntRange(-90, 0).Draw(t, "seconds")) * time.Second)
			case 2:
				reload = true
				now = now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "seconds")) * time.Second)
			case 3: // suspended
				now = now.Add(time.Duration(rapid.IntRange(0, 86400).Draw(t, "seconds")) * time.Second)
			default: // to the next firing, as a dispatcher does
				if next := table.Next(); next.After(now) && next.Sub(now) < 48*time.Hour {
					now = next
				} else {
					now = now.Add(time.Minute)
				}
			}
			story = append(story, now.Format("02 15:04:05"))
			if now.Before(before) {
				for _, m := range current {
					m.setBack(now)
				}
			}
			if reload {
				story = append(story, "reload")
				table.Replace(draw(), now)
			}

			type row struct {
				at   time.Time
				text string
			}
			var want []row
			for i, name := range order {
				list := current[name].due(now)
				if len(list) == 0 {
					continue
				}
				last := len(list) - 1
				listed := list[max(0, last-maxMissed):last]
				want = append(want, row{list[last], fmt.Sprintf("%v %d %s %v +%d", list[last], i, name, listed, last-len(listed))})
			}
			slices.SortStableFunc(want, func(a, b row) int { return a.at.Compare(b.at) })
			var got []row
			instants := map[time.Time]bool{}
			for _, b := range table.Due(now) {
				if instants[b.At] {
					t.Fatalf("two batches at %v", b.At)
				}
				instants[b.At] = true
				for _, job := range b.Jobs {
					if current[job.Name] == nil || current[job.Name].job != job {
						t.Fatalf("%s is not the job of the newest configuration", job.Name)
					}
					missed := Missed{At: []time.Time{}}
					for _, m := range b.Missed {
						if m.Job == job {
							missed = m
						}
					}
					got = append(got, row{b.At, fmt.Sprintf("%v %d %s %v +%d", b.At, slices.Index(order, job.Name), job.Name, missed.At, missed.Unlisted)})
				}
			}
			if !slices.Equal(got, want) {
				var schedules []string
				for _, name := range order {
					schedules = append(schedules, fmt.Sprintf("%s %q", name, current[name].text))
				}
				t.Fatalf("%s\nclock: %s\n got %v\nwant %v", strings.Join(schedules, ", "), strings.Join(story, ", "), got, want)
			}
			if next := table.Next(); !next.IsZero() && !next.After(now) {
				t.Fatalf("at %v the next firing is %v", now, next)
			}
		}
	})
}
