package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// timedJob makes a job of which only the times matter.
func timedJob(t testing.TB, name, text, zone string) *Job {
	t.Helper()
	return &Job{Name: name, Enabled: true, Schedule: mustParse(t, text, DayMatchAnd), ScheduleText: text, Timezone: zone, Location: mustZone(t, zone)}
}

// told writes batches as "15:04:05 a,b", with what was missed in brackets.
func told(batches []Batch) string {
	var list []string
	for _, b := range batches {
		var names []string
		for _, job := range b.Jobs {
			name := job.Name
			for _, m := range b.Missed {
				if m.Job != job {
					continue
				}
				var at []string
				if m.Unlisted > 0 {
					at = append(at, fmt.Sprintf("+%d", m.Unlisted))
				}
				for _, x := range m.At {
					at = append(at, x.Format("15:04:05"))
				}
				name += fmt.Sprint(at)
			}
			names = append(names, name)
		}
		list = append(list, b.At.Format("15:04:05")+" "+strings.Join(names, ","))
	}
	return strings.Join(list, "; ")
}

func TestTimetableBatches(t *testing.T) {
	off := timedJob(t, "off", "* * * * *", "UTC")
	off.Enabled = false
	jobs := []*Job{
		timedJob(t, "ten", "*/10 * * * *", "UTC"),
		off,
		timedJob(t, "boot", "@reboot", "UTC"),
		timedJob(t, "minute", "* * * * *", "UTC"),
		timedJob(t, "never", "0 0 30 2 *", "UTC"),
		timedJob(t, "berlin", "10 2 * * *", "Europe/Berlin"),
		timedJob(t, "half", "30 * * * * * *", "UTC"),
	}
	table := NewTimetable(jobs, mustTime(t, "2026-05-01T00:08:50Z"))
	for _, step := range []struct{ now, next, want string }{
		{"00:08:59.999", "00:09:00", ""},
		{"00:09:00", "00:09:30", "00:09:00 minute"},
		{"00:09:00", "00:09:30", ""},
		{"00:09:30.5", "00:10:00", "00:09:30 half"},
		{"00:10:00.001", "00:10:30", "00:10:00 ten,minute,berlin"},
		{"00:11:00", "00:11:30", "00:10:30 half; 00:11:00 minute"},
		{"00:13:10", "00:13:30", "00:12:30 half[00:11:30]; 00:13:00 minute[00:12:00]"},
	} {
		if got := told(table.Due(mustTime(t, "2026-05-01T"+step.now+"Z"))); got != step.want {
			t.Errorf("at %s: %q, want %q", step.now, got, step.want)
		}
		if got := table.Next().Format("15:04:05"); got != step.next {
			t.Errorf("at %s the next is %s, want %s", step.now, got, step.next)
		}
	}
	for i, want := range []string{"2026-05-01T00:20:00Z", "", "", "2026-05-01T00:14:00Z", "", "2026-05-02T00:10:00Z", "2026-05-01T00:13:30Z"} {
		got := table.NextOf(jobs[i])
		if want == "" && !got.IsZero() || want != "" && !got.Equal(mustTime(t, want)) {
			t.Errorf("%s: next is %v, want %s", jobs[i].Name, got, want)
		}
	}
	empty := NewTimetable(nil, mustTime(t, "2026-05-01T00:00:00Z"))
	if !empty.Next().IsZero() || empty.Due(mustTime(t, "2099-12-31T00:00:00Z")) != nil {
		t.Error("something is due without jobs")
	}
}

// A job whose last firing has passed leaves the table in peace.
func TestTimetableRunsOut(t *testing.T) {
	job := timedJob(t, "last", "0 0 1 1 * 2027", "UTC")
	table := NewTimetable([]*Job{job}, mustTime(t, "2026-12-31T23:59:59Z"))
	if got := told(table.Due(mustTime(t, "2027-01-01T00:00:00Z"))); got != "00:00:00 last" {
		t.Fatal(got)
	}
	if !table.Next().IsZero() || !table.NextOf(job).IsZero() || table.Due(mustTime(t, "2028-01-01T00:00:00Z")) != nil {
		t.Error("there is another firing")
	}
	if table.HeldSince(job).IsZero() {
		t.Error("the job is not held any more")
	}
}

