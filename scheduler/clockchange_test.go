package scheduler

import (
	"strings"
	"testing"
	"time"
)

// begins moves the wall clock of a bubble to an instant.
func (h *harness) begins(at time.Time) { h.offset.Store(int64(time.Until(at))) }

// startsOf tells when a job was started by the wall clock, in UTC.
func (h *harness) startsOf(t *testing.T, job string) (texts []string) {
	t.Helper()
	for _, s := range h.runner.all() {
		if s.job != job {
			continue
		}
		at := s.at.Add(time.Duration(h.offset.Load())).UTC()
		if s.firing != at.Format(time.RFC3339) {
			t.Errorf("%s started at %s for the firing of %s", job, at, s.firing)
		}
		texts = append(texts, at.Format("Jan 2 15:04:05"))
	}
	return texts
}

// The dispatcher lives through days of which the calendar made something special.
func TestDaysThatAreNotLikeOthers(t *testing.T) {
	for name, c := range map[string]struct {
		zone  string
		from  string // UTC
		lasts time.Duration
		want  map[string][]string // starts in UTC by schedule
	}{
		"Berlin, spring": {"Europe/Berlin", "2026-03-29T00:00:00Z", 26 * time.Hour, map[string][]string{
			"30 2 * * *":   {"Mar 29 01:00:00", "Mar 30 00:30:00"},
			"15 2 * * 0":   {"Mar 29 01:00:00"},
			"15 1-4 * * *": {"Mar 29 00:15:00", "Mar 29 01:00:00", "Mar 29 01:15:00", "Mar 29 02:15:00", "Mar 29 23:15:00", "Mar 30 00:15:00", "Mar 30 01:15:00"},
		}},
		"Berlin, autumn": {"Europe/Berlin", "2026-10-24T23:00:00Z", 27 * time.Hour, map[string][]string{
			"30 2 * * *":    {"Oct 25 00:30:00", "Oct 26 01:30:00"},
			"0 2 * * *":     {"Oct 25 00:00:00", "Oct 26 01:00:00"},
			"0 */12 25 * *": {"Oct 25 11:00:00"},
		}},
		"New York, spring": {"America/New_York", "2026-03-08T05:30:00Z", 26 * time.Hour, map[string][]string{
			"30 2 * * *": {"Mar 8 07:00:00", "Mar 9 06:30:00"},
			"0 3 * * *":  {"Mar 8 07:00:00", "Mar 9 07:00:00"},
		}},
		"New York, autumn": {"America/New_York", "2026-11-01T04:45:00Z", 26 * time.Hour, map[string][]string{
			"30 1 * * *":    {"Nov 1 05:30:00", "Nov 2 06:30:00"},
			"*/30 * 1 11 *": everyHalfHour("2026-11-01T05:00:00Z", 48),
		}},
		"Lord Howe, half an hour in spring": {"Australia/Lord_Howe", "2026-10-03T14:00:00Z", 26 * time.Hour, map[string][]string{
			"15 2 * * *": {"Oct 3 15:30:00", "Oct 4 15:15:00"},
		}},
		"Lord Howe, half an hour in autumn": {"Australia/Lord_Howe", "2026-04-04T14:00:00Z", 26 * time.Hour, map[string][]string{
			"45 1 * * *": {"Apr 4 14:45:00", "Apr 5 15:15:00"},
		}},
		"Santiago, midnight does not exist": {"America/Santiago", "2026-09-06T02:00:00Z", 26 * time.Hour, map[string][]string{
			"30 0 * * *": {"Sep 6 04:00:00", "Sep 7 03:30:00"},
		}},
		"Santiago, the last hour of a day twice": {"America/Santiago", "2026-04-05T01:00:00Z", 27 * time.Hour, map[string][]string{
			"30 23 * * *": {"Apr 5 02:30:00", "Apr 6 03:30:00"},
		}},
		"Dublin, whose winter is the exception": {"Europe/Dublin", "2026-10-25T00:00:00Z", 26 * time.Hour, map[string][]string{
			"30 1 * * *": {"Oct 25 00:30:00", "Oct 26 01:30:00"},
		}},
		"Apia, a day that was left out": {"Pacific/Apia", "2011-12-29T21:00:00Z", 26 * time.Hour, map[string][]string{
			"0 12 * * *": {"Dec 29 22:00:00", "Dec 30 10:00:00", "Dec 30 22:00:00"},
		}},
		"Kathmandu, a quarter of an hour off": {"Asia/Kathmandu", "2026-05-01T00:00:00Z", 3 * time.Hour, map[string][]string{
			"0 * * * *": {"May 1 00:15:00", "May 1 01:15:00", "May 1 02:15:00"},
		}},
		"leap day": {"UTC", "2028-02-28T00:00:00Z", 3 * 24 * time.Hour, map[string][]string{
			"0 12 29 2 *": {"Feb 29 12:00:00"},
			"0 12 L 2 *":  {"Feb 29 12:00:00"},
			"0 0 * * *":   {"Feb 29 00:00:00", "Mar 1 00:00:00", "Mar 2 00:00:00"},
		}},
		"no leap day": {"UTC", "2026-02-28T00:00:00Z", 2 * 24 * time.Hour, map[string][]string{
			"0 12 29 2 *": nil,
			"0 12 L 2 *":  {"Feb 28 12:00:00"},
		}},
		"no leap day in 2100": {"UTC", "2100-02-28T00:00:00Z", 2 * 24 * time.Hour, map[string][]string{
			"0 12 29 2 *": nil,
		}},
		"end of a year": {"UTC", "2026-12-31T23:59:00Z", 2 * time.Minute, map[string][]string{
			"59 59 23 31 12 * *": {"Dec 31 23:59:59"},
			"@yearly":            {"Jan 1 00:00:00"},
			"0 0 1 1 * 2027":     {"Jan 1 00:00:00"},
			"0 0 1 1 * 2028":     nil,
		}},
		"end of a year where it comes first": {"Pacific/Kiritimati", "2026-12-31T09:59:00Z", 2 * time.Minute, map[string][]string{
			"@yearly": {"Dec 31 10:00:00"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, c.from)
			if err != nil {
				t.Fatal(err)
			}
			in := func(j *Job) { j.Location, j.Timezone = mustZone(t, c.zone), c.zone }
			bubble(t, func(t *testing.T, h *harness) {
				h.begins(from)
				var jobs []*Job
				for schedule := range c.want {
					jobs = append(jobs, testJob(t, schedule, schedule, in))
				}
				h.begin(false, nil, jobs...)
				wait(c.lasts)
				for schedule, want := range c.want {
					equal(t, schedule, h.startsOf(t, schedule), want)
					equal(t, schedule+", missed", h.history.missedOf(schedule), nil)
				}
			})
		})
	}
}

