package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/yacron2/yacron2/election"
)

const (
	// doubtFor is how long after its deadline the fate of a firing may stay in doubt: long
	// enough for most cuts to heal, and well before voters forget their votes.
	doubtFor = 2 * time.Minute
	// doubtPause is the time from one question about it to the next.
	doubtPause = 5 * time.Second
	// doubtsKept bounds how many firings are in doubt.
	doubtsKept = 10000
	// noticeWithin is the time within which nodes notice that one is gone.
	noticeWithin = 5 * time.Second
	// startSlack is the time after which a process that goes on has started what it was
	// granted, or has written down why not.
	startSlack = time.Second
)

// prober is a Coordinator that can tell what a claim would come to, without claiming.
type prober interface {
	Probe(ctx context.Context, firings []election.Firing) []election.Verdict
}

// witness is a Coordinator that can tell when its node voted for a firing, if it gave its
// vote to the process, and when it last heard from that process, both by the wall clock.
// The zero time means never.
type witness interface {
	Witness(f election.Firing, instance string) (voted, heard time.Time)
}

// doubt is a firing that did not run here and of which this node can't tell whether it
// ran elsewhere: it was cut off from the others, or voters had given their votes to a
// process that may have died before it started the job. Only a process that holds a
// firing knows what it did with it; as long as that process goes on, it writes down
// itself what it did not start.
type doubt struct {
	firing
	lost  verdict   // what is recorded if nobody has it
	told  bool      // it was decided already, and only a loss is worth another word
	due   time.Time // by the wall clock: nobody starts it any more
	until time.Time // and by then a verdict falls

	holder string // instance id of the process that has, or is thought to have, most votes
	name   string // of its node
	held   bool   // it has a majority of them
	// presumed: held counts on the holder's own vote, of which it has not told itself
	presumed bool
	nobody   bool // nobody has a majority, or gets one any more
	voted    time.Time
	heard    time.Time
	asked    bool
	answer   string // the newest one, in words
}

// doubts are the firings in doubt, in the order in which they came to be.
type doubts struct {
	list   []*doubt
	asking bool
	next   time.Time // when to look again, unless the view changes; meaningless without a list
}

// lose records that a firing did not run, unless another node may have run it: then
// that is found out first. mu is held.
func (d *Dispatcher) lose(f *firing, lost verdict, known election.Verdict) {
	x := &doubt{firing: *f, lost: lost, holder: known.HolderID, name: known.Holder, held: known.Held, presumed: known.Presumed}
	if !d.needsClaim(f.entry.subject) || !d.wonder(x) {
		d.decide(f, lost)
		return
	}
	lost.outcome = DecidedPending
	lost.reason += "; whether another node ran it is being found out"
	d.decide(f, lost)
}

// mistrust keeps an eye on a firing that another process is said to have, in case that
// ends before it starts the job. mu is held.
func (d *Dispatcher) mistrust(f *firing, instance, name string) {
	if instance != "" {
		d.wonder(&doubt{firing: *f, told: true, holder: instance, name: name,
			lost: verdict{outcome: DecidedMissed, code: election.CodeSplit, reason: "competing claims were given up, and nobody has it"}})
	}
}

// wonder keeps a doubt, and reports whether it could. mu is held.
func (d *Dispatcher) wonder(x *doubt) bool {
	if _, can := d.coordinator.(prober); !can || len(d.doubts.list) >= doubtsKept || d.phase > phaseRunning {
		return false
	}
	x.due = deadline(x.entry.subject, x.at)
	if soon := x.at.Add(noticeWithin); x.due.Before(soon) {
		x.due = soon
	}
	x.until = x.due.Add(doubtFor)
	if len(d.doubts.list) == 0 || x.due.Before(d.doubts.next) {
		d.doubts.next = x.due
		d.poke()
	}
	d.doubts.list = append(d.doubts.list, x)
	return true
}

// resolveDoubts looks at the firings in doubt again. mu is held.
func (d *Dispatcher) resolveDoubts(now time.Time, viewChanged bool) {
	p := &d.doubts
	if len(p.list) == 0 || !viewChanged && !now.After(p.next) {
		return
	}
	canAsk := d.view != nil && d.view.Quorate() && !p.asking
	pause := !now.After(p.next)
	if !pause { // views that change all the time must not put it off
		p.next = now.Add(doubtPause)
	}
	var ask []*doubt
	kept := p.list[:0]
	for _, x := range p.list {
		switch {
		case !now.After(x.due):
			p.next = earlier(p.next, x.due)
		case d.resolve(x):
			continue
		case now.After(x.until):
			d.unresolved(x)
			continue
		case canAsk && (!pause || !x.asked) && len(ask) < claimBatch:
			ask = append(ask, x)
		}
		kept = append(kept, x)
	}
	clear(p.list[len(kept):])
	p.list = kept
	d.inquire(ask)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// inquire asks the voters who has the firings. mu is held.
func (d *Dispatcher) inquire(asked []*doubt) {
	p, can := d.coordinator.(prober)
	if len(asked) == 0 || !can {
		return
	}
	request := make([]election.Firing, len(asked))
	for i, x := range asked {
		request[i] = election.Firing{Job: x.entry.name, At: x.at}
	}
	d.doubts.asking = true
	d.workers.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, claimCall)
		defer cancel()
		verdicts := p.Probe(ctx, request)
		voted, heard := make([]time.Time, len(asked)), make([]time.Time, len(asked))
		if w, can := p.(witness); can {
			for i, v := range verdicts[:min(len(verdicts), len(asked))] {
				if v.HolderID != "" {
					voted[i], heard[i] = w.Witness(request[i], v.HolderID)
				}
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.doubts.asking = false
		for i, x := range asked {
			if i < len(verdicts) {
				x.learn(verdicts[i], voted[i], heard[i])
			}
		}
		d.recheck = true
		d.poke()
	})
}

