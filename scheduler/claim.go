package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/yacron2/yacron2/election"
)

const (
	// claimBatch bounds how many firings are asked for in one request.
	claimBatch = 10000

	// A claim that is pending is repeated after a pause that grows between these,
	// or at once when the coordinator has a new view.
	claimPauseMin = 100 * time.Millisecond
	claimPauseMax = 2 * time.Second

	// claimCall bounds one request. To ask again is harmless, and finds the
	// coordinator that is in charge by then.
	claimCall = 5 * time.Second
)

// claim asks the cluster for firings that are this node's to run, in a goroutine of
// their own: a peer that is slow to answer delays these and nothing else. mu is held.
func (d *Dispatcher) claim(firings []*firing) {
	for len(firings) > 0 {
		n := min(len(firings), claimBatch)
		batch := firings[:n:n]
		firings = firings[n:]
		d.hold()
		d.workers.Go(func() { d.settleClaims(batch) })
	}
}

// settleClaims asks until every firing of the batch is granted, denied or missed.
func (d *Dispatcher) settleClaims(batch []*firing) {
	pause := claimPauseMin
	for {
		ask, wait, coordinator, limit, changed := d.claimable(batch)
		if len(ask)+len(wait) == 0 {
			break
		}
		batch = wait
		if len(ask) > 0 {
			batch = append(batch, d.askOnce(coordinator, ask, limit)...)
			if len(batch) == 0 {
				break
			}
		}
		if d.pauseClaims(pause, changed) {
			pause = claimPauseMin
		} else {
			pause = min(2*pause, claimPauseMax)
		}
	}
	d.mu.Lock()
	d.release()
	d.mu.Unlock()
}

