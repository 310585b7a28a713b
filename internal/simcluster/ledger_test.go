package simcluster

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// launch is one start of a job.
type launch struct {
	job      string
	firing   time.Time // zero for @reboot
	attempt  int
	instance string
	machine  int
	handed   time.Duration // when the dispatcher handed it over
	at       time.Duration // when it was started
	until    time.Duration // when it ends, unless it is cancelled
	wall     time.Time     // by the machine's clock, when it was handed over
}

// record is one firing that a process wrote down as missed.
type record struct {
	instance     string
	code, reason string
}

// life is the time in which a process could act.
type life struct {
	machine  int
	instance string
	from, to time.Duration // to is 0 while it lives
	stop     time.Duration // when it was told to stop; 0: never
	idle     []span        // when it was frozen
	set      bool          // its clock was set
	version  []change
}

type span struct{ from, to time.Duration }

type change struct {
	at      time.Duration
	version int
}

// ledger is what happened in a run. The world's mu guards it.
type ledger struct {
	w        *world
	problems []string

	launches map[election.Firing][]launch // first attempts
	retries  map[string]launch            // by firing and attempt
	boots    map[string][]launch          // by job-set id
	losses   map[election.Firing][]record
	requests map[string]bool                    // by instance and firing
	votes    map[election.Firing]map[string]int // holders, and by how many machines
	majority map[election.Firing]majority
	refused  map[election.Firing]map[election.Refusal]uint // machines, the newest answer of each
	final    map[string]map[election.Firing]election.Outcome
	lives    []*life
	decided  map[string]int // by outcome and code
	trace    uint64
	story    []string         // what trace is made of, if the world is verbose
	views    []*election.View // at the end; nil for what is down
}

func newLedger(w *world) *ledger {
	return &ledger{
		w: w, launches: map[election.Firing][]launch{}, retries: map[string]launch{}, boots: map[string][]launch{},
		requests: map[string]bool{}, losses: map[election.Firing][]record{}, votes: map[election.Firing]map[string]int{},
		majority: map[election.Firing]majority{},
		refused:  map[election.Firing]map[election.Refusal]uint{},
		final:    map[string]map[election.Firing]election.Outcome{}, decided: map[string]int{},
	}
}

// majority is who has got enough votes for a firing, and when.
type majority struct {
	instance string
	at       time.Duration
}

// traced adds something that happened to the fingerprint of the run. What happens at one
// instant happens in no order.
func (l *ledger) traced(format string, args ...any) {
	h := fnv.New64a()
	fmt.Fprintf(h, format, args...)
	fmt.Fprint(h, " at ", l.w.elapsed())
	l.trace += h.Sum64()
	if l.w.verbose {
		l.story = append(l.story, fmt.Sprintf("%012d ", l.w.elapsed())+fmt.Sprintf(format, args...))
	}
}

func (l *ledger) lifeOf(p *process) *life {
	i := slices.IndexFunc(l.lives, func(x *life) bool { return x.instance == p.instance })
	return l.lives[i]
}

func (l *ledger) started(p *process) {
	l.lives = append(l.lives, &life{machine: p.m.index, instance: p.instance, from: l.w.elapsed(),
		version: []change{{l.w.elapsed(), p.m.version}}})
	l.traced("start %s", p.instance)
}

func (l *ledger) died(p *process) {
	l.lifeOf(p).to = l.w.elapsed()
	l.traced("end %s", p.instance)
}

func (l *ledger) froze(m *machine, d time.Duration) {
	if p := m.proc; p != nil {
		x := l.lifeOf(p)
		x.idle = append(x.idle, span{l.w.elapsed(), l.w.elapsed() + d})
	}
}

func (l *ledger) reloaded(p *process, version int) {
	x := l.lifeOf(p)
	x.version = append(x.version, change{l.w.elapsed(), version})
}

// launched notes a start, and complains about one that must not be.
func (l *ledger) launched(p *process, x launch) {
	w := l.w
	l.traced("launch %s %s %d %s", x.job, x.firing, x.attempt, x.instance)
	if x.job == jobAll {
		return
	}
	if x.job == jobBoot {
		l.boots[p.set.id] = append(l.boots[p.set.id], x)
		return
	}
	f := election.Firing{Job: x.job, At: x.firing}
	earlier := l.launches[f]
	if x.attempt > 1 {
		key := fmt.Sprint(f, x.attempt)
		if y, ok := l.retries[key]; ok && x.job != jobCheap {
			w.complain("attempt %d of %v was started twice: by %s and %s", x.attempt, f, y.instance, x.instance)
		}
		l.retries[key] = x
		if g := p.member; time.Since(g.since) > 200*time.Millisecond && w.sc.Free == 0 {
			policy := election.Leader
			if x.job == jobCheap {
				policy = election.PreferLeader
			}
			if d := election.DecideRetry(policy, true, g.view, x.job); d.Action != election.Run {
				w.complain("%s retries %v although %s", x.instance, f, d.Reason)
			}
		}
		if len(earlier) > 0 && earlier[0].instance != x.instance {
			w.complain("%s retries %v, which is %s's", x.instance, f, earlier[0].instance)
		}
		return
	}
	l.launches[f] = append(earlier, x)
	if x.job == jobSolo && w.sc.Orderly {
		l.overlapping(x)
	}
	if x.job == jobCheap {
		if slices.ContainsFunc(earlier, func(y launch) bool { return y.instance == x.instance }) && !p.clockSet {
			w.complain("%s runs %v twice", x.instance, f)
		}
	} else if len(earlier) > 0 {
		w.complain("DOUBLED: %v was started by %s at %v and by %s", f, earlier[0].instance, earlier[0].at, x.instance)
	}
	switch {
	case x.wall.Before(x.firing) && !p.clockSet:
		w.complain("%s starts %v %v too early", x.instance, f, x.firing.Sub(x.wall))
	case x.wall.Sub(x.firing) > simDeadline+time.Millisecond && !p.clockSet:
		w.complain("%s starts %v %v after its instant", x.instance, f, x.wall.Sub(x.firing))
	case !p.stopped.IsZero() && x.firing.After(p.stopped) && !p.clockSet:
		w.complain("%s starts %v although it is stopping", x.instance, f)
	}
	if !p.had(x.job, x.firing) && !p.clockSet {
		w.complain("%s starts %v, which was not due while it held the job", x.instance, f)
	}
}

