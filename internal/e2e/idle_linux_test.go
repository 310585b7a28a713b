package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Memory and processor time of an agent that only waits, alone and as the leader of
// three.
func BenchmarkIdle(b *testing.B) {
	const window = 20 * time.Second
	for _, members := range []int{1, 3} {
		for _, jobs := range []int{10, 10000} {
			b.Run(fmt.Sprintf("members=%d/jobs=%d", members, jobs), func(b *testing.B) {
				for b.Loop() {
					c := testcluster.New(b, testcluster.Options{
						Names: []string{"yacron-a", "yacron-b", "yacron-c"}[:members],
						Jobs:  func(testcluster.Journal) []testcluster.Job { return idleJobs(jobs) },
					})
					a := c.Nodes[0]
					c.Start()
					testcluster.Eventually(b, "the agent's answer", func() error {
						_, err := a.Cluster()
						return err
					})
					if members > 1 {
						c.AwaitAgreement("yacron-a")
					}
					before := a.CPU()
					<-time.After(window)
					cpu := a.CPU() - before
					b.ReportMetric(cpu.Seconds()*float64(time.Minute/window), "cpu-s/min")
					b.ReportMetric(float64(a.RSS())/1e6, "rss-MB")
					b.ReportMetric(0, "ns/op")
				}
			})
		}
	}
}

// idleJobs returns jobs with schedules that differ and are not due for long.
func idleJobs(n int) []testcluster.Job {
	jobs := make([]testcluster.Job, n)
	for i := range jobs {
		jobs[i] = testcluster.Job{
			Name:     fmt.Sprintf("job-%04d", i),
			Schedule: fmt.Sprintf("%d %d 1 1 * 2099", i%60, i/60%24),
			Command:  "true",
		}
	}
	return jobs
}