// pauseClaims waits before something is asked for again, and reports whether that was cut
// short by a change. The pause is random in its upper half, so that owners that compete
// for the same votes fall out of step; after a change there is still a short one, because
// changes come in bursts, and because votes that were just given are such changes.
func (d *Dispatcher) pauseClaims(pause time.Duration, changed <-chan struct{}) (cut bool) {
	timer := time.NewTimer(d.spread(pause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
	case <-changed:
		cut = true
		timer.Reset(d.spread(claimPauseMin))
		select {
		case <-timer.C:
		case <-d.ctx.Done():
		}
	}
	return cut
}

// spread returns a random part of a pause, half of it at least.
func (d *Dispatcher) spread(pause time.Duration) time.Duration {
	return pause/2 + time.Duration(d.cfg.Random()*float64(pause/2))
}

// claimable ends the firings of a batch whose time is over and splits the others into
// those that may be asked for now, by whom and until when, and those that have to wait.
func (d *Dispatcher) claimable(batch []*firing) (ask, wait []*firing, c Coordinator, limit time.Duration, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, f := range batch {
		job := f.entry.job
		if job == nil || !job.Enabled {
			d.decide(f, verdict{outcome: DecidedSkipped, code: CodeRemoved, reason: "the job was removed or disabled meanwhile"})
			continue
		}
		until := deadline(job, f.at)
		v := election.Decide(job.ClusterPolicy, d.elect, d.view, job.Name)
		switch {
		case d.phase > phaseRunning && f.parked != nil && d.seenTo(f.parked):
			// The whole cluster stops: what the former owner ran is no loss.
			d.decide(f, of(DecidedSkipped, f.parked.first))
		case d.phase > phaseRunning:
			d.decide(f, verdict{outcome: DecidedMissed, code: election.CodeStopping,
				reason: "the agent stopped before its claim was settled"})
		case now.After(until):
			d.lose(f, unsettled(f, job), f.claimed)
		case d.coordinator == nil, v.Action != election.Run && v.Code == election.CodeConflict:
			// Ownership that moved is no reason to stop asking: votes that were
			// given and whose answers were lost can only be used by this node, and
			// if another one has the firing, the denial says so. A conflict stands
			// Leader jobs down.
			d.pending(f, v.Code, v.Reason)
			wait = append(wait, f)
		default:
			ask = append(ask, f)
			if left := until.Sub(now); limit == 0 || left < limit {
				limit = left
			}
		}
	}
	return ask, wait, d.coordinator, max(limit, time.Millisecond), d.changed
}

// askOnce asks for the firings once and returns those that are still pending.
func (d *Dispatcher) askOnce(c Coordinator, ask []*firing, limit time.Duration) (pending []*firing) {
	request := make([]election.Firing, len(ask))
	for i, f := range ask {
		request[i] = election.Firing{Job: f.entry.name, At: f.at}
	}
	ctx, cancel := context.WithTimeout(d.ctx, min(limit, claimCall))
	defer cancel()
	d.records.event(Event{Kind: ClaimsAsked, At: d.now(), Asked: len(ask)})
	verdicts := c.Claim(ctx, request)

	d.mu.Lock()
	defer d.mu.Unlock()
	for i, f := range ask {
		var v election.Verdict
		if i < len(verdicts) {
			v = verdicts[i]
		}
		switch v.Outcome {
		case election.Granted:
			d.granted(f, v)
		case election.Denied:
			d.decide(f, denied(v))
			if v.Holder != "" {
				d.mistrust(f, v.HolderID, v.Holder)
			}
		default:
			f.claimed = v
			d.pending(f, CodeUnsettled, v.Reason)
			pending = append(pending, f)
		}
	}
	return pending
}

// granted starts a firing that is this process's for ever. mu is held.
func (d *Dispatcher) granted(f *firing, v election.Verdict) {
	if job := f.entry.job; v.RunningOn != "" && job != nil && job.ConcurrencyPolicy != Allow {
		d.decide(f, runningElsewhere(v.RunningOn, job))
		return
	}
	// Whether it is still in time is asked once more when it starts.
	d.enqueue(&launch{entry: f.entry, firing: f, trigger: f.trigger, attempt: 1, token: v.Token, verdict: d.grantedHere()})
}

// grantedHere is the verdict on a granted firing.
func (d *Dispatcher) grantedHere() verdict {
	return verdict{outcome: DecidedRun, code: CodeGranted, owner: d.cfg.Node,
		reason: "the cluster granted this firing to this node"}
}

// runningElsewhere is the verdict on a granted firing of a job that a peer still runs.
// Replace ends instances of its own node only, so it waits like Forbid.
func runningElsewhere(node string, job *Job) verdict {
	return verdict{outcome: DecidedSkipped, code: CodeRunningElsewhere, owner: node,
		reason: fmt.Sprintf("the job still runs on %s, and concurrencyPolicy is %s", node, job.ConcurrencyPolicy)}
}

// denied is the verdict on a firing that the cluster did not grant: another process holds
// it, or else nobody is known to have it, since votes were split or voters knew too
// little to vote, and it is lost.
func denied(v election.Verdict) verdict {
	d := verdict{outcome: DecidedDenied, code: CodeDenied, reason: v.Reason, owner: v.Holder}
	if v.Holder == "" {
		d.outcome, d.code = DecidedMissed, cmp.Or(v.Code, CodeDenied)
	}
	switch {
	case d.reason != "":
	case v.Holder != "":
		d.reason = "this firing is held by " + v.Holder
	default:
		d.reason = "the cluster did not grant this firing to this node"
	}
	return d
}

// pending notes why a firing is not settled yet. mu is held.
func (d *Dispatcher) pending(f *firing, code, reason string) {
	if reason == "" {
		reason = "no majority answered"
	}
	if f.code == code && f.reason == reason {
		return
	}
	f.code, f.reason = code, reason
	d.decide(f, verdict{outcome: DecidedPending, code: code, reason: reason})
}

// unsettled is the verdict on a firing whose claim was not settled in time.
func unsettled(f *firing, job *Job) verdict {
	code, reason := f.code, f.reason
	if code == "" {
		code, reason = CodeUnsettled, "nobody could be asked"
	}
	return verdict{outcome: DecidedMissed, code: code, reason: fmt.Sprintf(
		"not granted within the starting deadline of %s: %s", job.StartingDeadline, reason)}
}