// overlapping complains if a job that must not overlap still runs on another node that
// could have said so.
func (l *ledger) overlapping(x launch) {
	for f, runs := range l.launches {
		for _, y := range runs {
			if f.Job != x.job || y.machine == x.machine || y.until < x.at || y.at > x.at-500*time.Millisecond {
				continue
			}
			if q := l.w.machines[y.machine].proc; q != nil && q.instance == y.instance {
				l.w.complain("%s starts %s while it runs on %s", x.instance, x.job, y.instance)
			}
		}
	}
}

// asked notes that a process claims, and complains if it had its answer, or asks early.
func (l *ledger) asked(p *process, firings []election.Firing) {
	if p.dead {
		return
	}
	for _, f := range firings {
		l.traced("%s asks for %v", p.instance, f)
		if f.Reboot() {
			continue
		}
		if key := p.instance + fmt.Sprint(f); !l.requests[key] {
			l.requests[key] = true
			if !p.holds(f.Job, f.At) && !p.clockSet {
				l.w.complain("%s asks for %v, which was due while the job was another one", p.instance, f)
			}
		}
		if outcome, ok := l.final[p.instance][f]; ok {
			l.w.complain("%s asks for %v again, which was %s", p.instance, f, outcome)
		}
		if p.m.wall().Before(f.At) && !p.clockSet {
			l.w.complain("%s asks for %v before its instant", p.instance, f)
		}
	}
}

// answered notes what came of a claim.
func (l *ledger) answered(p *process, verdicts map[election.Firing]election.Verdict) {
	if p.dead {
		return
	}
	if l.final[p.instance] == nil {
		l.final[p.instance] = map[election.Firing]election.Outcome{}
	}
	for f, v := range verdicts {
		l.traced("%s claimed %v: %s %s", p.instance, f, v.Outcome, v.Reason)
		if v.Outcome != election.Pending && !f.Reboot() {
			l.final[p.instance][f] = v.Outcome
		}
	}
}

// probed notes what came of a question.
func (l *ledger) probed(p *process, verdicts map[election.Firing]election.Verdict) {
	for f, v := range verdicts {
		l.traced("%s probed %v: %s %s, held %v by %s", p.instance, f, v.Outcome, v.Reason, v.Held, v.HolderID)
	}
}

// voted notes the votes that were cast and what was refused.
func (l *ledger) voted(p *process, r election.ClaimRequest, b election.Ballot) {
	if r.Probe {
		return
	}
	for _, v := range b.Cast {
		l.traced("vote %s %v %s", p.instance, v.Firing, v.InstanceID)
		if l.votes[v.Firing] == nil {
			l.votes[v.Firing] = map[string]int{}
		}
		l.votes[v.Firing][v.InstanceID]++
		if l.votes[v.Firing][v.InstanceID] == election.Quorum(l.w.sc.N) {
			l.majority[v.Firing] = majority{v.InstanceID, l.w.elapsed()}
		}
	}
	for i, f := range r.Firings {
		if l.refused[f] == nil {
			l.refused[f] = map[election.Refusal]uint{}
		}
		l.refused[f][b.Answers[i].Refusal] |= 1 << p.m.index
	}
}

// missed notes a firing that a process wrote down as missed.
func (l *ledger) missed(p *process, m history.Missed) {
	l.traced("missed %s %s %s %s", p.instance, m.Job, m.Firing, m.Code)
	f := election.Firing{Job: m.Job, At: m.Firing}
	l.losses[f] = append(l.losses[f], record{p.instance, m.Code, m.Reason})
}

// event takes what a dispatcher tells.
func (l *ledger) event(p *process, e scheduler.Event) {
	if d := e.Decision; e.Kind == scheduler.FiringDecided {
		l.traced("%s decides %s %s: %s %s %s", p.instance, e.Job.Name, e.Firing, d.Outcome, d.Code, d.Reason)
	}
	if e.Kind == scheduler.FiringDecided && e.Decision.Outcome != scheduler.DecidedPending {
		l.decided[e.Decision.Outcome+" "+e.Decision.Code]++
	}
}

// close notes the state of the cluster at the end.
func (l *ledger) close() {
	for _, m := range l.w.machines {
		var v *election.View
		if m.proc != nil {
			v = m.proc.member.view
		}
		l.views = append(l.views, v)
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
