package election

import (
	"fmt"
	"testing"
	"time"
)

func benchNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%03d.cluster.example", i)
	}
	return names
}

func benchFirings(n int) []Firing {
	firings := make([]Firing, n)
	for i := range firings {
		firings[i] = Firing{Job: fmt.Sprintf("team-%d/job-%d", i%17, i), At: noon}
	}
	return firings
}

func BenchmarkNewView(b *testing.B) {
	for _, n := range []int{3, 9, 101} {
		s := converged("node-000.cluster.example", benchNames(n), nil).State()
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := NewView(s); !v.IsLeader() {
					b.Fatal("no leader")
				}
			}
		})
	}
}

// BenchmarkJobOwner asks for the owners of 10,000 jobs.
func BenchmarkJobOwner(b *testing.B) {
	jobs := benchFirings(10_000)
	for _, n := range []int{3, 9, 101} {
		v := converged("node-000.cluster.example", benchNames(n), spread)
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range jobs {
					if v.JobOwner(jobs[i].Job) == "" {
						b.Fatal("no owner")
					}
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, v := range []*View{converged("node-000.cluster.example", benchNames(3), nil), converged("node-000.cluster.example", benchNames(3), spread)} {
		b.Run(string(v.Distribution()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Decide(Leader, true, v, "team-1/job-1").Code == CodeNoQuorum {
					b.Fatal("no quorum")
				}
			}
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		firings := benchFirings(n)
		c := voterAt(noon, time.Hour)
		b.Run(fmt.Sprintf("new/%d", n), func(b *testing.B) {
			v, c := NewVotes(), c
			b.ReportAllocs()
			for b.Loop() {
				// A minute later, the same jobs are due again.
				c.Clock.Wall, c.Clock.Uptime = c.Clock.Wall.Add(time.Minute), c.Clock.Uptime+time.Minute
				for i := range firings {
					firings[i].At = c.Clock.Wall
				}
				ballot := v.Judge(c, request("i-1", firings...))
				v.Record(ballot.Cast, c.Clock)
				if len(ballot.Cast) != n {
					b.Fatal(len(ballot.Cast))
				}
				v.Prune(v.Expired(c.Clock))
			}
		})
		b.Run(fmt.Sprintf("taken/%d", n), func(b *testing.B) {
			v, firings := NewVotes(), benchFirings(n)
			v.Record(v.Judge(c, request("i-1", firings...)).Cast, c.Clock)
			r := request("i-2", firings...)
			b.ReportAllocs()
			for b.Loop() {
				if v.Judge(c, r).Answers[n-1].Refusal != RefusedTaken {
					b.Fatal("not taken")
				}
			}
		})
	}
}

// BenchmarkExpired looks through what 10,000 jobs a minute leave in ten minutes.
func BenchmarkExpired(b *testing.B) {
	v := NewVotes()
	for minute := range 10 {
		c := voterAt(noon.Add(time.Duration(minute)*time.Minute), time.Hour)
		firings := benchFirings(10_000)
		for i := range firings {
			firings[i].At = c.Clock.Wall
		}
		v.Record(v.Judge(c, request("i-1", firings...)).Cast, c.Clock)
	}
	now := Clock{Wall: noon.Add(9 * time.Minute), Uptime: time.Hour + time.Minute}
	b.ReportAllocs()
	for b.Loop() {
		if len(v.Expired(now).Votes) != 0 {
			b.Fatal("expired too early")
		}
	}
}

// BenchmarkTally counts a batch of 10,000 firings with three answers each.
func BenchmarkTally(b *testing.B) {
	voters := []Voter{peerVoter("b"), peerVoter("c"), ownVoter}
	b.ReportAllocs()
	for b.Loop() {
		for range 10_000 {
			t := NewTally(5)
			for _, voter := range voters {
				t.Add(voter, Answer{})
				_ = t.OwnVoteDue()
			}
			if t.Verdict(nil).Outcome != Granted {
				b.Fatal("not granted")
			}
		}
	}
}