// However far the clock goes, a call returns one firing per job and a short list.
func TestTimetableHugeGap(t *testing.T) {
	second, nightly := timedJob(t, "second", "* * * * * * *", "UTC"), timedJob(t, "nightly", "30 2 * * *", "Europe/Berlin")
	from := mustTime(t, "1971-01-01T00:00:00Z") // a machine without a clock of its own
	table := NewTimetable([]*Job{second, nightly}, from)
	now := mustTime(t, "2026-11-29T12:00:00.5Z")
	batches := table.Due(now)
	if len(batches) != 2 || batches[0].Jobs[0] != nightly || batches[1].Jobs[0] != second {
		t.Fatal(told(batches))
	}
	at := batches[1].At
	missed := batches[1].Missed[0]
	if !at.Equal(now.Truncate(time.Second)) || len(missed.At) != maxMissed || !missed.At[maxMissed-1].Equal(at.Add(-time.Second)) {
		t.Errorf("at %v, missed %v", at, missed.At)
	}
	if got, want := missed.Unlisted+int64(len(missed.At))+1, at.Unix()-from.Unix(); got != want {
		t.Errorf("%d firings, want %d", got, want)
	}
	missed = batches[0].Missed[0]
	days := int64(mustTime(t, "2026-11-29T00:00:00Z").Sub(from)/(24*time.Hour)) + 1
	if got := missed.Unlisted + int64(len(missed.At)) + 1; got != days {
		t.Errorf("%d nights, want %d", got, days)
	}
	if got := table.Next(); !got.Equal(at.Add(time.Second)) {
		t.Errorf("goes on at %v", got)
	}
}

