package scheduler

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		zone, text string
		want       []string // local time and note
	}{
		{"Europe/Berlin", "30 2 * * *", []string{
			"2026-03-29 03:00 CEST|02:30 does not exist, as the clock goes from 02:00 to 03:00: runs right after that",
			"2026-10-25 02:30 CEST|02:30 comes twice, as the clock goes back from 03:00 to 02:00: runs only now, the first time",
		}},
		{"Europe/Berlin", "*/15 2 * * *", []string{
			"2026-03-30 02:00 CEST|4 times from 2026-03-29 02:00 on were left out, as the clock goes from 02:00 to 03:00",
			"2026-10-25 02:00 CEST|02:00 comes twice, as the clock goes back from 03:00 to 02:00: the first time",
		}},
		{"Europe/Berlin", "0 */2 * * *", []string{
			"2026-03-29 04:00 CEST|02:00 was left out, as the clock goes from 02:00 to 03:00",
			"2026-10-25 02:00 CEST|02:00 comes twice, as the clock goes back from 03:00 to 02:00: the first time",
		}},
		{"Europe/Berlin", "30 4 * * *", nil},
		{"Europe/Berlin", "30 2 * * mon", nil},
		{"Europe/Berlin", "30 * * * *", nil},
		{"Europe/Berlin", "*/5 * * * *", nil},
		{"Europe/Berlin", "@every 1h", nil},
		{"Europe/Berlin", "@reboot", nil},
		{"Asia/Tokyo", "30 2 * * *", nil},
		{"UTC", "30 2 * * *", nil},
		{"Australia/Lord_Howe", "45 1 * * *", []string{
			"2026-04-05 01:45 +11|01:45 comes twice, as the clock goes back from 02:00 to 01:30: runs only now, the first time",
		}},
	} {
		from := mustTime(t, "2026-01-01T00:00:00Z")
		got := Changes(mustParse(t, c.text, DayMatchAnd), mustZone(t, c.zone), from, from.AddDate(1, 0, 0))
		if len(got) != len(c.want) {
			t.Errorf("%q in %s: %+v", c.text, c.zone, got)
			continue
		}
		for i, o := range got {
			if text := o.First.Local.Format("2006-01-02 15:04 MST") + "|" + o.First.Note; text != c.want[i] {
				t.Errorf("%q in %s: %s, want %s", c.text, c.zone, text, c.want[i])
			}
			if days := o.First.At.Sub(o.At).Hours() / 24; days < -1 || days > 2 {
				t.Errorf("%q in %s: changed at %v, and the firing is at %v", c.text, c.zone, o.At, o.First.At)
			}
		}
	}
	if got := Changes(mustParse(t, "30 2 * * *", DayMatchAnd), nil, time.Unix(0, 0), time.Unix(1<<40, 0)); got != nil {
		t.Errorf("without a zone: %v", got)
	}
}

// Changes finds what going through all firings of a year finds.
func TestChangesAreThoseOfAllFirings(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Asia/Beirut", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %s * * *",
			rapid.SampledFrom([]string{"0", "30", "59", "*/20", "0,45"}).Draw(t, "minute"),
			rapid.SampledFrom([]string{"0", "1", "2", "3", "1-3", "*/2", "0,2,23"}).Draw(t, "hour"))
		s, err := ParseSchedule(text, DayMatchAnd)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(rapid.IntRange(2005, 2040).Draw(t, "year"), 1, 15, 0, 0, 0, 0, time.UTC)
		until := from.AddDate(1, 0, 0)
		var want []time.Time
		for _, o := range Upcoming(s, loc, from, 366*24*3) {
			if o.At.After(until) {
				break
			}
			// Of the firings that one change concerns, the first is told.
			if o.Note != "" && (len(want) == 0 || o.At.Sub(want[len(want)-1]) > 48*time.Hour) {
				want = append(want, o.At)
			}
		}
		got := Changes(s, loc, from, until)
		if len(got) != len(want) {
			t.Fatalf("%s in %s: %v, want %v", text, zone, got, want)
		}
		for i := range got {
			if !got[i].First.At.Equal(want[i]) || got[i].First.Note == "" {
				t.Errorf("%s in %s: %v, want %v", text, zone, got[i], want[i])
			}
		}
	})
}
