package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// jobOf is a job that has nothing but a schedule.
func jobOf(t testing.TB, name, text, zone string) *Job {
	t.Helper()
	return &Job{Name: name, Enabled: true, Schedule: mustParse(t, text, DayMatchAnd), Timezone: zone, Location: mustZone(t, zone)}
}

func TestSharedBy(t *testing.T) {
	jobs := []*Job{
		jobOf(t, "macro", "@daily", "UTC"),
		jobOf(t, "fields", "0 0 * * *", "UTC"),
		jobOf(t, "elsewhere", "@daily", "Europe/Berlin"),
		jobOf(t, "hourly", "@hourly", "UTC"),
		jobOf(t, "every", "@every 60s", "UTC"),
		jobOf(t, "boot", "@reboot", "UTC"),
		jobOf(t, "off", "00 00 * * *", "UTC"),
	}
	jobs[6].Enabled = false
	for _, c := range []struct {
		text, zone string
		want       []string
	}{
		{"@midnight", "UTC", []string{"macro", "fields", "off"}},
		{"0 0 * * *", "Europe/Berlin", []string{"elsewhere"}},
		{"0 0 * * *", "Asia/Tokyo", nil},
		{"5 * * * *", "UTC", nil},
		{"@every 1m", "Asia/Tokyo", []string{"every"}},
		{"@reboot", "Asia/Tokyo", []string{"boot"}},
	} {
		if got := SharedBy(jobs, mustParse(t, c.text, DayMatchAnd), c.zone); !slices.Equal(got, c.want) {
			t.Errorf("%q in %s: %q, want %q", c.text, c.zone, got, c.want)
		}
	}
}

func TestBusiest(t *testing.T) {
	var jobs []*Job
	for i := range 5 {
		jobs = append(jobs, jobOf(t, fmt.Sprint("night-", i), "0 2 * * *", "UTC"))
	}
	jobs = append(jobs,
		jobOf(t, "berlin", "0 3 * * *", "Europe/Berlin"), // 02:00 UTC in winter
		jobOf(t, "quarter", "*/15 * * * *", "UTC"),
		jobOf(t, "seconds", "*/10 * * * * * *", "UTC"),
		jobOf(t, "boot", "@reboot", "UTC"),
		jobOf(t, "off", "0 2 * * *", "UTC"))
	jobs[len(jobs)-1].Enabled = false
	at := func(text string) time.Time { return mustTime(t, text) }
	for _, c := range []struct {
		instants []time.Time
		at       time.Time
		firing   int
	}{
		{[]time.Time{at("2026-01-10T01:00:00Z"), at("2026-01-10T02:00:00Z"), at("2026-01-11T02:00:00Z")}, at("2026-01-10T02:00:00Z"), 8},
		{[]time.Time{at("2026-07-10T02:00:00Z")}, at("2026-07-10T02:00:00Z"), 7},
		{[]time.Time{at("2026-01-10T00:15:00Z")}, at("2026-01-10T00:15:00Z"), 2},
		{[]time.Time{at("2026-01-10T00:15:10Z")}, at("2026-01-10T00:15:10Z"), 1},
		{[]time.Time{at("2026-01-10T00:15:05Z")}, time.Time{}, 0},
		{nil, time.Time{}, 0},
	} {
		if when, firing := Busiest(jobs, c.instants); !when.Equal(c.at) || firing != c.firing {
			t.Errorf("%v: %d at %v, want %d at %v", c.instants, firing, when, c.firing, c.at)
		}
	}
}

// An instant is a firing if it is the next one after the second before.
func TestFiresAt(t *testing.T) {
	zones := []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom([]string{
			"* * * * *", "30 2 * * *", "*/15 2 * * *", "0 * * * *", "0 0 L * *", "5,10 * * * mon-fri", "0 3 1W * *", "*/7 * * * * * *", "0 0 29 2 * 2028", "@every 7s", "@every 1h",
		}).Draw(t, "schedule")
		s, err := ParseSchedule(text, DayMatchAnd)
		if err != nil {
			t.Fatal(err)
		}
		// Around changes of the clock, and anywhere.
		from := rapid.SampledFrom([]string{"2026-03-29T00:30:00Z", "2026-10-25T00:30:00Z", "2026-04-04T15:00:00Z", "2018-11-04T02:30:00Z", "2028-02-28T22:00:00Z", "1969-12-31T23:50:00Z"}).Draw(t, "from")
		start, err := time.Parse(time.RFC3339, from)
		if err != nil {
			t.Fatal(err)
		}
		at := start.Add(time.Duration(rapid.IntRange(0, 4*3600).Draw(t, "seconds")) * time.Second)
		if rapid.Bool().Draw(t, "a firing") {
			at = s.Next(at, loc)
		}
		want := s.Next(at.Add(-time.Second), loc).Equal(at)
		if got := s.firesAt(at.Unix(), segmentAt(at.Unix(), loc), loc); got != want {
			t.Errorf("%q at %v: %v, want %v", text, at.In(loc), got, want)
		}
	})
}

func BenchmarkBusiest(b *testing.B) {
	const jobs = 10_000
	list := make([]*Job, jobs)
	berlin := mustZone(b, "Europe/Berlin")
	for i := range list {
		list[i] = jobOf(b, fmt.Sprint("job-", i), fmt.Sprintf("%d %d * * %d", i%60, i/60%24, i%7), "Europe/Berlin")
		list[i].Location = berlin // as those of one configuration
	}
	var instants []time.Time
	for i := range 12 {
		instants = append(instants, mustTime(b, "2026-05-01T00:00:00Z").Add(time.Duration(i)*time.Hour))
	}
	for b.Loop() {
		Busiest(list, instants)
	}
}
