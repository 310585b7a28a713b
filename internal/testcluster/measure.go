package testcluster

import (
	"slices"
	"testing"
	"time"
)

// Measure waits for check to return nil, as Eventually does, and returns how long that
// took. It looks more often than Eventually, since the figure is what it is for.
func Measure(tb testing.TB, what string, check func() error) time.Duration {
	tb.Helper()
	start := time.Now()
	if err := Poll(Patience, measureEvery, check); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, Patience, err)
	}
	return time.Since(start)
}

// Report gives the median and the maximum of what was measured, as the figures of a
// benchmark of which one operation is all of it. A goal above 0 is what the median should
// be below.
func Report(b *testing.B, times []time.Duration, goal time.Duration) {
	b.Helper()
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(times[len(times)/2]), "median-ms")
	b.ReportMetric(ms(times[len(times)-1]), "max-ms")
	if goal > 0 {
		b.ReportMetric(ms(goal), "goal:median-ms")
	}
	b.ReportMetric(0, "ns/op") // the sum of it all, with the way back, says nothing
}
