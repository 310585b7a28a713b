package e2e

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// repetitions of each measurement: one operation of a benchmark is all of them, and
// what is reported is their median and maximum.
const repetitions = 20

// failoverGoal is how long there should be no leader at most, as a rule.
const failoverGoal = time.Second

// From the start of three processes at once to agreement of all on the leader.
func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		c := testcluster.New(b, testcluster.Options{})
		var times []time.Duration
		for range repetitions {
			c.Start()
			times = append(times, testcluster.Measure(b, "agreement", c.Agrees("yacron-a")))
			c.Kill()
		}
		testcluster.Report(b, times, 0)
	}
}

// From the SIGKILL of the leader until both others see the next one, and how many of a
// job's firings, one a second, are lost by it on average.
func BenchmarkKilledLeader(b *testing.B) {
	benchmarkFailover(b, syscall.SIGKILL)
}

// The same for a leader that is told to stop.
func BenchmarkStoppedLeader(b *testing.B) {
	benchmarkFailover(b, syscall.SIGTERM)
}

func benchmarkFailover(b *testing.B, end os.Signal) {
	for b.Loop() {
		c := testcluster.New(b, testcluster.Options{Jobs: ticks})
		leader := c.Nodes[0]
		next := testcluster.All(leaderIs(c.Nodes[1], "yacron-b"), leaderIs(c.Nodes[2], "yacron-b"))
		c.Start()
		c.AwaitAgreement("yacron-a")
		awaitLeaderRun(b, c)
		from := testcluster.NextSecond()
		var times []time.Duration
		for range repetitions {
			awaitLeaderRun(b, c)
			// At any instant, not only just after a firing.
			<-time.After(rand.N(time.Second))
			leader.Signal(end)
			times = append(times, testcluster.Measure(b, "the next leader", next))
			leader.Await()
			leader.Start()
			c.AwaitAgreement("yacron-a")
		}
		testcluster.Report(b, times, failoverGoal)
		awaitLeaderRun(b, c)
		lost := 0
		for _, ran := range c.Entries().Of(leaderJob).Times(from, time.Now().Add(-time.Second), time.Second) {
			if ran == 0 {
				lost++
			}
		}
		b.ReportMetric(float64(lost)/repetitions, "lost-firings")
		if doubled := c.Entries().Of(leaderJob).Duplicates(); len(doubled) > 0 {
			b.Errorf("doubled firings: %v", doubled)
		}
	}
}

// From the SIGHUP of a node that had other jobs until all agree.
func BenchmarkReloadToAgreement(b *testing.B) {
	for b.Loop() {
		c := testcluster.New(b, testcluster.Options{Jobs: ticks})
		other := c.Nodes[2]
		c.Start()
		var times []time.Duration
		for range repetitions {
			c.AwaitAgreement("yacron-a")
			other.WriteJobs(ticks(c.Journal)[:1]...)
			other.Reload()
			testcluster.Eventually(b, "disagreement", c.Nodes[0].SeesPeer(other, "syncing", "drifted"))
			other.WriteJobs(ticks(c.Journal)...)
			other.Reload()
			times = append(times, testcluster.Measure(b, "agreement", c.Agrees("yacron-a")))
		}
		testcluster.Report(b, times, 0)
	}
}
