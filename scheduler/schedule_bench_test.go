package scheduler

import (
	"fmt"
	"testing"
	"time"
)

func mustParse(t testing.TB, text string, rule DayMatch) *Schedule {
	t.Helper()
	s, err := ParseSchedule(text, rule)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func mustTime(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func BenchmarkParseSchedule(b *testing.B) {
	for _, text := range []string{"*/5 * * * *", "0 30 6 1,15,L * mon-fri 2026-2030", "@daily"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseSchedule(text, DayMatchAnd); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	s := mustParse(b, "*/5 1-20/3 * * mon-fri", DayMatchAnd)
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Canonical()
	}
}

func BenchmarkNext(b *testing.B) {
	for _, text := range []string{
		"* * * * * * *", // the next second
		"*/5 * * * *",
		"30 2 * * *",
		"0 9 LW * *",
		"0 0 29 2 1 *", // years away
		"0 0 30 2 *",   // never
	} {
		for _, zone := range []string{"UTC", "Europe/Berlin"} {
			b.Run(fmt.Sprintf("%s/%s", text, zone), func(b *testing.B) {
				s, loc := mustParse(b, text, DayMatchAnd), mustZone(b, zone)
				from := mustTime(b, "2026-05-01T00:00:00Z")
				at := from
				b.ReportAllocs()
				for b.Loop() {
					if at = s.Next(at, loc); at.IsZero() || at.Year() > 2090 {
						at = from
					}
				}
			})
		}
	}
}

func BenchmarkTimetable(b *testing.B) {
	const jobs = 10000
	loc := mustZone(b, "Europe/Berlin")
	list := make([]*Job, jobs)
	for i := range list {
		text := fmt.Sprintf("%d %d * * *", i%60, i/60%24)
		if i%2 == 0 {
			text = "* * * * *" // due at every minute
		}
		list[i] = &Job{Name: fmt.Sprint("job-", i), Enabled: true, Schedule: mustParse(b, text, DayMatchAnd), Timezone: "Europe/Berlin", Location: loc}
	}
	now := mustTime(b, "2026-05-01T00:00:30Z")
	b.Run("New", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewTimetable(list, now)
		}
	})
	b.Run("Replace", func(b *testing.B) {
		t := NewTimetable(list, now)
		b.ReportAllocs()
		for b.Loop() {
			t.Replace(list, now)
		}
	})
	b.Run("Due", func(b *testing.B) { // a minute with about 5,000 due jobs
		t := NewTimetable(list, now)
		at := now
		b.ReportAllocs()
		for b.Loop() {
			at = at.Add(time.Minute)
			if n := len(t.Due(at)); n != 1 {
				b.Fatalf("%d batches", n)
			}
		}
	})
	b.Run("Idle", func(b *testing.B) {
		t := NewTimetable(list, now)
		b.ReportAllocs()
		for b.Loop() {
			if t.Due(now) != nil || t.Next().IsZero() {
				b.Fatal("something is due")
			}
		}
	})
	b.Run("Suspended for a year", func(b *testing.B) {
		at := now
		t := NewTimetable(list, now)
		b.ReportAllocs()
		for b.Loop() {
			if at = at.AddDate(1, 0, 0); at.Year() > 2090 {
				at = now
				t = NewTimetable(list, now)
				at = at.AddDate(1, 0, 0)
			}
			if len(t.Due(at)) == 0 {
				b.Fatal("nothing is due")
			}
		}
	})
}