func TestTimetableClockSetBack(t *testing.T) {
	for _, c := range []struct {
		name, text string
		start      string
		steps      [][2]string // now, what is due
	}{
		{"fixed times do not run again", "0,30 12 * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:30:00", "12:30:00 job"}, {"12:30:10", ""},
			{"11:30:10", ""}, {"12:00:00", ""}, {"12:30:00", ""}, {"13:30:00", ""}}},
		{"a fixed time that was not reached runs", "0,30 12 * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:20:00", ""}, {"11:50:00", ""}, {"12:00:00", ""}, {"12:30:00", "12:30:00 job"}}},
		{"a fixed time that came before the start runs", "15 12 * * *", "12:30:00", [][2]string{
			{"12:30:01", ""}, {"12:00:00", ""}, {"12:15:00", "12:15:00 job"}, {"12:10:00", ""}, {"12:15:00", ""}}},
		{"fixed times missed in a jump ahead run when they come", "0,10,20,30 12 * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:25:00", "12:20:00 job[12:10:00]"},
			{"12:05:00", ""}, {"12:10:00", "12:10:00 job"}, {"12:20:00", ""}, {"12:30:00", "12:30:00 job"},
			{"11:00:00", ""}, {"13:00:00", ""}}},
		{"a late wake-up after that skips what was handed out", "0,10,20,30 12 * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:25:00", "12:20:00 job[12:10:00]"},
			{"11:30:00", ""}, {"12:29:00", "12:10:00 job"}, {"12:30:00", "12:30:00 job"}}},
		{"the newest one that was not handed out is the one to run", "0,10,20,30 12 * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:35:00", "12:30:00 job[12:10:00 12:20:00]"},
			{"11:30:00", ""}, {"12:36:00", "12:20:00 job[12:10:00]"}, {"11:30:00", ""}, {"12:36:00", "12:10:00 job"}}},
		{"wildcards go on by the new time at once", "*/10 * * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:10:00", "12:10:00 job"}, {"12:10:10", ""},
			{"11:10:10", ""}, {"11:20:00", "11:20:00 job"}, {"11:30:00", "11:30:00 job"}}},
		{"hourly wildcards too", "0 * * * *", "11:59:00", [][2]string{
			{"12:00:00", "12:00:00 job"}, {"12:00:30", ""}, {"11:00:30", ""}, {"12:00:00", "12:00:00 job"}}},
		{"every second too", "* * * * * * *", "12:00:00", [][2]string{
			{"12:00:01", "12:00:01 job"}, {"12:00:02", "12:00:02 job"}, {"11:59:52", ""}, {"11:59:53", "11:59:53 job"}}},
		{"a small step repeats nothing", "* * * * *", "11:59:50", [][2]string{
			{"12:00:00.1", "12:00:00 job"}, {"11:59:59.8", ""}, {"12:00:00", ""}, {"12:00:59", ""}, {"12:01:00", "12:01:00 job"}}},
		{"nor does a step of some seconds", "* * * * *", "11:59:50", [][2]string{
			{"12:00:05", "12:00:00 job"}, {"11:59:55", ""}, {"12:00:05", ""}, {"12:01:00", "12:01:00 job"}}},
		{"a fraction repeats no second", "* * * * * * *", "12:00:00", [][2]string{
			{"12:00:01.2", "12:00:01 job"}, {"12:00:00.9", ""}, {"12:00:01.5", ""}, {"12:00:02", "12:00:02 job"}}},
		{"two small steps in a row", "* * * * *", "11:59:50", [][2]string{
			{"12:00:05", "12:00:00 job"}, {"11:59:55", ""}, {"11:59:45", ""}, {"12:00:00", ""}, {"12:01:00", "12:01:00 job"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(s string) time.Time { return mustTime(t, "2026-05-01T"+s+"Z") }
			table := NewTimetable([]*Job{timedJob(t, "job", c.text, "UTC")}, at(c.start))
			for i, step := range c.steps {
				if got := told(table.Due(at(step[0]))); got != step[1] {
					t.Fatalf("step %d at %s: %q, want %q", i, step[0], got, step[1])
				}
			}
		})
	}
}

// What was handed out is not counted as missed later.
func TestTimetableCountsMissedOnce(t *testing.T) {
	table := NewTimetable([]*Job{timedJob(t, "job", "0-58 12 * * *", "UTC")}, mustTime(t, "2026-05-01T11:59:00Z"))
	at := func(minute int) time.Time {
		return mustTime(t, "2026-05-01T12:00:00Z").Add(time.Duration(minute) * time.Minute)
	}
	if got := told(table.Due(at(5))); got != "12:05:00 job[12:00:00 12:01:00 12:02:00 12:03:00 12:04:00]" {
		t.Fatal(got)
	}
	table.Due(at(-1))
	got := table.Due(at(40)) // of 41 firings one was handed out
	missed := got[0].Missed[0]
	if !got[0].At.Equal(at(40)) || len(missed.At) != maxMissed || missed.Unlisted != 39-maxMissed {
		t.Errorf("%s, %d unlisted", told(got), missed.Unlisted)
	}
}

// A clock that is a year ahead for a moment costs a nightly job no night.
func TestTimetableClockAheadForAMoment(t *testing.T) {
	job := timedJob(t, "nightly", "0 3 * * *", "UTC")
	table := NewTimetable([]*Job{job}, mustTime(t, "2026-05-01T12:00:00Z"))
	ahead := table.Due(mustTime(t, "2027-05-01T12:00:00Z"))
	if len(ahead) != 1 || !ahead[0].At.Equal(mustTime(t, "2027-05-01T03:00:00Z")) || ahead[0].Missed[0].Unlisted != 364-maxMissed {
		t.Fatal(told(ahead), ahead[0].Missed[0].Unlisted)
	}
	table.Due(mustTime(t, "2026-05-01T12:00:10Z"))
	for night := mustTime(t, "2026-05-02T03:00:00Z"); night.Before(mustTime(t, "2027-05-10T00:00:00Z")); night = night.AddDate(0, 0, 1) {
		batches := table.Due(night)
		want := 1
		if night.Equal(ahead[0].At) {
			want = 0 // it ran
		}
		if len(batches) != want || want == 1 && !batches[0].At.Equal(night) {
			t.Fatalf("%v: %s", night, told(batches))
		}
	}
}

