package scheduler

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The oracle knows schedules as predicates on wall times and finds firings by trying
// every second or minute. It shares nothing with the package but the definition.

// oracle is a generated schedule.
type oracle struct {
	text  string
	rule  DayMatch
	fixed bool // hour and minute are
	match func(wall time.Time) bool
}

// part is one generated field.
type part struct {
	text  string
	match func(n int) bool
	star  bool
	open  bool
}

// drawField draws a list of plain items for values from low to high.
func drawField(t *rapid.T, label string, low, high int, star int) part {
	if rapid.IntRange(0, 9).Draw(t, label+" any") < star {
		return part{"*", func(int) bool { return true }, true, true}
	}
	n := rapid.IntRange(1, 3).Draw(t, label+" items")
	var p part
	var texts []string
	var matches []func(int) bool
	for range n {
		a := rapid.IntRange(low, high).Draw(t, label+" a")
		b := rapid.IntRange(a, high).Draw(t, label+" b")
		if label == "day of week" {
			b = max(b, 1) // a range that ends with 0 has a rule of its own
		}
		switch rapid.IntRange(0, 5).Draw(t, label+" form") {
		case 0, 1:
			texts = append(texts, fmt.Sprint(a))
			matches = append(matches, func(n int) bool { return n == a })
		case 2:
			texts = append(texts, fmt.Sprintf("%d-%d", a, b))
			matches = append(matches, func(n int) bool { return a <= n && n <= b })
		case 3:
			if a == high {
				a--
			}
			if b < a {
				b = a
			}
			s := rapid.IntRange(1, high-a).Draw(t, label+" step")
			texts = append(texts, fmt.Sprintf("%d-%d/%d", a, b, s))
			matches = append(matches, func(n int) bool { return a <= n && n <= b && (n-a)%s == 0 })
		case 4:
			s := rapid.IntRange(1, high-low).Draw(t, label+" step")
			texts = append(texts, fmt.Sprintf("*/%d", s))
			matches = append(matches, func(n int) bool { return (n-low)%s == 0 })
			p.star, p.open = true, true
		case 5:
			if a == high {
				a--
			}
			s := rapid.IntRange(1, high-a).Draw(t, label+" step")
			texts = append(texts, fmt.Sprintf("%d/%d", a, s))
			matches = append(matches, func(n int) bool { return n >= a && (n-a)%s == 0 })
			p.open = true
		}
	}
	p.text = strings.Join(texts, ",")
	p.match = func(n int) bool {
		for _, m := range matches {
			if m(n) {
				return true
			}
		}
		return false
	}
	full := true
	for n := low; n <= high; n++ {
		full = full && p.match(n)
	}
	p.open = p.open || full // every value, however it is written
	return p
}

// drawDays draws the two day fields, special forms included.
func drawDays(t *rapid.T, star int) (dom, dow string, domStar, dowStar bool, domMatch, dowMatch func(time.Time) bool) {
	plain := drawField(t, "day of month", 1, 31, star)
	dom, domStar = plain.text, plain.star
	domMatch = func(at time.Time) bool { return plain.match(at.Day()) }
	// A plain list that covers every day is a star under the "and" rule only.
	if !plain.star {
		k := rapid.IntRange(1, 31).Draw(t, "k")
		switch rapid.IntRange(0, 5).Draw(t, "day of month special") {
		case 1:
			back := k - 1
			if dom = "L"; back > 0 {
				dom = fmt.Sprintf("L-%d", back)
			}
			domMatch = func(at time.Time) bool {
				return at.AddDate(0, 0, back+1).Day() == 1 && at.AddDate(0, 0, back).Month() == at.Month()
			}
		case 2:
			dom = fmt.Sprintf("%dW", k)
			domMatch = func(at time.Time) bool { return nearest(at, k) == at.Day() }
		case 3:
			dom = "LW"
			domMatch = func(at time.Time) bool {
				last := time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC)
				for last.Weekday() == time.Saturday || last.Weekday() == time.Sunday {
					last = last.AddDate(0, 0, -1)
				}
				return last.Day() == at.Day()
			}
		case 4:
			text, match := dom, domMatch
			dom = text + ",l"
			domMatch = func(at time.Time) bool { return match(at) || at.AddDate(0, 0, 1).Day() == 1 }
		}
	}
	week := drawField(t, "day of week", 0, 6, star)
	dow, dowStar = week.text, week.star
	dowMatch = func(at time.Time) bool { return week.match(int(at.Weekday())) }
	if !week.star {
		d := rapid.IntRange(0, 7).Draw(t, "weekday")
		n := rapid.IntRange(1, 5).Draw(t, "week")
		is := func(at time.Time) bool { return int(at.Weekday()) == d%7 }
		switch rapid.IntRange(0, 4).Draw(t, "day of week special") {
		case 1:
			dow = fmt.Sprintf("%d#%d", d, n)
			dowMatch = func(at time.Time) bool { return is(at) && (at.Day()+6)/7 == n }
		case 2:
			dow = fmt.Sprintf("L%d", d)
			dowMatch = func(at time.Time) bool { return is(at) && at.AddDate(0, 0, 7).Month() != at.Month() }
		case 3:
			text, match := dow, dowMatch
			dow = text + "," + []string{"sun", "MON", "tue", "Wed", "thu", "fri", "sat", "sun"}[d]
			dowMatch = func(at time.Time) bool { return match(at) || is(at) }
		}
	}
	return dom, dow, domStar, dowStar, domMatch, dowMatch
}

