package scheduler

import (
	"strings"
	"testing"
	"time"
)

// TestScheduleClockChanges spells out what happens where clocks change, in local
// time with its offset, one row per schedule and place.
func TestScheduleClockChanges(t *testing.T) {
	for _, c := range []struct {
		name, zone, text string
		after            string
		want             []string
	}{
		{"a fixed time in the gap runs right after it", "Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"several fixed times in the gap run once", "Europe/Berlin", "0,20,40 2 * * *", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"with seconds too", "Europe/Berlin", "*/10 59 2 * * * *", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:59:00+02:00", "2026-03-30T02:59:10+02:00"}},
		{"a fixed time at the end of the gap runs once", "Europe/Berlin", "0,30 2,3 * * *", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"the gap counts for its own day", "Europe/Berlin", "30 2 29 3 *", "2026-01-01T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2027-03-29T02:30:00+02:00"}},
		{"a wildcard hour follows the clock over the gap", "Europe/Berlin", "30 * * * *", "2026-03-29T01:00:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
		{"so do stepped hours", "Europe/Berlin", "0 */2 * * *", "2026-03-28T23:59:00+01:00",
			[]string{"2026-03-29T00:00:00+01:00", "2026-03-29T04:00:00+02:00", "2026-03-29T06:00:00+02:00"}},
		{"so do wildcard minutes", "Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-30T02:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"a fixed time runs in the first pass", "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"not again when asked between the passes", "Europe/Berlin", "30 2 * * *", "2026-10-25T02:45:00+02:00",
			[]string{"2026-10-26T02:30:00+01:00"}},
		{"nor when asked in the second pass", "Europe/Berlin", "30 2 * * *", "2026-10-25T02:10:00+01:00",
			[]string{"2026-10-26T02:30:00+01:00"}},
		{"a wildcard hour follows the clock through both passes", "Europe/Berlin", "30 * * * *", "2026-10-25T01:45:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		{"the end of the repeated hour is not in it", "Europe/Berlin", "0 3 * * *", "2026-10-25T00:00:00+02:00",
			[]string{"2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"}},
		{"New York, gap", "America/New_York", "30 2 * * *", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"New York, repeat", "America/New_York", "30 1 * * *", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"Dublin counts winter as the exception", "Europe/Dublin", "30 1 * * *", "2026-10-24T12:00:00+01:00",
			[]string{"2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00"}},
		{"Lord Howe changes by half an hour, gap", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"Lord Howe, no gap at 02:45", "Australia/Lord_Howe", "45 2 * * *", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:45:00+11:00"}},
		{"Lord Howe, repeat", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00+11:00",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"Lord Howe, every hour", "Australia/Lord_Howe", "45 * * * *", "2026-04-05T01:00:00+11:00",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30"}},
		{"Troll changes by two hours", "Antarctica/Troll", "0 1,2 * * *", "2026-03-28T12:00:00+00:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T01:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"São Paulo had no midnight", "America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00-03:00",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"São Paulo repeated the hour before midnight", "America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00:00-02:00",
			[]string{"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}},
		{"São Paulo, the midnight after it is one", "America/Sao_Paulo", "@daily", "2018-02-17T12:00:00-02:00",
			[]string{"2018-02-18T00:00:00-03:00", "2018-02-19T00:00:00-03:00"}},
		{"Beirut has no midnight in spring", "Asia/Beirut", "@daily", "2026-03-28T12:00:00+02:00",
			[]string{"2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"}},
		{"Beirut, every hour", "Asia/Beirut", "@hourly", "2026-03-28T22:30:00+02:00",
			[]string{"2026-03-28T23:00:00+02:00", "2026-03-29T01:00:00+03:00"}},
		{"Havana repeats midnight", "America/Havana", "@daily", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"}},
		{"Samoa left out 30 December 2011", "Pacific/Apia", "0 12 * * *", "2011-12-29T00:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
		{"Samoa, a job of that day", "Pacific/Apia", "0 12 30 12 *", "2011-12-01T00:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"}},
		{"Samoa, every hour", "Pacific/Apia", "@hourly", "2011-12-29T22:30:00-10:00",
			[]string{"2011-12-29T23:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T01:00:00+14:00"}},
		{"Caracas moved by half an hour for good", "America/Caracas", "45 2 * * *", "2016-04-30T12:00:00-04:30",
			[]string{"2016-05-01T03:00:00-04:00", "2016-05-02T02:45:00-04:00"}},
		{"Pyongyang moved forward at 23:30", "Asia/Pyongyang", "45 23 * * *", "2018-05-04T12:00:00+08:30",
			[]string{"2018-05-05T00:00:00+09:00", "2018-05-05T23:45:00+09:00"}},
		{"Kathmandu has a quarter of an hour", "Asia/Kathmandu", "0 */6 * * *", "2026-05-01T00:00:00+05:45",
			[]string{"2026-05-01T06:00:00+05:45", "2026-05-01T12:00:00+05:45"}},
		{"Casablanca goes back for Ramadan", "Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00:00+01:00",
			[]string{"2026-02-15T02:30:00+01:00", "2026-02-16T02:30:00+00:00"}},
		{"the last day of a leap year far ahead", "Europe/Berlin", "30 2 31 12 *", "2043-12-31T12:00:00+01:00",
			[]string{"2044-12-31T02:30:00+01:00", "2045-12-31T02:30:00+01:00"}},
		{"a leap year far ahead, in the south", "Australia/Sydney", "30 2 * * *", "2044-12-30T12:00:00+11:00",
			[]string{"2044-12-31T02:30:00+11:00", "2045-01-01T02:30:00+11:00"}},
		{"clock changes far ahead", "America/New_York", "30 2 * * *", "2096-03-10T12:00:00-05:00",
			[]string{"2096-03-11T03:00:00-04:00", "2096-03-12T02:30:00-04:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, loc := mustParse(t, c.text, DayMatchAnd), mustZone(t, c.zone)
			after := mustTime(t, c.after)
			at := after
			var all []time.Time
			for _, w := range c.want {
				want := mustTime(t, w)
				_, offset := want.In(loc).Zone()
				if written, err := time.Parse(time.RFC3339, w); err != nil || written.Format("-07:00") != want.In(loc).Format("-07:00") {
					t.Fatalf("%s is not local time: the offset there is %d s (%v)", w, offset, err)
				}
				if at = s.Next(at, loc); !at.Equal(want) {
					t.Fatalf("%v, want %s", at.In(loc), w)
				}
				all = append(all, at)
			}
			if back, _ := s.Newest(after, at, loc, 100); difference(back, all) != "" {
				t.Errorf("backwards: %s", difference(back, all))
			}
			if n := s.Count(after, at, loc); n != int64(len(all)) {
				t.Errorf("count %d, want %d", n, len(all))
			}
		})
	}
}

// In the second pass of a repeated hour the last firing may be one of the first pass
// that the clock does not show yet.
func TestSchedulePrevBetweenPasses(t *testing.T) {
	loc := mustZone(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"30 2/21 25 10 *":  "2026-10-25T02:30:00+02:00", // follows the clock, the one before is a year ago
		"30 2 25 10 *":     "2026-10-25T02:30:00+02:00", // fixed
		"5 2/21 25 10 *":   "2026-10-25T02:05:00+01:00",
		"5 2 25 10 *":      "2026-10-25T02:05:00+02:00",
		"30 1-23/22 * * *": "2026-10-25T01:30:00+02:00",
	} {
		if got := mustParse(t, text, DayMatchAnd).Prev(mustTime(t, "2026-10-25T02:10:00+01:00"), loc); !got.Equal(mustTime(t, want)) {
			t.Errorf("%q: %v, want %s", text, got.In(loc), want)
		}
	}
}

func TestUpcomingNotes(t *testing.T) {
	for _, c := range []struct {
		zone, text, from string
		want             []string // local time and a part of the note
	}{
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00Z", []string{
			"28 02:30 CET|", "29 03:00 CEST|02:30 does not exist, as the clock goes from 02:00 to 03:00: runs right after that", "30 02:30 CEST|"}},
		{"Europe/Berlin", "0,15,30 2 * * *", "2026-03-28T12:00:00Z", []string{
			"29 03:00 CEST|3 times from 02:00 on do not exist, as the clock goes from 02:00 to 03:00: runs once, right after that", "30 02:00 CEST|"}},
		{"Europe/Berlin", "30 4 * * *", "2026-03-28T12:00:00Z", []string{"29 04:30 CEST|"}},
		{"Europe/Berlin", "30 2,4 * * *", "2026-03-28T12:00:00Z", []string{"29 03:00 CEST|02:30 does not exist", "29 04:30 CEST|"}},
		{"Europe/Berlin", "30 * * * *", "2026-03-29T00:00:00Z", []string{
			"29 01:30 CET|", "29 03:30 CEST|02:30 was left out, as the clock goes from 02:00 to 03:00", "29 04:30 CEST|"}},
		{"Europe/Berlin", "*/20 * * * *", "2026-03-29T00:30:00Z", []string{
			"29 01:40 CET|", "29 03:00 CEST|3 times from 02:00 on were left out", "29 03:20 CEST|"}},
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", []string{
			"25 02:30 CEST|02:30 comes twice, as the clock goes back from 03:00 to 02:00: runs only now, the first time", "26 02:30 CET|"}},
		{"Europe/Berlin", "30 * * * *", "2026-10-24T23:00:00Z", []string{
			"25 01:30 CEST|", "25 02:30 CEST|the first time", "25 02:30 CET|02:30 comes twice, as the clock went back from 03:00 to 02:00: the second time", "25 03:30 CET|"}},
		{"Pacific/Apia", "0 12 * * *", "2011-12-29T12:00:00Z", []string{
			"29 12:00 -10|", "31 00:00 +14|2011-12-30 12:00 does not exist, as the clock goes from 2011-12-30 00:00 to 2011-12-31 00:00", "31 12:00 +14|"}},
		{"Africa/Monrovia", "10 0 * * *", "1972-01-06T12:00:00Z", []string{
			"07 00:44 GMT|00:10 does not exist, as the clock goes from 00:00 to 00:44:30: runs right after that", "08 00:10 GMT|"}},
		{"UTC", "30 2 * * *", "2026-03-28T00:00:00Z", []string{"28 02:30 UTC|"}},
		{"Europe/Berlin", "@every 1h", "2026-10-24T23:30:00Z", []string{"25 02:00 CEST|", "25 02:00 CET|"}},
		{"Europe/Berlin", "@reboot", "2026-10-24T23:30:00Z", nil},
	} {
		loc := mustZone(t, c.zone)
		got := Upcoming(mustParse(t, c.text, DayMatchAnd), loc, mustTime(t, c.from), len(c.want))
		if len(got) != len(c.want) {
			t.Errorf("%q in %s: %d, want %d", c.text, c.zone, len(got), len(c.want))
			continue
		}
		for i, o := range got {
			local, note, _ := strings.Cut(c.want[i], "|")
			if o.Local.Format("02 15:04 MST") != local || !o.At.Equal(o.Local) || o.At.Location() != time.UTC ||
				!strings.Contains(o.Note, note) || note == "" && o.Note != "" {
				t.Errorf("%q in %s: %s|%s, want %s", c.text, c.zone, o.Local.Format("02 15:04 MST"), o.Note, c.want[i])
			}
		}
	}
	if got := Upcoming(mustParse(t, "0 0 1 1 * 2027", DayMatchAnd), nil, mustTime(t, "2026-01-01T00:00:00Z"), 5); len(got) != 1 {
		t.Errorf("%d firings of a single one", len(got))
	}
	if got := Upcoming(mustParse(t, "* * * * *", DayMatchAnd), nil, mustTime(t, "2026-01-01T00:00:00Z"), 0); got != nil {
		t.Errorf("none asked for, got %v", got)
	}
}
