package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// Each refused schedule names the field, the offending text and a remedy.
func TestScheduleErrors(t *testing.T) {
	for _, c := range []struct{ text, field, value, hint string }{
		// Steps.
		{"*/60 * * * *", "minute", "*/60", `write "0", or a step of at most 59`},
		{"* */24 * * *", "hour", "*/24", `write "0"`},
		{"* * */31 * *", "day of month", "*/31", `write "1"`},
		{"* * * */12 *", "month", "*/12", `write "1"`},
		{"* * * jan/12 *", "month", "jan/12", `write "jan"`},
		{"* * * * */8", "day of week", "*/8", `write "0"`},
		{"59/10 * * * *", "minute", "59/10", `write "59"`},
		{"55-58/5 * * * *", "minute", "55-58/5", `write "55", or a step of at most 4`},
		{"*/0 * * * *", "minute", "*/0", `write "*" for every minute`},
		{"0 0 * 1/00 *", "month", "1/00", "at least 1"},
		{"*/99999999999999999999 * * * *", "minute", "*/99999999999999999999", `write "0"`},
		{"0-59/-5 * * * *", "minute", "0-59/-5", "whole number"},
		{"*/ * * * *", "minute", "*/", "whole number"},
		{"*/2/2 * * * *", "minute", "*/2/2", "whole number"},
		{"* * * * 7/2", "day of week", "7/2", `write "0/2"`},
		{"* * ?/2 * *", "day of month", "?/2", `write "*/2"`},
		{"* * * * * 2099/1", "year", "2099/1", `write "2099"`},
		// Ranges that run backwards.
		{"* * * * fri-mon", "day of week", "fri-mon", `write "fri-sun,mon"`},
		{"* * * * FRI-TUE", "day of week", "FRI-TUE", `write "fri-sun,mon-tue"`},
		{"* * * * 5-1", "day of week", "5-1", `write "5-7,1"`},
		{"50-10 * * * *", "minute", "50-10", `write "50-59,0-10"`},
		{"59-0 * * * *", "minute", "59-0", `write "59,0"`},
		{"* * * nov-feb *", "month", "nov-feb", `write "nov-dec,jan-feb"`},
		{"* * * 12-1 *", "month", "12-1", `write "12,1"`},
		{"* * 25-5 * *", "day of month", "25-5", `write "25-31,1-5"`},
		{"* * * * * 2028-2026", "year", "2028-2026", `write "2026-2028"`},
		// Values.
		{"0 24 * * *", "hour", "24", `write "0" for midnight`},
		{"60 * * * *", "minute", "60", `write "0"`},
		{"1,2,60 * * * *", "minute", "60", `write "0"`},
		{"0 0 32 * *", "day of month", "32", `write "L"`},
		{"0 0 0 * *", "day of month", "0", ""},
		{"0 0 1 1 * 99", "year", "99", "four digits"},
		{"0 0 1 1 * 2100", "year", "2100", ""},
		{"* * * * 8", "day of week", "8", ""},
		{"* * * * monday", "day of week", "monday", `write "mon"`},
		{"* * * sept *", "month", "sept", `write "sep"`},
		{"* * mon * *", "day of month", "mon", "day of week"},
		{"* * * mon *", "month", "mon", "day of week"},
		{"* * * * mon-fry", "day of week", "fry", "sun to sat"},
		{"1,,2 * * * *", "minute", "1,,2", "comma"},
		{"1, * * * *", "minute", "1,", "comma"},
		{"-5 * * * *", "minute", "-5", "0 to 59"},
		{"1- * * * *", "minute", "1-", "0 to 59"},
		{"/5 * * * *", "minute", "/5", "0 to 59"},
		{"+5 * * * *", "minute", "+5", "sign"},
		{"1-2-3 * * * *", "minute", "2-3", "0 to 59"},
		{"? * * * *", "minute", "?", `write "*"`},
		{"H * * * *", "minute", "H", "hashed"},
		{"H(0-29) * * * *", "minute", "H(0", "hashed"},
		{"0~59 * * * *", "minute", "0~59", "random"},
		{"\"0 5 * * *\"", "minute", "\"0", "remove the quotes"},
		{"５ * * * *", "minute", "５", "0 to 59"},
		// Day forms.
		{"0 9 * * 1#6", "day of week", "1#6", `"L1"`},
		{"0 9 * * 1#0", "day of week", "1#0", "1 to 5"},
		{"0 9 * * 1-3#2", "day of week", "1-3#2", "one day"},
		{"0 9 5#1 * *", "day of month", "5#1", ""},
		{"0 9 * * 5L", "day of week", "5L", `write "L5"`},
		{"0 9 * * friL", "day of week", "friL", `write "L5"`},
		{"0 9 * * Lfri", "day of week", "Lfri", `write "L5"`},
		{"0 9 * * L", "day of week", "L", `"L5" for the last Friday`},
		{"0 9 * * L8", "day of week", "L8", `"L5"`},
		{"0 9 L-0 * *", "day of month", "L-0", `write "L"`},
		{"0 9 L-31 * *", "day of month", "L-31", `"L-30"`},
		{"0 9 LX * *", "day of month", "LX", `"LW"`},
		{"0 9 WL * *", "day of month", "WL", `"LW"`},
		{"0 9 L-3W * *", "day of month", "L-3W", `"L-3"`},
		{"0 9 Z8 * *", "day of month", "Z8", `"L-3"`},
		{"0 9 W * *", "day of month", "W", `"15W"`},
		{"0 9 W15 * *", "day of month", "W15", `"15W"`},
		{"0 9 32W * *", "day of month", "32W", ""},
		{"0 9 1-15W * *", "day of month", "1-15W", `"14W,15W"`},
		{"0 9 * * W", "day of week", "W", `"mon-fri"`},
		{"0 L * * *", "hour", "L", "day fields"},
		// The number of fields.
		{"* * * *", "", "* * * *", "minute, hour"},
		{"* * * * * * * *", "", "* * * * * * * *", "sixth is the year"},
		{"", "", "", "five fields"},
		{" \t ", "", " \t ", "five fields"},
		{"'0", "", "'0", "remove the quotes"},
		{"0 30 6 * * *", "hour", "30", `write "0 30 6 * * * *"`},
		{"61 30 6 1 1 mon", "minute", "61", ""},
		{"0 30 6 1 1 wed#6", "hour", "30", ""},
		// Macros.
		{"@Daily", "", "@Daily", `write "@daily"`},
		{"@ daily", "", "@ daily", `write "@daily"`},
		{" @daily", "", " @daily", `write "@daily"`},
		{"@reboot ", "", "@reboot ", `write "@reboot"`},
		{"@midnigth", "", "@midnigth", `write "@midnight"`},
		{"@minutely", "", "@minutely", "the macros are"},
		{"@daily 5", "", "@daily 5", `write "@daily"`},
		{"daily", "", "daily", `write "@daily"`},
		{"@every", "", "@every", `"@every 90s"`},
		{"@every 90", "", "90", `write "90s"`},
		{"@every 1d", "", "1d", "24h"},
		{"@every 1500ms", "", "1500ms", `write "@every 1s"`},
		{"@every 0s", "", "0s", `"@every 90s"`},
		{"@every -1m", "", "-1m", `"@every 90s"`},
		{"@every 1h 30m", "", "@every 1h 30m", "1h30m"},
		{"@every 9999999999h", "", "9999999999h", ""},
		{strings.Repeat("*", 5000), "", strings.Repeat("*", 5000), ""},
	} {
		_, err := ParseSchedule(c.text, DayMatchAnd)
		var e *ScheduleError
		if !errors.As(err, &e) {
			t.Errorf("%q: error is %v", c.text, err)
			continue
		}
		if e.Text != c.text || e.Field != c.field || e.Value != c.value || e.Reason == "" || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%q: field %q, value %q, reason %q, hint %q; want field %q, value %q, hint with %q",
				c.text, e.Field, e.Value, e.Reason, e.Hint, c.field, c.value, c.hint)
		}
		if got := e.Text[e.Offset:]; !strings.HasPrefix(got, e.Value) {
			t.Errorf("%q: %q is not at offset %d", c.text, e.Value, e.Offset)
		}
		if message := err.Error(); len(message) > 600 || !strings.Contains(message, e.Reason) || !strings.Contains(message, e.Field) {
			t.Errorf("%q: message %q", c.text, message)
		}
	}
	if _, err := ParseSchedule("* * * * *", "xor"); err == nil || !strings.Contains(err.Error(), "xor") {
		t.Errorf("unknown day rule: %v", err)
	}
}

