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
		peers := rapid.SampledFrom([]int{1, 2, pacePeers, pacePeers + 1, 24, 100, maxPeers}).Draw(t, "peers")
		p := newPace(peers)
		if peers <= pacePeers && (p.gap != paceGap || p.every != paceEvery || p.burst != paceBurst) {
			t.Fatalf("%d peers: %+v", peers, p)
		}
		if all := float64(peers) / p.every.Seconds(); all > pacePeers/paceEvery.Seconds()*1.001 {
			t.Fatalf("%v exchanges a second with %d peers", all, peers)
		}
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
			if d < 0 || d > p.every {
				t.Fatalf("wait %v", d)
			}
			now = now.Add(d)
			if p.wait(now) > 0 {
				t.Fatalf("waited %v, and that was not enough", d)
			}
			if !last.IsZero() && now.Sub(last) < p.gap {
				t.Fatalf("only %v after the last", now.Sub(last))
			}
			p.ran(now, true)
			last = now
			runs++
		}
		if most := p.burst + 1 + int(now.Sub(start)/p.every); runs > most {
			t.Fatalf("%d exchanges in %v", runs, now.Sub(start))
		}
		now = now.Add(time.Duration(p.burst+1) * p.every)
		for range p.burst {
			now = now.Add(p.gap)
			if d := p.wait(now); d > 0 {
				t.Fatalf("after a quiet time: %v", d)
			}
			p.ran(now, true)
		}
	})
}
