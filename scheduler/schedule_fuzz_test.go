package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// FuzzParseSchedule: whatever the text, there is a schedule or an error that points
// into the text, and what is asked of a schedule is consistent and takes no time.
func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/5 0-23/2 1,15,L jan-mar mon-fri", "0 30 6 L-3,15W * 1#2,L5 2026-2099", "0 0 30 2 *", "0 0 29 2 1 *",
		"@daily", "@every 1h30m", "@reboot", "@Daily", "*/60 * * * *", "0 30 6 * * *", "* * * * fri-mon", "0 2,3 Z1-3 * ?",
		"\"0 5 * * *\"", "* * * *", "0 0 LW * *", "İ * * * *", "\xff * * * *", "* * * * 0-0", "@every 2562047h", "59-0/61,,",
	} {
		f.Add(text, false, int64(1774745940))
		f.Add(text, true, int64(4102444790))
	}
	zones := []*time.Location{time.UTC, mustZone(f, "Europe/Berlin"), mustZone(f, "Australia/Lord_Howe"), mustZone(f, "Pacific/Apia")}
	f.Fuzz(func(t *testing.T, text string, or bool, unix int64) {
		rule := DayMatchAnd
		if or {
			rule = DayMatchOr
		}
		begin := time.Now()
		s, err := ParseSchedule(text, rule)
		if err != nil {
			var e *ScheduleError
			if !errors.As(err, &e) || e.Reason == "" || e.Text != text {
				t.Fatalf("error %#v", err)
			}
			if e.Offset < 0 || e.Offset > len(text) || !strings.HasPrefix(text[e.Offset:], e.Value) {
				t.Fatalf("%q is not at offset %d of %q", e.Value, e.Offset, text)
			}
			if len(err.Error()) > 2000 {
				t.Fatalf("the message has %d bytes", len(err.Error()))
			}
			return
		}
		if s.Canonical() == "" || len(s.Canonical()) > 2000 || s.String() != text {
			t.Fatalf("canonical text %q of %q", s.Canonical(), s)
		}
		from := time.Unix(unix%(1<<33), 0)
		for _, loc := range zones {
			at := s.Next(from, loc)
			if at.IsZero() {
				if n := s.Count(from, from.AddDate(300, 0, 0), loc); n != 0 {
					t.Fatalf("%q in %s never fires after %v, but counts %d", text, loc, from, n)
				}
				continue
			}
			if !at.After(from) || at.Nanosecond() != 0 {
				t.Fatalf("%q in %s: %v follows %v", text, loc, at, from)
			}
			if got := s.Prev(at, loc); !got.Equal(at) {
				t.Fatalf("%q in %s: at the firing %v the last one is %v", text, loc, at, got)
			}
			if got := s.Prev(at.Add(-1), loc); got.After(from) {
				t.Fatalf("%q in %s: %v lies between %v and the next firing %v", text, loc, got, from, at)
			}
			if n := s.Count(from, at, loc); n != 1 {
				t.Fatalf("%q in %s: %d firings after %v up to the next one, %v", text, loc, n, from, at)
			}
			Upcoming(s, loc, from, 3)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Fatalf("%q took %v", text, took)
		}
	})
}