// everyHalfHour lists n starts from an instant on.
func everyHalfHour(from string, n int) (texts []string) {
	at, _ := time.Parse(time.RFC3339, from) // of the table above
	for range n {
		texts = append(texts, at.Format("Jan 2 15:04:05"))
		at = at.Add(30 * time.Minute)
	}
	return texts
}

// What a clock that is set forward leaves out is recorded, and all goes on by the new
// time.
func TestClockSetForward(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "fixed", "30 1 * * *"), testJob(t, "wildcard", "*/20 * * * *"),
			testJob(t, "patient", "58 1 * * *", startsWithin(5*time.Minute)))
		wait(65 * time.Minute) // 01:05
		h.offset.Add(int64(time.Hour))
		wait(clockCheck)
		equal(t, "missed by the fixed job", h.history.missedOf("fixed"), []string{"01:30:00 late"})
		equal(t, "missed by the job with wildcards", h.history.missedOf("wildcard"),
			[]string{"01:20:00 superseded", "01:40:00 superseded", "02:00:00 late"})
		if n := len(h.runner.of("patient")); n != 0 {
			t.Errorf("%d starts of a firing that is 7 minutes late", n)
		}
		wait(15 * time.Minute) // 02:20
		equal(t, "starts", h.runner.of("wildcard")[3:], []string{"01:20:00"})
		if last := h.history.runs[len(h.history.runs)-1]; last.Firing.Format(time.TimeOnly) != "02:20:00" {
			t.Errorf("the firing is %s", last.Firing)
		}
		if n := h.kinds(ClockStepped, ""); n != 1 {
			t.Errorf("the step was told %d times", n)
		}
	})
}

// A machine that slept for ten minutes starts what its jobs are patient enough for.
func TestSuspendOfTenMinutes(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		h.begin(false, nil, testJob(t, "patient", "58 0 * * *", startsWithin(5*time.Minute)),
			testJob(t, "minutely", "* * * * *", startsWithin(5*time.Minute)), testJob(t, "prompt", "58 0 * * *"))
		wait(52*time.Minute + 30*time.Second)
		h.offset.Add(int64(10 * time.Minute)) // 01:02:30
		wait(clockCheck)
		for job, firing := range map[string]string{"patient": "00:58:00", "minutely": "01:02:00"} {
			last, ok := h.history.LastRun(job)
			if !ok || last.Firing.Format(time.TimeOnly) != firing {
				t.Errorf("%s: newest run %+v, want the firing of %s", job, last, firing)
			}
		}
		equal(t, "missed by the patient job", h.history.missedOf("patient"), nil)
		equal(t, "missed by the prompt job", h.history.missedOf("prompt"), []string{"00:58:00 late"})
		missed := h.history.missedOf("minutely")
		if len(missed) != 9 || !strings.HasPrefix(missed[8], "01:01:00 superseded") {
			t.Errorf("missed %v, want those from 00:53 to 01:01", missed)
		}
	})
}