// Only what a clock did that jumped back and forth many times is forgotten.
func TestTimetableRemembersBoundedly(t *testing.T) {
	job := timedJob(t, "minutely by list", "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58 12 * * *", "UTC")
	at := func(minute int) time.Time {
		return mustTime(t, "2026-05-01T12:00:00Z").Add(time.Duration(minute) * time.Minute)
	}
	table := NewTimetable([]*Job{job}, at(-1))
	for minute := 2; minute < 60; minute += 4 { // 2, 6, 10...: each time one is skipped
		table.Due(at(minute))
		table.Due(at(minute - 3)) // and comes when the clock is set back
		if got := table.Due(at(minute - 2)); len(got) != 1 {
			t.Fatalf("%d: %s", minute, told(got))
		}
		if n := len(table.positions[identityOf(job)].had); n > 2 {
			t.Fatalf("%d stretches are remembered of one that has no holes", n)
		}
	}
	for day := range 40 { // holes that never close
		table.Due(at(day * 24 * 60 * 3))
		if n := len(table.positions[identityOf(job)].had); n > maxStretches {
			t.Fatalf("%d stretches are remembered", n)
		}
	}
}

func TestTimetableReplace(t *testing.T) {
	at := func(s string) time.Time { return mustTime(t, "2026-05-01T"+s+"Z") }
	a, b, c := timedJob(t, "a", "* * * * *", "UTC"), timedJob(t, "b", "*/2 * * * *", "UTC"), timedJob(t, "c", "0 * * * *", "UTC")
	table := NewTimetable([]*Job{a, b, c}, at("11:57:30"))
	table.Due(at("11:58:00"))

	// A minute passes before the reload: what is due then is still to come, once, in the
	// new order and as the new jobs.
	a2, b2 := timedJob(t, "a", "*/1 * * * *", "UTC"), timedJob(t, "b", "*/3 * * * *", "UTC")
	d := timedJob(t, "d", "* * * * *", "UTC")
	table.Replace([]*Job{d, b2, a2}, at("11:59:10"))
	if got := table.Next(); !got.Equal(at("11:59:00")) {
		t.Errorf("next is %v", got)
	}
	batches := table.Due(at("11:59:10"))
	if told(batches) != "11:59:00 a" || batches[0].Jobs[0] != a2 {
		t.Error(told(batches))
	}
	if got := told(table.Due(at("11:59:20"))); got != "" {
		t.Errorf("doubled: %s", got)
	}
	if got := told(table.Due(at("12:00:00"))); got != "12:00:00 d,b,a" {
		t.Error(got)
	}

	for _, x := range []struct {
		job  *Job
		want string
	}{{a2, "11:57:30"}, {a, "11:57:30"}, {b2, "11:59:10"}, {b, ""}, {c, ""}, {d, "11:59:10"}} {
		got := table.HeldSince(x.job)
		if x.want == "" && !got.IsZero() || x.want != "" && !got.Equal(at(x.want)) {
			t.Errorf("%s %q is held since %v, want %s", x.job.Name, x.job.Schedule, got, x.want)
		}
	}

	// Another zone, or a pause, makes it another job.
	a3 := timedJob(t, "a", "* * * * *", "Europe/Berlin")
	d2 := timedJob(t, "d", "* * * * *", "UTC")
	d2.Enabled = false
	table.Replace([]*Job{a3, d2}, at("12:00:30"))
	if got := table.HeldSince(a3); !got.Equal(at("12:00:30")) {
		t.Errorf("held since %v in another zone", got)
	}
	if got := table.HeldSince(d2); !got.IsZero() {
		t.Errorf("held since %v though disabled", got)
	}
	table.Replace([]*Job{a3, d}, at("12:00:40"))
	if got := table.HeldSince(d); !got.Equal(at("12:00:40")) {
		t.Errorf("held since %v though it was disabled", got)
	}
	if got := told(table.Due(at("12:01:00"))); got != "12:01:00 a,d" {
		t.Error(got)
	}

	// A reload just after the clock was set back keeps what fixed times had.
	e := timedJob(t, "e", "5 12 * * *", "UTC")
	table.Replace([]*Job{e}, at("12:04:00"))
	table.Due(at("12:05:00"))
	table.Replace([]*Job{timedJob(t, "e", "05 12 * * *", "UTC")}, at("12:00:00"))
	if got := told(table.Due(at("12:05:00"))); got != "" {
		t.Errorf("ran again: %s", got)
	}
}