// nearest returns the weekday nearest to a day, by trying those around it.
func nearest(at time.Time, n int) int {
	want := time.Date(at.Year(), at.Month(), n, 0, 0, 0, 0, time.UTC)
	if want.Month() != at.Month() {
		return 0
	}
	for _, shift := range []int{0, -1, 1, -2, 2} {
		d := want.AddDate(0, 0, shift)
		if d.Month() == at.Month() && d.Weekday() != time.Saturday && d.Weekday() != time.Sunday {
			return d.Day()
		}
	}
	return 0
}

// drawSchedule draws a schedule of five or seven fields. stars is how many of ten
// fields are "*", for minute and hour, for the days, and for month.
func drawSchedule(t *rapid.T, fields, clock, days, month int) oracle {
	o := oracle{rule: rapid.SampledFrom([]DayMatch{DayMatchAnd, DayMatchOr}).Draw(t, "rule")}
	second := part{text: "0", match: func(n int) bool { return n == 0 }}
	if fields == 7 {
		second = drawField(t, "second", 0, 59, clock)
	}
	minute := drawField(t, "minute", 0, 59, clock)
	hour := drawField(t, "hour", 0, 23, clock)
	months := drawField(t, "month", 1, 12, month)
	dom, dow, domStar, dowStar, domMatch, dowMatch := drawDays(t, days)
	o.text = strings.Join([]string{minute.text, hour.text, dom, months.text, dow}, " ")
	if fields == 7 {
		o.text = second.text + " " + o.text + " *"
	}
	o.fixed = !minute.open && !hour.open
	either := o.rule == DayMatchOr && !domStar && !dowStar
	o.match = func(at time.Time) bool {
		if !second.match(at.Second()) || !minute.match(at.Minute()) || !hour.match(at.Hour()) || !months.match(int(at.Month())) {
			return false
		}
		if either {
			return domMatch(at) || dowMatch(at)
		}
		return domMatch(at) && dowMatch(at)
	}
	return o
}

// firings tries every instant from from to to (inclusive) in steps.
func (o oracle) firings(from, to time.Time, step time.Duration, loc *time.Location) []time.Time {
	civilOf := func(at time.Time) time.Time {
		l := at.In(loc)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	}
	var list []time.Time
	begin := from
	if o.fixed && loc != time.UTC { // remember what the clock showed before
		begin = from.Add(-27 * time.Hour)
	}
	seen := map[time.Time]bool{}
	before := civilOf(begin.Add(-step))
	for at := begin; !at.After(to); at = at.Add(step) {
		w := civilOf(at)
		fires := o.match(w)
		if o.fixed && loc != time.UTC {
			fires = fires && !seen[w]
			for missing := before.Add(step); missing.Before(w); missing = missing.Add(step) {
				fires = fires || !seen[missing] && o.match(missing)
			}
			seen[w] = true
		}
		if fires && !at.Before(from) {
			list = append(list, at.UTC())
		}
		before = w
	}
	return list
}

// check compares the oracle with Next, Prev and Count.
func (o oracle) check(t *rapid.T, from, to time.Time, step time.Duration, loc *time.Location) {
	s, err := ParseSchedule(o.text, o.rule)
	if err != nil {
		t.Fatal(err)
	}
	if s.FixedTime() != o.fixed {
		t.Fatalf("%q: fixed is %v, want %v", o.text, s.FixedTime(), o.fixed)
	}
	want := o.firings(from, to, step, loc)
	var got []time.Time
	for at := s.Next(from.Add(-1), loc); !at.IsZero() && !at.After(to); at = s.Next(at, loc) {
		got = append(got, at)
		if len(got) > len(want) {
			break
		}
	}
	where := fmt.Sprintf("%q (%s) in %s from %v to %v", o.text, o.rule, loc, from, to)
	if diff := difference(got, want); diff != "" {
		t.Fatalf("%s: %s", where, diff)
	}
	back, more := s.Newest(from.Add(-1), to, loc, len(want)+1)
	if diff := difference(back, want); diff != "" || more != 0 {
		t.Fatalf("%s, backwards: %s, %d more", where, diff, more)
	}
	if n := s.Count(from.Add(-1), to, loc); n != int64(len(want)) {
		t.Fatalf("%s: count %d, want %d", where, n, len(want))
	}
}

