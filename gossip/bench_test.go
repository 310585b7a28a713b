package gossip

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// BenchmarkColdStart measures the time from the start of all nodes, at the same moment,
// until all agree on all members and the leader.
func BenchmarkColdStart(b *testing.B) {
	for _, hosts := range [][]string{
		{"a", "b", "c"},
		{"a", "b", "c", "d", "e", "f", "g"},
	} {
		b.Run(fmt.Sprint(len(hosts)), func(b *testing.B) {
			var worst time.Duration
			for b.Loop() {
				b.StopTimer()
				c := newTestCluster(b)
				for _, h := range hosts {
					c.node(h)
				}
				b.StartTimer()
				began := time.Now()
				c.startAll()
				c.settled(len(hosts), "a", hosts...)
				worst = max(worst, time.Since(began))
				b.StopTimer()
				for _, n := range c.nodes {
					n.kill()
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(worst.Milliseconds()), "ms-max")
		})
	}
}

// BenchmarkLeaderKill measures the time from the death of the leader until both
// survivors have the next one.
func BenchmarkLeaderKill(b *testing.B) {
	c := newTestCluster(b)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h)
	}
	c.startAll()
	var times []time.Duration
	for b.Loop() {
		b.StopTimer()
		c.settled(3, "a", "a", "b", "c")
		b.StartTimer()
		began := time.Now()
		var dying sync.WaitGroup
		dying.Go(c.nodes["a"].kill) // which waits for the last of its goroutines
		c.settled(2, "b", "b", "c")
		times = append(times, time.Since(began))
		b.StopTimer()
		dying.Wait()
		c.nodes["a"].start()
		b.StartTimer()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(times[len(times)-1].Microseconds())/1000, "ms-max")
}

// BenchmarkClaim measures the claim of one and of a thousand firings over three nodes.
func BenchmarkClaim(b *testing.B) {
	_, jobs := batch(time.Time{}, 1000)
	c := agreed(b, func(c *Config) { c.LeaderJobs = jobs })
	at := unfenced(b)
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				at = at.Add(time.Nanosecond) // never the same firing twice
				firings, _ := batch(at, n)
				began := time.Now()
				verdicts := c.nodes["a"].Claim(context.Background(), firings)
				times = append(times, time.Since(began))
				if v := verdicts[n-1]; v.Outcome != election.Granted {
					b.Fatalf("%+v", v)
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/firing")
		})
	}
}

// BenchmarkState measures what one exchange costs besides the wire: telling and taking
// the state of a node with 512 jobs.
func BenchmarkState(b *testing.B) {
	jobs := make(map[string]JobSummary)
	in := 30.0
	for i := range maxSummaries {
		jobs[fmt.Sprintf("job-%04d", i)] = JobSummary{Enabled: true, ScheduledIn: &in, Last: &LastRun{Outcome: "success", FinishedAt: "2026-01-01T00:00:00.000000Z", Duration: &in}}
	}
	w := wireReport(election.Report{NodeName: "a", Members: []election.Member{{NodeName: "a", InstanceID: newInstanceID()}}})
	w.Summaries = encodeSummaries(jobs)
	var data []byte
	b.Run("tell", func(b *testing.B) {
		for b.Loop() {
			var err error
			if data, err = w.encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("take", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := decodeState(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
