package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// repetitions of each failover: one operation of a benchmark is all of them, and what is
// reported is their median and maximum.
const repetitions = 3

// onEachSpeed runs a benchmark on stores, with their default settings and with the
// fastest.
func onEachSpeed(b *testing.B, stores map[string]maker, bench func(b *testing.B, w *world)) {
	b.Helper()
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		for _, s := range []speed{byDefault, fastest} {
			b.Run(fmt.Sprintf("%s/%s", name, s), func(b *testing.B) {
				for b.Loop() {
					w := stores[name](b, s, ticks)
					w.Start()
					bench(b, w)
					w.check(b)
				}
			})
		}
	}
}

// From the SIGKILL of the leader until both others see the next one. The goal is the
// lease's duration and one retry.
func BenchmarkKilledLeader(b *testing.B) {
	onEachSpeed(b, makers(false), func(b *testing.B, w *world) { benchmarkFailover(b, w, syscall.SIGKILL, 0) })
}

// The same for a leader that is told to stop. The goal is half a second.
func BenchmarkStoppedLeader(b *testing.B) {
	stores := makers(false)
	stores["kubernetes-watched"] = onWatchedKubernetes
	onEachSpeed(b, stores, func(b *testing.B, w *world) { benchmarkFailover(b, w, syscall.SIGTERM, 500*time.Millisecond) })
}

func benchmarkFailover(b *testing.B, w *world, end os.Signal, goal time.Duration) {
	b.Helper()
	var times []time.Duration
	for range repetitions {
		leader := w.awaitLeader(b, w.Nodes...)
		w.awaitRuns(b, leaderJob, leader)
		// At any moment of a renewal's period, not only just after a firing.
		<-time.After(rand.N(5 * time.Second))
		var next *testcluster.Node
		others := w.others(leader)
		leader.Signal(end)
		times = append(times, testcluster.Measure(b, "the next leader", led(others, &next)))
		leader.Await()
		leader.Start()
	}
	testcluster.Report(b, times, goal)
}

// From the start of a store that was killed, and was away for longer than a lease lasts,
// until one node leads. The goal is the lease's duration.
func BenchmarkRestartedStore(b *testing.B) {
	onEachSpeed(b, makers(true), func(b *testing.B, w *world) {
		var times []time.Duration
		for range 2 { // each takes an outage and its end
			w.awaitRuns(b, leaderJob, w.awaitLeader(b, w.Nodes...))
			w.kill()
			for _, n := range w.Nodes {
				testcluster.Eventually(b, n.NodeName+" is without a store", func() error {
					v, err := n.Cluster()
					if err == nil && v.Quorate {
						err = errors.New("it sees the store")
					}
					return err
				})
			}
			var leader *testcluster.Node
			w.start()
			times = append(times, testcluster.Measure(b, "a leader", led(w.Nodes, &leader)))
		}
		testcluster.Report(b, times, 0)
	})
}

// What a leader and its two followers ask of the store: messages and bytes a minute, as
// they come through the agents' links. With etcd a message is one of gRPC, with Kubernetes
// it is not told, since connections are encrypted.
func BenchmarkLoadOnStore(b *testing.B) {
	stores := makers(false)
	stores["kubernetes-watched"] = onWatchedKubernetes
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		for _, perMinute := range []int{0, 1020} {
			b.Run(name+"/"+strconv.Itoa(perMinute), func(b *testing.B) {
				for b.Loop() {
					w := stores[name](b, byDefault, func(testcluster.Journal) []testcluster.Job { return load(perMinute) })
					w.Start()
					benchmarkLoad(b, w)
				}
			})
		}
	}
}

// load is so many firings a minute, of jobs that are due at each second; one that is
// never due if there are none.
func load(perMinute int) []testcluster.Job {
	jobs := []testcluster.Job{{Name: "never", Policy: "Leader", Schedule: "0 0 1 1 * 2099", Command: "true"}}
	for i := range perMinute / 60 {
		jobs = append(jobs, testcluster.Job{Name: "job-" + strconv.Itoa(i), Policy: "Leader", Command: "true"})
	}
	return jobs
}

func benchmarkLoad(b *testing.B, w *world) {
	b.Helper()
	const period = 15 * time.Second
	leader := w.awaitLeader(b, w.Nodes...)
	before := map[string]realstore.Traffic{}
	for _, n := range w.Nodes {
		before[n.NodeName] = w.links[n.NodeName][0].Traffic()
	}
	<-time.After(period)
	if now := w.awaitLeader(b, w.Nodes...); now != leader {
		b.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
	}
	perMinute := float64(time.Minute / period)
	for role, nodes := range map[string][]*testcluster.Node{"leader": {leader}, "follower": w.others(leader)} {
		var sum realstore.Traffic
		for _, n := range nodes {
			t := w.links[n.NodeName][0].Traffic().Sub(before[n.NodeName])
			sum.Messages += t.Messages
			sum.BytesUp += t.BytesUp
			sum.BytesDown += t.BytesDown
		}
		each := perMinute / float64(len(nodes))
		if sum.Messages > 0 {
			b.ReportMetric(float64(sum.Messages)*each, role+"-messages/min")
		}
		b.ReportMetric(float64(sum.BytesUp)*each, role+"-up-B/min")
		b.ReportMetric(float64(sum.BytesDown)*each, role+"-down-B/min")
	}
	b.ReportMetric(0, "ns/op")
}