// learn takes in what voters say.
func (x *doubt) learn(v election.Verdict, voted, heard time.Time) {
	x.asked = true
	x.answer = v.Reason
	switch {
	case v.Outcome == election.Granted, v.Code == election.CodeSplit,
		v.HolderID == "" && v.Code != election.CodeUnanswered:
		x.nobody = true
		if v.Code == election.CodeSplit {
			x.lost.code, x.lost.reason = v.Code, v.Reason
		}
	case v.HolderID != "":
		if v.HolderID != x.holder {
			x.name = ""
		}
		x.holder, x.held, x.presumed, x.voted, x.heard = v.HolderID, v.Held, v.Presumed, voted, heard
		x.name = cmp.Or(v.Holder, x.name)
	}
}

// resolve records what became of a firing, if that is known, and reports whether it is.
// mu is held.
func (d *Dispatcher) resolve(x *doubt) bool {
	if x.nobody {
		d.decide(&x.firing, x.lost)
		return true
	}
	who, fate := d.holderOf(x)
	if x.told && !x.asked && fate == holderLives {
		return true // no need to ask anybody
	}
	if !x.asked || !x.held || d.view == nil {
		return false
	}
	if x.holder == d.view.InstanceID() {
		// Granted to this very process, too late for it to learn of that: it did not start it.
		d.decide(&x.firing, x.lost)
		return true
	}
	if x.presumed && fate != holderEnded {
		return false // it will tell whether it voted for itself, unless it is gone
	}
	switch {
	case fate == holderLives, x.wentOn():
		if !x.told {
			d.decide(&x.firing, verdict{outcome: DecidedDenied, code: CodeDenied, owner: who, reason: who + " holds it"})
		}
	case fate == holderEnded:
		d.decide(&x.firing, verdict{outcome: DecidedMissed, code: CodeUntold, owner: who,
			reason: fmt.Sprintf("it was granted to %s, which ended before it told whether it had started the job", who)})
	default:
		return false
	}
	return true
}

// wentOn reports whether the holder was heard from so long after its grant that it has
// started the job, or has written down why not.
func (x *doubt) wentOn() bool {
	since := x.at
	if x.voted.After(since) {
		since = x.voted
	}
	return !x.heard.Before(since.Add(startSlack))
}

// fate is what is known of the process that holds a firing.
type fate int

const (
	holderGone  fate = iota // out of reach: it may be dead or cut off
	holderLives             // it answers, or it stops in peace and sees to what it was granted
	holderEnded             // another process answers in its place
)

// holderOf returns the name of the process that holds a firing and what became of it. mu
// is held.
func (d *Dispatcher) holderOf(x *doubt) (who string, f fate) {
	who = cmp.Or(x.name, x.holder)
	if d.view == nil {
		return who, holderGone
	}
	if x.holder == d.view.InstanceID() {
		return who, holderLives
	}
	if l := d.view.Lease(); l != nil && l.Fresh && l.HolderID == x.holder {
		return who, holderLives
	}
	for _, p := range d.view.Peers() {
		switch {
		case p.InstanceID == x.holder && (p.Status.Fresh() || p.Stopping):
			return cmp.Or(p.NodeName, who), holderLives
		case p.InstanceID == x.holder:
			return cmp.Or(p.NodeName, who), holderGone
		case p.NodeName == who && p.Status.Fresh():
			f = holderEnded
		}
	}
	return who, f
}

// unresolved records a firing whose fate could not be found out. mu is held.
func (d *Dispatcher) unresolved(x *doubt) {
	who, _ := d.holderOf(x)
	v := x.lost
	switch {
	case x.held && x.wentOn():
		if !x.told {
			d.decide(&x.firing, verdict{outcome: DecidedDenied, code: CodeDenied, owner: who, reason: who + " holds it"})
		}
		return
	case x.held:
		v = verdict{outcome: DecidedMissed, code: CodeUntold, owner: who,
			reason: fmt.Sprintf("it was granted to %s, which is out of reach: whether it had started the job is not known", who)}
	case x.told:
		v.code = CodeUnknown
		v.reason = "whether " + who + " was granted it is not known"
	default:
		v.code = CodeUnknown
		v.reason += "; whether another node ran it is not known"
	}
	if x.answer != "" && !x.held {
		v.reason += ": " + x.answer
	}
	d.decide(&x.firing, v)
}

// endDoubts records what is in doubt, since nobody will ask any more. mu is held.
func (d *Dispatcher) endDoubts() {
	for _, x := range d.doubts.list {
		if !x.told || x.asked {
			d.unresolved(x)
		}
	}
	d.doubts.list = nil
}