// difference describes where two lists of firings part.
func difference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%v is missing", want[i])
		case i >= len(want):
			return fmt.Sprintf("%v is too much", got[i])
		case !got[i].Equal(want[i]):
			return fmt.Sprintf("got %v, want %v", got[i], want[i])
		}
	}
	return ""
}

// changes lists instants at which the clocks of zones change, found by looking at
// every half hour, with ones that differ in size, hour, direction and kind.
var changes = sync.OnceValue(func() []change {
	var list []change
	for _, z := range []struct {
		zone     string
		from, to int
	}{
		{"Europe/Berlin", 2026, 2027},
		{"Europe/Dublin", 2026, 2026}, // winter is the exception
		{"America/New_York", 2026, 2026},
		{"America/Sao_Paulo", 2018, 2018},   // midnight is left out
		{"Asia/Beirut", 2026, 2026},         // likewise
		{"America/Havana", 2026, 2026},      // likewise, and 00:00 to 01:00 repeated
		{"Australia/Lord_Howe", 2026, 2026}, // half an hour
		{"Antarctica/Troll", 2026, 2026},    // two hours
		{"Africa/Casablanca", 2026, 2026},   // back for Ramadan
		{"Asia/Pyongyang", 2015, 2018},      // half hours, for good
		{"America/Caracas", 2007, 2016},     // likewise
		{"Asia/Kathmandu", 1985, 1986},      // a quarter of an hour
		{"Pacific/Apia", 2011, 2011},        // a day is left out
		{"Pacific/Kwajalein", 1993, 1993},   // likewise
		{"America/New_York", 2043, 2044},    // beyond the table, leap year
		{"Africa/Monrovia", 1972, 1972},     // by 44 minutes and 30 seconds
	} {
		loc, err := time.LoadLocation(z.zone)
		if err != nil {
			continue
		}
		end := time.Date(z.to+1, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := time.Date(z.from, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end); at = at.Add(30 * time.Minute) {
			_, a := at.In(loc).Zone()
			_, b := at.Add(30 * time.Minute).In(loc).Zone()
			if a != b {
				list = append(list, change{loc, at, b - a})
			}
		}
	}
	return list
})

// change is a change of a zone's offset within the half hour after at.
type change struct {
	loc     *time.Location
	at      time.Time
	seconds int
}

func TestOracleKnowsChanges(t *testing.T) {
	zones, forward, back := map[string]bool{}, 0, 0
	for _, c := range changes() {
		zones[c.loc.String()] = true
		if c.seconds > 0 {
			forward++
		} else {
			back++
		}
	}
	if len(zones) != 15 || forward < 15 || back < 12 {
		t.Errorf("%d zones, %d changes forward, %d back", len(zones), forward, back)
	}
}

// TestScheduleAroundClockChanges compares minute by minute.
func TestScheduleAroundClockChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSchedule(t, 5, 3, 8, 9)
		c := rapid.SampledFrom(changes()).Draw(t, "change")
		from := c.at.Add(time.Duration(rapid.IntRange(-30*60, 60).Draw(t, "minutes")) * time.Minute)
		if c.loc.String() == "Africa/Monrovia" {
			return // its offset has seconds: see TestScheduleBySeconds
		}
		o.check(t, from, from.Add(34*time.Hour), time.Minute, c.loc)
	})
}

// TestScheduleBySeconds compares second by second.
func TestScheduleBySeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSchedule(t, 7, 5, 9, 9)
		c := rapid.SampledFrom(changes()).Draw(t, "change")
		from := c.at.Add(time.Duration(rapid.IntRange(-5400, 1800).Draw(t, "seconds")) * time.Second)
		o.check(t, from, from.Add(time.Hour), time.Second, c.loc)
	})
}

// TestScheduleDays compares years day by day.
func TestScheduleDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSchedule(t, 5, 10, 3, 6)
		minute, hour := rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour")
		_, days, _ := strings.Cut(o.text, " ")
		_, days, _ = strings.Cut(days, " ")
		o.text, o.fixed = fmt.Sprintf("%d %d %s", minute, hour, days), true
		match := o.match
		o.match = func(at time.Time) bool { return at.Minute() == minute && at.Hour() == hour && match(at) }
		from := time.Date(rapid.IntRange(1970, 2096).Draw(t, "year"), time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 1, hour, minute, 0, 0, time.UTC)
		o.check(t, from, from.AddDate(2, 0, 0), 24*time.Hour, time.UTC)
	})
}

