package election

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name         string
		ahead, error time.Duration
		fresh        bool // excessive as the first measurement
		lasting      bool // excessive after one that was
	}{
		{"equal", 0, 0, false, false},
		{"close", 1400 * ms, ms, false, false},
		{"closer than the limit", -1600 * ms, ms, false, true},
		{"at the limit", ClockSkew, 0, false, true},
		{"beyond", ClockSkew + ms, 0, true, true},
		{"behind", -ClockSkew - ms, 0, true, true},
		{"beyond, with doubt", 2500 * ms, 600 * ms, false, true},
		{"beyond, without", 2500 * ms, 400 * ms, true, true},
		{"nothing known", 0, time.Hour, false, false},
		{"a negative error", ClockSkew, -time.Hour, false, true},
		{"the highest", math.MaxInt64, 0, true, true},
		{"the lowest", math.MinInt64, 0, true, true},
		{"the lowest, in doubt", math.MinInt64, math.MaxInt64, false, true},
	} {
		if s := Compare(nil, test.ahead, test.error); s.Excessive != test.fresh {
			t.Errorf("%s: excessive %v at first", test.name, s.Excessive)
		}
		if s := Compare(&Skew{}, test.ahead, test.error); s.Excessive != test.fresh {
			t.Errorf("%s: excessive %v after a good one", test.name, s.Excessive)
		}
		if s := Compare(&Skew{Excessive: true}, test.ahead, test.error); s.Excessive != test.lasting {
			t.Errorf("%s: excessive %v after a bad one", test.name, s.Excessive)
		}
	}
}

// Clocks that tremble around the limit by less than the gap change their state once.
func TestCompareTrembles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sign := rapid.SampledFrom([]time.Duration{-1, 1}).Draw(t, "sign")
		var s *Skew
		changes := 0
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			ahead := ClockSkew + time.Duration(rapid.Int64Range(int64(-400*time.Millisecond), int64(time.Hour)).Draw(t, "ahead"))
			before := s != nil && s.Excessive
			s = Compare(s, sign*ahead, time.Millisecond)
			if s.Excessive != before {
				changes++
			}
		}
		if changes > 1 {
			t.Fatalf("%d changes", changes)
		}
	})
}

// What was measured lasts as long as what the peer told.
func TestSkewLastsWithTheRow(t *testing.T) {
	row := Observe(Peer{}, testSelf, seen(Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:same"}))
	row.Skew = Compare(nil, time.Second, time.Millisecond)
	row = Observe(row, testSelf, seen(Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:same"}))
	if row.Skew == nil || row.Skew.Ahead != time.Second {
		t.Errorf("after another exchange: %+v", row.Skew)
	}
	if row := Observe(row, testSelf, Observation{Failure: &Failure{Text: "gone"}}); row.Skew != nil {
		t.Errorf("after a failure: %+v", row.Skew)
	}
	if row := Observe(row, testSelf, seen(Report{NodeName: "b", InstanceID: "ic", JobSetID: "v1:same"})); row.Skew != nil {
		t.Errorf("another process, the old clock: %+v", row.Skew)
	}
}
