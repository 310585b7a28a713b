package simcluster

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/simfault"
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
	return slices.ContainsFunc(w.sc.Faults, func(f simfault.Fault) bool { return f.Kind == simfault.Reload || f.Kind == simfault.Roll })
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
		if len(w.ledger.losses[f]) == 0 && w.witness(f) != "" && !w.unaware(f) {
			return fmt.Sprintf("nobody wrote down, though %s was there: %s", w.witness(f), w.tell(f))
		}
	}
	return ""
}

// unaware reports whether a firing was granted to a process that died long after that
// without having started it: answers were lost, so that it did not know. Who hears from a
// process that much later takes it that it has run the job, or has written down why not.
func (w *world) unaware(f election.Firing) bool {
	const startSlack = time.Second
	m, ok := w.ledger.majority[f]
	return ok && slices.ContainsFunc(w.ledger.lives, func(x *life) bool {
		return x.instance == m.instance && x.to > m.at+startSlack
	})
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

// oneShots returns an @reboot job that was started twice under one job set, in a run in
// which no process ended: its votes don't outlive a process.
func (w *world) oneShots() string {
	if slices.ContainsFunc(w.ledger.lives, func(x *life) bool { return x.to != 0 }) || w.sc.Resize.By != 0 || w.sc.Joiners != 0 {
		return ""
	}
	for set, runs := range w.ledger.boots {
		if len(runs) > 1 {
			return fmt.Sprintf("the one-shot of %s ran %d times: %v", set, len(runs), runs)
		}
	}
	return ""
}

// handedOver returns what nodes that come and go one at a time lost or doubled.
func (w *world) handedOver() string {
	end := w.sc.Length + w.sc.Calm - simDeadline - time.Second
	for _, f := range w.unrun(converging, end) {
		if !w.died(f) && len(w.ledger.votes[f]) < 2 {
			return "lost in a hand-over: " + w.tell(f)
		}
	}
	for _, f := range w.firings(jobCheap, converging, end) {
		at, n := f.At.Sub(w.began), len(w.ledger.launches[f])
		least, most := 1, 1
		for _, x := range w.ledger.lives {
			if x.to != 0 && at > x.to-3*time.Second && at < x.to+2*time.Second {
				most = 2 // its successor can't know whether it ran that
			}
			if x.stop != 0 && at > x.stop-1500*time.Millisecond && at < x.stop+time.Second {
				most = 2 // likewise
			}
			if at > x.from-time.Second && at < x.from+4*time.Second {
				least = 0 // its rightful owner is held
			}
			if at > x.from+30*time.Millisecond && at < x.from+300*time.Millisecond {
				most = 2 // it is held no more, which the others know one message later
			}
		}
		if n < least || n > most {
			return fmt.Sprintf("ran %d times: %s", n, w.tell(f))
		}
	}
	return ""
}

// died reports whether a process to which votes for a firing were given has ended soon
// after.
func (w *world) died(f election.Firing) bool {
	for instance := range w.ledger.votes[f] {
		for _, x := range w.ledger.lives {
			if x.instance == instance && x.to != 0 && x.to < f.At.Sub(w.began)+3*time.Second {
				return true
			}
		}
	}
	return false
}

// stoodDown returns what ran, or did not, although two nodes bear one name.
func (w *world) stoodDown() string {
	end := w.sc.Length + w.sc.Calm - 2*time.Second
	for _, job := range w.leaderJobs() {
		for _, f := range w.firings(job, converging, end) {
			if len(w.ledger.launches[f]) > 0 {
				return "ran in spite of a conflict: " + w.tell(f)
			}
		}
	}
	for _, f := range w.firings(jobCheap, converging, end) {
		if n := len(w.ledger.launches[f]); n != 1 {
			return fmt.Sprintf("ran %d times: %s", n, w.tell(f))
		}
	}
	return ""
}