// TestScheduleCountsLongTimes compares Count with what Next walks through.
func TestScheduleCountsLongTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSchedule(t, 5, 2, 6, 6)
		s, err := ParseSchedule(o.text, o.rule)
		if err != nil {
			t.Fatal(err)
		}
		c := rapid.SampledFrom(changes()).Draw(t, "change")
		from := c.at.Add(time.Duration(rapid.IntRange(-400*24*60, 0).Draw(t, "before")) * time.Minute)
		to := c.at.Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "after")) * time.Minute)
		var n int64
		last := s.Prev(from, c.loc)
		for at := s.Next(from, c.loc); !at.IsZero() && !at.After(to) && n < 20000; at = s.Next(at, c.loc) {
			if prev := s.Prev(at.Add(-time.Second), c.loc); !prev.Equal(last) {
				t.Fatalf("%q in %s: before %v comes %v, want %v", o.text, c.loc, at, prev, last)
			}
			last = at
			n++
		}
		if n == 20000 {
			to = last
		}
		if got := s.Count(from, to, c.loc); got != n {
			t.Fatalf("%q in %s from %v to %v: count %d, want %d", o.text, c.loc, from, to, got, n)
		}
	})
}

// TestScheduleCanonicalDecides: schedules with one canonical text have one set of
// firings, and a text that is spelled differently keeps its canonical text.
func TestScheduleCanonicalDecides(t *testing.T) {
	loc := mustZone(t, "Europe/Berlin")
	from := mustTime(t, "2026-03-28T00:00:00Z") // the next day the clock goes forward
	collisions := 0
	rapid.Check(t, func(t *rapid.T) {
		var texts [2][]string
		for _, field := range [][][]string{ // per field the spellings of each meaning
			{{"0", "00", "0,0"}, {"30"}, {"*", "0-59", "*/1"}, {"*/30", "0/30", "0,*/30"}, {"0,30", "30,0"}},
			{{"2", "2,2"}, {"*", "0-23", "*,5"}, {"*/2"}, {"1,2,3"}},
			{{"*", "?", "1-31", "*/1"}, {"L", "31,L"}, {"29"}},
			{{"*", "1-12"}, {"3", "mar"}},
			{{"*", "?", "0-7"}, {"0", "7", "sun", "sun,0#1"}, {"L0", "0#5,l7"}, {"0#5"}},
		} {
			meaning := rapid.SampledFrom(field).Draw(t, "meaning")
			texts[0] = append(texts[0], rapid.SampledFrom(meaning).Draw(t, "a"))
			if rapid.IntRange(0, 9).Draw(t, "differs") == 9 {
				meaning = rapid.SampledFrom(field).Draw(t, "other meaning")
			}
			texts[1] = append(texts[1], rapid.SampledFrom(meaning).Draw(t, "b"))
		}
		var schedules [2]*Schedule
		for i := range schedules {
			s, err := ParseSchedule(strings.Join(texts[i], " "), rapid.SampledFrom([]DayMatch{DayMatchAnd, DayMatchOr}).Draw(t, "rule"))
			if err != nil {
				t.Fatal(err)
			}
			schedules[i] = s
		}
		a, b := schedules[0], schedules[1]
		equal := a.Canonical() == b.Canonical()
		if equal && a.String() != b.String() {
			collisions++
		}
		x, y := from, from
		for range 200 {
			x, y = a.Next(x, loc), b.Next(y, loc)
			if !x.Equal(y) {
				if equal {
					t.Fatalf("%q and %q share %q: %v and %v", a, b, a.Canonical(), x, y)
				}
				return
			}
			if x.IsZero() {
				return
			}
		}
	})
	if collisions == 0 {
		t.Error("no two spellings had one canonical text")
	}
}

// TestScheduleRespelled: order, repetition, blanks, names and case don't matter.
func TestScheduleRespelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawSchedule(t, 7, 3, 3, 3)
		words := strings.Fields(o.text)
		for i, w := range words {
			items := rapid.Permutation(strings.Split(w, ",")).Draw(t, "order")
			items = append(items, items[rapid.IntRange(0, len(items)-1).Draw(t, "again")])
			words[i] = strings.Join(items, ",")
			if rapid.Bool().Draw(t, "case") {
				words[i] = strings.ToUpper(words[i])
			}
		}
		other := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "blank"))
		a, errA := ParseSchedule(o.text, o.rule)
		b, errB := ParseSchedule(other, o.rule)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Canonical() != b.Canonical() {
			t.Fatalf("%q: %q, %q: %q", o.text, a.Canonical(), other, b.Canonical())
		}
	})
}
