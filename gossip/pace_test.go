package gossip

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the requests, exchanges keep their distance, and in the long run there are
// no more than the steady few; after a quiet time a burst is free again.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now, last, runs := start, time.Time{}, 0
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 9).Draw(t, "scheduled") == 0 {
				p.ran(now, false)
				last = now
				continue
			}
			d := p.wait(now)
			if d < 0 || d > paceEvery {
				t.Fatalf("wait %v", d)
			}
			now = now.Add(d)
			if p.wait(now) > 0 {
				t.Fatalf("waited %v, and that was not enough", d)
			}
			if !last.IsZero() && now.Sub(last) < paceGap {
				t.Fatalf("only %v after the last", now.Sub(last))
			}
			p.ran(now, true)
			last = now
			runs++
		}
		if most := paceBurst + 1 + int(now.Sub(start)/paceEvery); runs > most {
			t.Fatalf("%d exchanges in %v", runs, now.Sub(start))
		}
		now = now.Add((paceBurst + 1) * paceEvery)
		for range paceBurst {
			now = now.Add(paceGap)
			if d := p.wait(now); d > 0 {
				t.Fatalf("after a quiet time: %v", d)
			}
			p.ran(now, true)
		}
	})
}
