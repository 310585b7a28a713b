package simcluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
)

// close notes the state of the cluster at the end. mu is held.
func (l *ledger) close() {
	for _, m := range l.w.machines {
		if m.proc != nil {
			l.views = append(l.views, m.proc.member.view)
		}
	}
}

// granted reports whether a claim was granted anything.
func (l *ledger) granted(verdicts map[election.Firing]election.Verdict) bool {
	for _, v := range verdicts {
		if v.Outcome == election.Granted {
			return true
		}
	}
	return false
}

// firings lists the instants of a job in a span of the run.
func (w *world) firings(job string, from, to time.Duration) (list []election.Firing) {
	every := period[job]
	for at := w.began.Add(from).Truncate(every); at.Before(w.began.Add(to)); at = at.Add(every) {
		if !at.Before(w.began.Add(from)) {
			list = append(list, election.Firing{Job: job, At: at.UTC()})
		}
	}
	return list
}

// leaderJobs lists the Leader jobs that all versions from the first to the last in force
// have alike.
func (w *world) leaderJobs() []string {
	jobs := []string{jobSolo}
	if !slices.ContainsFunc(w.sc.Faults, func(f fault) bool { return f.Kind == faultReload || f.Kind == faultRoll }) {
		jobs = append(jobs, jobTick, jobFlaky)
	}
	return jobs
}

// unrun lists the Leader firings of a span that did not run.
func (w *world) unrun(from, to time.Duration) (list []election.Firing) {
	for _, job := range w.leaderJobs() {
		for _, f := range w.firings(job, from, to) {
			if len(w.ledger.launches[f]) == 0 {
				list = append(list, f)
			}
		}
	}
	return list
}

// tell describes what is known of a firing.
func (w *world) tell(f election.Firing) string {
	l := w.ledger
	return fmt.Sprintf("%s at %v: launches %v, votes %v, refused %v, losses %v", f.Job, f.At.Sub(w.began),
		l.launches[f], l.votes[f], l.refused[f], l.losses[f])
}

// explain tells what went on, for a failure message.
func (w *world) explain() string {
	text := fmt.Sprintf("scenario %+v\ndecided %v", w.sc, w.ledger.decided)
	for _, m := range w.machines {
		if m.proc == nil {
			text += "\n" + m.name + " is down"
			continue
		}
		d := election.Decide(election.Leader, true, m.proc.member.view, jobTick)
		text += fmt.Sprintf("\n%s, %s: %s, owner %s: %s", m.proc.instance, m.proc.set.id, d.Action, d.Owner, d.Reason)
	}
	return text
}