// 200 reloads at any moment lose and double nothing.
func TestTimetableReloadUnderFire(t *testing.T) {
	from := mustTime(t, "2026-05-01T00:00:00.25Z")
	job := func() []*Job {
		return []*Job{timedJob(t, "second", "* * * * * * *", "UTC"), timedJob(t, "fixed", "* 0,1,2,3 0 * * * *", "UTC")}
	}
	table := NewTimetable(job(), from)
	got := map[string][]time.Time{}
	now := from
	for i := range 200 {
		now = now.Add(700 * time.Millisecond)
		for j := range 3 {
			if (i+j)%3 == 0 {
				table.Replace(job(), now)
				continue
			}
			for _, b := range table.Due(now) {
				for _, job := range b.Jobs {
					got[job.Name] = append(got[job.Name], b.At)
				}
				if len(b.Missed) > 0 {
					t.Fatal(told([]Batch{b}))
				}
			}
		}
	}
	for _, name := range []string{"second", "fixed"} {
		if len(got[name]) != 140 {
			t.Errorf("%s: %d firings in 140 s", name, len(got[name]))
		}
		for i, at := range got[name] {
			if want := from.Truncate(time.Second).Add(time.Duration(i+1) * time.Second); !at.Equal(want) {
				t.Fatalf("%s: firing %d at %v, want %v", name, i, at, want)
			}
		}
	}
}

func TestTimetablePast(t *testing.T) {
	at := func(s string) time.Time { return mustTime(t, "2026-05-01T"+s+"Z") }
	job, second := timedJob(t, "job", "*/10 * * * *", "UTC"), timedJob(t, "second", "* * * * * * *", "UTC")
	table := NewTimetable([]*Job{job, second}, at("12:00:00"))
	if got := table.Past(job, at("12:05:00"), at("12:40:00")); !slices.EqualFunc(got, []time.Time{at("12:10:00"), at("12:20:00"), at("12:30:00"), at("12:40:00")}, time.Time.Equal) {
		t.Error(got)
	}
	if got := table.Past(job, at("11:00:00"), at("12:10:00")); !slices.EqualFunc(got, []time.Time{at("12:10:00")}, time.Time.Equal) {
		t.Errorf("%v, though held since 12:00 only", got)
	}
	if got := table.Past(job, at("12:40:00"), at("12:10:00")); got != nil {
		t.Errorf("%v in an empty window", got)
	}
	if got := table.Past(timedJob(t, "job", "* * * * *", "UTC"), at("12:00:00"), at("13:00:00")); got != nil {
		t.Errorf("%v of an unknown job", got)
	}
	got := table.Past(second, at("12:00:00"), at("13:00:00"))
	if len(got) != maxPast || !got[maxPast-1].Equal(at("13:00:00")) || !got[0].Equal(at("13:00:00").Add(-(maxPast-1)*time.Second)) {
		t.Errorf("%d firings from %v to %v", len(got), got[0], got[len(got)-1])
	}
}
