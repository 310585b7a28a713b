package simcluster

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
)

// converging is the time after which, when all is well again, all nodes see the same.
const converging = 6 * time.Second

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

// reloads reports whether jobs change in the run.
func (w *world) reloads() bool {
	return slices.ContainsFunc(w.sc.Faults, func(f fault) bool { return f.Kind == faultReload || f.Kind == faultRoll })
}

// leaderJobs lists the Leader jobs that never change in the run.
func (w *world) leaderJobs() []string {
	if w.reloads() {
		return []string{jobSolo}
	}
	return []string{jobSolo, jobTick, jobFlaky}
}

// unrun lists the Leader firings of a span that did not run.
func (w *world) unrun(from, to time.Duration) (list []election.Firing) {
	for _, job := range w.leaderJobs() {
		for _, f := range w.firings(job, from, to) {
			if len(w.ledger.launches[f]) == 0 && !w.overlaps(f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// overlaps reports whether a run of the firing could have met another one of a job whose
// runs must not overlap.
func (w *world) overlaps(f election.Firing) bool {
	if f.Job != jobSolo {
		return false
	}
	from := f.At.Sub(w.began)
	for g, runs := range w.ledger.launches {
		if g.Job != f.Job || g == f {
			continue
		}
		for _, x := range runs {
			if x.until > from-2*time.Second && x.at < from+simDeadline {
				return true
			}
		}
	}
	return false
}

// excuse says why a firing may be lost although the network was good from its instant
// on; "" if nothing excuses it.
func (w *world) excuse(f election.Firing) string {
	l := w.ledger
	quorum := election.Quorum(w.sc.N)
	there := 0 // processes that were there before, and stay
	for _, x := range l.lives {
		if x.from < f.At.Sub(w.began)-1500*time.Millisecond && x.to == 0 && w.sc.Gone>>x.machine&1 == 0 {
			there++
		}
	}
	if there < quorum {
		return "too few nodes were there"
	}
	switch holders := l.votes[f]; {
	case len(holders) > 1:
		return "split votes"
	case bits.OnesCount(l.refused[f][election.RefusedFenced]|w.sc.Gone) > w.sc.N-quorum:
		return "fenced majority"
	default:
		for instance := range holders {
			for _, x := range l.lives {
				if x.instance == instance && x.to != 0 {
					return "votes of a dead claimant"
				}
			}
		}
	}
	return ""
}

// lost returns what was lost in good times and must not have been.
func (w *world) lost() string {
	good := w.sc.Length + converging
	for _, f := range w.unrun(good, good+w.sc.Calm-converging-2*time.Second) {
		return "lost although all was well: " + w.tell(f)
	}
	for _, f := range w.unrun(w.sc.Length, good) {
		if w.excuse(f) == "" {
			return "lost although all was well from its instant on: " + w.tell(f)
		}
	}
	for _, f := range w.firings(jobCheap, good, good+w.sc.Calm-converging-2*time.Second) {
		n := len(w.ledger.launches[f])
		apart := bits.OnesCount(w.sc.Gone)
		if w.sc.Dead {
			apart = 0
		}
		if n != 1+apart {
			return fmt.Sprintf("ran %d times in %d parts: %s", n, 1+apart, w.tell(f))
		}
	}
	return ""
}

// disagree returns how the views of the nodes that can reach each other differ at the
// end.
func (w *world) disagree() string {
	leader := ""
	for i, v := range w.ledger.views {
		if v == nil || w.sc.Gone>>i&1 == 1 {
			continue
		}
		switch {
		case !v.Quorate() || v.Leader() == "":
			return fmt.Sprintf("node %d sees no leader", i)
		case leader == "":
			leader = v.Leader()
		case leader != v.Leader():
			return fmt.Sprintf("node %d sees %s lead, others %s", i, v.Leader(), leader)
		}
	}
	return ""
}

// unrecorded returns a Leader firing that did not run and that nobody wrote down,
// although somebody was there to do so from its instant on.
func (w *world) unrecorded(until time.Duration) string {
	for _, f := range w.unrun(0, until) {
		if len(w.ledger.losses[f]) == 0 && w.witness(f) != "" {
			return fmt.Sprintf("nobody wrote down, though %s was there: %s", w.witness(f), w.tell(f))
		}
	}
	return ""
}

// witness returns a process that went through the whole time in which a firing could
// start, and some more.
func (w *world) witness(f election.Firing) string {
	at := f.At.Sub(w.began)
	from, to := at-2*time.Second, at+simDeadline+2*time.Second
	for _, x := range w.ledger.lives {
		if x.from > from || x.to != 0 && x.to < to || x.set {
			continue
		}
		if !slices.ContainsFunc(x.idle, func(s span) bool { return s.from < to && s.to > from }) {
			return x.instance
		}
	}
	return ""
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
