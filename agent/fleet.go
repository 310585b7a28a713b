package agent

import (
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/gossip"
	"github.com/yacron2/yacron2/scheduler"
)

// summaries is what this node tells the fleet about its jobs.
func (a *Agent) summaries() (map[string]gossip.JobSummary, bool) {
	now := time.Now()
	own := a.dispatcher.Summaries()
	out := make(map[string]gossip.JobSummary, len(own))
	for name, s := range own {
		out[name] = gossipSummary(s, now)
	}
	return out, false
}

func gossipSummary(s scheduler.Summary, now time.Time) gossip.JobSummary {
	out := gossip.JobSummary{Running: s.Running, Enabled: s.Enabled}
	if !s.NextAt.IsZero() {
		out.ScheduledIn = new(max(s.NextAt.Sub(now), 0).Seconds())
	}
	if last := s.Last; last != nil {
		out.Last = &gossip.LastRun{
			Outcome:    string(last.Outcome),
			FinishedAt: api.At(last.FinishedAt).String(),
			Duration:   duration(*last),
			ExitCode:   last.ExitCode,
		}
	}
	return out
}