// What an error proposes is accepted.
func TestScheduleHintsAreValid(t *testing.T) {
	for _, c := range []struct{ before, value, after, hint string }{
		{"* * * * ", "fri-mon", "", "fri-sun,mon"},
		{"* * * ", "nov-feb", " *", "nov-dec,jan-feb"},
		{"", "59-0", " * * * *", "59,0"},
		{"", "*/60", " * * * *", "0"},
		{"* * * ", "jan/12", " *", "jan"},
		{"", "0 30 6 * * *", "", "0 30 6 * * * *"},
	} {
		_, err := ParseSchedule(c.before+c.value+c.after, DayMatchAnd)
		if err == nil || !strings.Contains(err.Error(), `write "`+c.hint+`"`) {
			t.Errorf("%q: %v", c.value, err)
		}
		if _, err := ParseSchedule(c.before+c.hint+c.after, DayMatchAnd); err != nil {
			t.Errorf("the hint for %q: %v", c.value, err)
		}
	}
}

func TestScheduleCanonical(t *testing.T) {
	type spelling struct {
		text string
		rule DayMatch
	}
	and := func(texts ...string) (list []spelling) {
		for _, text := range texts {
			list = append(list, spelling{text, DayMatchAnd})
		}
		return list
	}
	// The spellings in one row mean the same, those of different rows do not.
	rows := [][]spelling{
		append(and("* * * * *", "*/1 * * * *", "*  *\t* * * ", "0-59 * ? * ?", "* 0-23 1-31 1-12 0-7 1970-2099", "* * * jan-dec sun-sat *",
			"0 * * * * * *", "*,5 * * * *", "* * *,L * *", "* * * * mon,tue,wed,thu,fri,sat,0", "0/1 * * * *"), spelling{"* * * * *", DayMatchOr},
			spelling{"* * 13 * 0-6", DayMatchOr}, spelling{"* * 1-31 * 5", DayMatchOr}),
		and("* * * * * * *"),
		and("@daily", "@midnight", "0 0 * * *", "00 00 * * *", "0,0 0 * * *", "0 0 * * * *", "0 0 0 * * * *"),
		and("@weekly", "0 0 * * 0", "0 0 * * 7", "0 0 * * SUN", "0 0 * * 7,0", "0 0 * * sun,0#2,L0", "0 0 * * 7-7"),
		and("@monthly", "0 0 1 * *", "0 0 1,01 * *"),
		and("@yearly", "@annually", "0 0 1 1 *", "0 0 1 jan *"),
		and("@hourly", "0 * * * *", "0 */1 * * *"),
		and("@every 90s", "@every 1m30s"),
		and("@every 1h", "@every 60m"),
		and("@reboot"),
		and("*/15 * * * *", "0/15 * * * *", "0,15,30,45 * * * *", "45,0-30/15 * * * *"),
		// Written out, the hours are fixed: a clock change is treated differently.
		and("0 */12 * * *", "0 0/12 * * *"),
		and("0 0,12 * * *", "0 12,0 * * *"),
		and("0 9 L * *", "0 9 31,L * *", "0 9 L,l * *", "0 9 Z0 * *"),
		and("0 9 31 * *"),
		and("0 9 L-3 * *", "0 9 Z3 * *"),
		and("0 9 LW * *"),
		and("0 9 15W * *"),
		and("0 9 * * 5#5"),
		and("0 9 * * L5", "0 9 * * L5,fri#5"),
		append(and("0 9 * * 1-5", "0 9 * * mon-fri", "0 9 * * 5,4,1-3"), spelling{"0 9 * * 1-5", DayMatchOr}),
		append(and("0 9 13 * 5"), spelling{"0 9 13 * fri", ""}),
		{{"0 9 13 * 5", DayMatchOr}},
		append(and("0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 0", "0 0 */2 * 0"), spelling{"0 0 */2 * 0", DayMatchOr}),
		{{"0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 0", DayMatchOr}},
		and("0 9 * * * 2027", "0 9 * * * 2027-2027"),
		and("0 9 * * * 2027-2099", "0 9 * * * 2027/1"),
		and("0 9 * * L5-1"),
	}
	seen := map[string]string{}
	for _, row := range rows {
		var first string
		for i, spelled := range row {
			got := mustParse(t, spelled.text, spelled.rule).Canonical()
			if i == 0 {
				first = got
				if other, ok := seen[got]; ok {
					t.Errorf("%q and %q have the canonical text %q", spelled.text, other, got)
				}
				seen[got] = spelled.text
			}
			if got != first {
				t.Errorf("%q (%s): %q, want %q", spelled.text, spelled.rule, got, first)
			}
		}
	}
	if got, want := mustParse(t, "0,15 2 1,L,LW,3W,L-2 feb mon,2#3,L4 2026-2028,2030", DayMatchOr).Canonical(),
		"0 0,15 2 1,L,L-2,3W,LW 2 1,2#3,L4 2026-2028,2030 either-day"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestScheduleFixedTime(t *testing.T) {
	for text, want := range map[string]bool{
		"30 2 * * *":      true,
		"0,30 1-5 * * *":  true,
		"0 2-23/4 * * *":  true,
		"* 30 2 * * * *":  true,
		"@daily":          true,
		"@weekly":         true,
		"0 * * * *":       false,
		"* 2 * * *":       false,
		"*/15 2 * * *":    false,
		"0 */2 * * *":     false,
		"0 1/2 * * *":     false,
		"0 0-23 * * *":    false,
		"0-59 2 * * *":    false,
		"0 2,*/3 * * *":   false,
		"@hourly":         false,
		"@every 24h":      false,
		"@reboot":         false,
		"* * * * * * *":   false,
		"0 0 0 1 1 * *":   true,
		"0 30 2 ? * ? *":  true,
		"0 30 2 L * L5 *": true,
	} {
		if got := mustParse(t, text, DayMatchAnd).FixedTime(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestScheduleWarnings(t *testing.T) {
	for _, c := range []struct {
		text string
		rule DayMatch
		want []string // parts of the warnings
	}{
		{"* * * * *", DayMatchAnd, nil},
		{"0 0 13 * 5", DayMatchAnd, []string{"both restricted"}},
		{"0 0 13 * 5", "", []string{"both restricted"}},
		{"0 0 13 * 5", DayMatchOr, nil},
		{"0 0 */2 * 0", DayMatchAnd, nil}, // cron, too, takes both
		{"0 0 13 * ?", DayMatchAnd, nil},
		{"0 0 13 * 0-6", DayMatchAnd, nil},
		{"0 0 LW * L5", DayMatchAnd, []string{"both restricted"}},
		{"0 0 30 2 *", DayMatchAnd, []string{"never fires"}},
		{"0 0 31 2,4,6,9,11 *", DayMatchAnd, []string{"never fires"}},
		{"0 0 30 2 5", DayMatchOr, nil},
		{"0 0 29 2 * 2027", DayMatchAnd, []string{"never fires"}},
		{"0 0 L-30 2 *", DayMatchAnd, []string{"never fires"}},
		{"*/5 * * * * *", DayMatchAnd, []string{`"*/5 * * * * * *"`}},
		{"0 6 * * * 2027", DayMatchAnd, nil},
		{"*/5 * * * * * *", DayMatchAnd, nil},
		{"0 0 Z1-2 * *", DayMatchAnd, []string{`"L-1,L-2"`}},
		{"0 0 * * L5-1", DayMatchAnd, []string{"backwards", "never fires"}},
		{"0 0 * * sun-sun", DayMatchAnd, []string{`write "sun"`}},
		{"@reboot", DayMatchAnd, nil},
		{"@every 90s", DayMatchAnd, nil},
	} {
		got := mustParse(t, c.text, c.rule).Warnings()
		ok := len(got) == len(c.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%q (%s): %q, want %q", c.text, c.rule, got, c.want)
		}
	}
}

func TestScheduleEvery(t *testing.T) {
	s := mustParse(t, "@every 90s", DayMatchAnd)
	berlin := mustZone(t, "Europe/Berlin")
	from := mustTime(t, "2026-03-29T00:59:00Z") // 1774745940 = 90 · 19719399.3…
	want := []string{"2026-03-29T01:00:00Z", "2026-03-29T01:01:30Z", "2026-03-29T01:03:00Z"}
	for _, zone := range []*time.Location{nil, time.UTC, berlin} {
		at := from
		for _, w := range want {
			if at = s.Next(at, zone); !at.Equal(mustTime(t, w)) {
				t.Fatalf("%v, want %s", at, w)
			}
			if at.Unix()%90 != 0 {
				t.Fatalf("%v is no multiple of 90 s since 1970", at)
			}
		}
		if got := s.Prev(mustTime(t, want[1]), zone); !got.Equal(mustTime(t, want[1])) {
			t.Errorf("Prev at a firing: %v", got)
		}
		if got := s.Prev(mustTime(t, want[1]).Add(-1), zone); !got.Equal(mustTime(t, want[0])) {
			t.Errorf("Prev just before a firing: %v", got)
		}
		if got := s.Count(from, mustTime(t, want[2]), zone); got != 3 {
			t.Errorf("count %d, want 3", got)
		}
	}
	if got := s.Next(time.Time{}, nil); !got.Equal(time.Unix(0, 0)) {
		t.Errorf("the first firing is %v", got)
	}
	if got := s.Prev(time.Time{}, nil); !got.IsZero() {
		t.Errorf("before the first firing: %v", got)
	}
	if got := s.Count(time.Time{}, time.Unix(90, 0), nil); got != 2 {
		t.Errorf("count from the beginning: %d", got)
	}
	if got := s.Count(time.Unix(90, 0), time.Unix(0, 0), nil); got != 0 {
		t.Errorf("count of nothing: %d", got)
	}
	if !mustParse(t, "@every 2000000h", DayMatchAnd).NeverFires(from, nil) {
		t.Error("an interval of centuries fires")
	}
}

func TestScheduleReboot(t *testing.T) {
	s := mustParse(t, "@reboot", DayMatchAnd)
	now := mustTime(t, "2026-05-01T00:00:00Z")
	if !s.Reboot() || s.String() != "@reboot" {
		t.Error("not recognised")
	}
	if !s.Next(now, nil).IsZero() || !s.Prev(now, nil).IsZero() || s.Count(now, now.AddDate(1, 0, 0), nil) != 0 || s.NeverFires(now, nil) {
		t.Error("@reboot has no firings in time, and is not one that never fires")
	}
	if mustParse(t, "@daily", DayMatchAnd).Reboot() {
		t.Error("@daily is taken for @reboot")
	}
}

// Firings lie on whole seconds, strictly after the instant, within 1970 to 2099.
func TestScheduleNextBounds(t *testing.T) {
	s := mustParse(t, "* * * * * * *", DayMatchAnd)
	at := mustTime(t, "2026-05-01T00:00:00Z")
	for _, c := range []struct {
		from time.Time
		want time.Time
	}{
		{at, at.Add(time.Second)},
		{at.Add(1), at.Add(time.Second)},
		{at.Add(-1), at},
		{at.Add(time.Second - 1), at.Add(time.Second)},
		{time.Time{}, time.Unix(0, 0)},
		{time.Unix(-1, 0), time.Unix(0, 0)},
		{mustTime(t, "2099-12-31T23:59:58Z"), mustTime(t, "2099-12-31T23:59:59Z")},
		{mustTime(t, "2099-12-31T23:59:59Z"), time.Time{}},
		{mustTime(t, "9999-01-01T00:00:00Z"), time.Time{}},
	} {
		got := s.Next(c.from, nil)
		if !got.Equal(c.want) || got.Location() != time.UTC {
			t.Errorf("after %v: %v, want %v", c.from, got, c.want)
		}
	}
	if got := s.Prev(mustTime(t, "9999-01-01T00:00:00Z"), nil); !got.Equal(mustTime(t, "2099-12-31T23:59:59Z")) {
		t.Errorf("the last firing is %v", got)
	}
	if got := s.Prev(time.Unix(-1, 0), nil); !got.IsZero() {
		t.Errorf("before the first firing: %v", got)
	}
	if got, want := s.Count(time.Time{}, mustTime(t, "9999-01-01T00:00:00Z"), nil), int64(endCivil); got != want {
		t.Errorf("%d firings in all, want %d", got, want)
	}
	// 2099 ends later in the west, 1970 begins earlier in the east.
	west, east := mustZone(t, "America/New_York"), mustZone(t, "Asia/Tokyo")
	if got, want := s.Prev(mustTime(t, "2100-06-01T00:00:00Z"), west), mustTime(t, "2100-01-01T04:59:59Z"); !got.Equal(want) {
		t.Errorf("the last firing in New York is %v, want %v", got, want)
	}
	if got, want := s.Next(time.Time{}, east), mustTime(t, "1969-12-31T15:00:00Z"); !got.Equal(want) {
		t.Errorf("the first firing in Tokyo is %v, want %v", got, want)
	}
}

func TestScheduleNeverFires(t *testing.T) {
	now := mustTime(t, "2026-05-01T00:00:00Z")
	berlin := mustZone(t, "Europe/Berlin")
	for text, want := range map[string]bool{
		"0 0 30 2 *":           true,
		"0 0 1 1 * 2020":       true,
		"0 0 1 1 * 2099":       false,
		"*/10 2 28 3 * 2027":   true, // only within the hour that the clock leaves out
		"30 2 28 3 * 2027":     false,
		"0 0 29 2 *":           false,
		"0 0 31 12 fri#5 2026": true,
		"0 0 31 12 fri#5 2027": false,
	} {
		if got := mustParse(t, text, DayMatchAnd).NeverFires(now, berlin); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// W stays within its month.
func TestScheduleNearestWeekday(t *testing.T) {
	for _, c := range []struct{ text, after, want string }{
		{"0 9 30W 4 *", "2028-04-01T00:00:00Z", "2028-04-28"}, // the 30th is a Sunday
		{"0 9 28W 2 *", "2027-02-01T00:00:00Z", "2027-02-26"}, // so is the 28th
		{"0 9 29W 2 *", "2027-01-01T00:00:00Z", "2028-02-29"}, // 2027 has no 29 February
		{"0 9 1W 8 *", "2026-07-01T00:00:00Z", "2026-08-03"},  // the 1st is a Saturday
		{"0 9 1W 11 *", "2026-10-01T00:00:00Z", "2026-11-02"}, // the 1st is a Sunday
		{"0 9 15W 8 *", "2026-07-01T00:00:00Z", "2026-08-14"},
		{"0 9 15W 11 *", "2026-10-01T00:00:00Z", "2026-11-16"},
		{"0 9 LW 5 *", "2026-05-01T00:00:00Z", "2026-05-29"},
	} {
		if got := mustParse(t, c.text, DayMatchAnd).Next(mustTime(t, c.after), nil).Format(time.DateOnly); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestScheduleNewest(t *testing.T) {
	s := mustParse(t, "* * * * *", DayMatchAnd)
	from, to := mustTime(t, "2026-05-01T00:00:00Z"), mustTime(t, "2026-05-01T01:00:00Z")
	at, more := s.Newest(from, to, nil, 3)
	if len(at) != 3 || more != 57 || !at[2].Equal(to) || !at[0].Equal(to.Add(-2*time.Minute)) {
		t.Errorf("%v and %d more", at, more)
	}
	if at, more := s.Newest(from, to, nil, 60); len(at) != 60 || more != 0 || !at[0].Equal(from.Add(time.Minute)) {
		t.Errorf("%d and %d more", len(at), more)
	}
	if at, more := s.Newest(from, to, nil, 0); len(at) != 0 || more != 60 {
		t.Errorf("%v and %d more", at, more)
	}
	if at, more := s.Newest(to, from, nil, 5); len(at) != 0 || more != 0 {
		t.Errorf("%v and %d more", at, more)
	}
}

// The plain forms agree with a parser that others use, also on the "or" rule.
func TestScheduleAgreesWithRobfig(t *testing.T) {
	for _, text := range []string{
		"* * * * *", "*/7 3-20/4 * * *", "0 12 1,15 * 5", "5 4 * 2-11/3 sun,wed", "30 6 13 * *", "0 0 29 2 *",
	} {
		theirs, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		ours := mustParse(t, text, DayMatchOr).In(time.UTC)
		a, b := mustTime(t, "2026-05-01T00:00:00Z"), mustTime(t, "2026-05-01T00:00:00Z")
		for range 500 {
			a, b = theirs.Next(a), ours.Next(b)
			if !a.Equal(b) {
				t.Fatalf("%q: %v, want %v", text, b, a)
			}
			if b.Year() > 2090 {
				break
			}
		}
	}
}
