package kubernetes

import (
	"context"
	"errors"
	"fmt"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// Claim raises the watermarks of the firings' jobs, all in one update.
func (s *Store) Claim(ctx context.Context, hold lease.Hold, firings []election.Firing, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	c := claim{Store: s, hold: hold, firings: firings, mark: mark}
	if hold.Token == 0 {
		return c.all(election.Verdict{Code: lease.CodeNoToken,
			Reason: "the versions of this API server are no numbers that grow, so that nothing can be claimed"}), nil, nil
	}
	l, err := s.write(ctx, patient, basis{cached: true}, c.compute, c.lost)
	if err != nil {
		return c.unclaimed(), nil, err
	}
	s.tell(c.note)
	s.mu.Lock()
	s.memory.add(c.raises, s.now())
	s.mu.Unlock()
	return c.verdicts, marksOf(l), nil
}

// claim is one call of Claim.
type claim struct {
	*Store
	hold    lease.Hold
	firings []election.Firing
	mark    *lease.Mark

	// What the last try comes to if it is written.
	note     notice
	by       owner
	verdicts []election.Verdict
	raises   []raise
}

// all returns the verdict for each firing.
func (c *claim) all(v election.Verdict) []election.Verdict {
	verdicts := make([]election.Verdict, len(c.firings))
	for i := range verdicts {
		verdicts[i] = v
	}
	return verdicts
}

// unclaimed returns the verdicts after a write that failed: what is known to be this
// process's is, the rest is not settled.
func (c *claim) unclaimed() []election.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	verdicts := c.all(election.Verdict{})
	for i, f := range c.firings {
		// A mark that was to be there first is not, if there is one.
		if c.mark == nil && c.memory.owns(keyOf(f.Job), instantOf(f.At)) {
			verdicts[i] = election.Verdict{Outcome: election.Granted, Token: c.hold.Token}
		}
	}
	return verdicts
}

// lost notes a write without an answer. mu is held.
func (c *claim) lost(replaced *coordination.Lease) {
	if len(c.raises) > 0 {
		c.memory.lost = append(c.memory.lost, unsettled{
			uid: replaced.UID, version: replaced.ResourceVersion, by: c.by, raises: c.raises, read: c.reads})
	}
}

// compute decides about each firing and raises the watermarks of those that can be given.
func (c *claim) compute(before *coordination.Lease) (*coordination.Lease, error) {
	if !c.holds(before, c.hold) {
		return nil, lost(before)
	}
	next := before.DeepCopy()
	c.note = c.newClaims(next)
	table, err := claimsOf(next)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s of the Lease %s/%s: %w", claimsKey, c.cfg.LeaseNamespace, c.cfg.LeaseName, err)
	}
	c.mu.Lock()
	j := judge{store: c.Store, lease: before, table: table, by: ownerOf(before), own: true}
	c.by, c.verdicts, c.raises = j.by, make([]election.Verdict, len(c.firings)), nil
	raised := make(map[jobKey]int) // indexes of c.raises
	granted := false
	for i, f := range c.firings {
		job, at := keyOf(f.Job), instantOf(f.At)
		v, free := j.verdict(job, at)
		switch {
		case !free:
			granted = granted || v.Outcome == election.Granted
		case j.ahead(at):
			v = j.early(at)
		default:
			v.Outcome, granted = election.Granted, true
			if n, again := raised[job]; again {
				c.raises[n].at = max(c.raises[n].at, at)
			} else {
				last, _ := table.last(job)
				raised[job] = len(c.raises)
				c.raises = append(c.raises, raise{watermark: watermark{job: job, at: at, by: j.by}, from: last.at})
			}
		}
		if v.Outcome == election.Granted {
			v.Token = c.hold.Token
		}
		c.verdicts[i] = v
	}
	c.mu.Unlock()

	changed := len(c.raises) > 0 || c.note.why != nil
	if len(c.raises) > 0 {
		marks := make([]watermark, len(c.raises))
		for i, r := range c.raises {
			marks[i] = r.watermark
		}
		table.raise(marks)
		table.prune(instantOf(c.cfg.WallClock().Add(-forget)), MaxJobs)
		annotate(next, claimsKey, table.encode())
	}
	if c.mark != nil && granted {
		marked, err := c.setMark(next, *c.mark)
		if err != nil {
			return nil, err
		}
		changed = changed || marked
	}
	if !changed {
		return nil, nil
	}
	return next, nil
}

// judge decides about firings by one state of the Lease.
type judge struct {
	store *Store
	lease *coordination.Lease
	table *claims
	by    owner // under which this process claims now
	own   bool  // this process holds the Lease
}

// verdict decides about a firing, unless it is free. The store's mu is held.
func (j *judge) verdict(job jobKey, at instant) (v election.Verdict, free bool) {
	last, claimed := j.table.last(job)
	if at > last.at {
		return v, true
	}
	if j.own && (j.store.memory.owns(job, at) || claimed && last.at == at && last.by == j.by) {
		return election.Verdict{Outcome: election.Granted}, false
	}
	v.Outcome = election.Denied
	if !claimed {
		v.Code = string(election.RefusedTooOld)
		v.Reason = fmt.Sprintf("what was due until %s cannot be claimed by this Lease: it is newer, or does not know any more what was claimed", j.table.floor)
		return v, false
	}
	// Who claimed a later firing had this one too, or has written down why not.
	v.Holder, v.HolderID, v.Held = claimant(j.lease, last.by), last.by.String(), true
	who := v.Holder
	if who == "" {
		who = "a former holder of the Lease"
	}
	switch {
	case last.at == at:
		v.Code = string(election.RefusedTaken)
		v.Reason = who + " has claimed it"
	case j.own && j.store.memory.doubts(job, at):
		v.Code = string(election.RefusedTooOld)
		v.Reason = fmt.Sprintf("the answer to this node's claim was lost, and %s has claimed a later firing of the job (%s) since: which of them has this one is not known", who, last.at)
	default:
		v.Code = string(election.RefusedTooOld)
		v.Reason = fmt.Sprintf("%s has claimed a later firing of the job (%s): whether anybody has this one is not kept", who, last.at)
	}
	return v, false
}

// ahead reports whether the instant lies too far in the future of the server.
func (j *judge) ahead(at instant) bool {
	latest, known := j.store.server.latest()
	return known && at.time().After(latest.Add(maxAhead))
}

func (j *judge) early(at instant) election.Verdict {
	latest, _ := j.store.server.latest()
	return election.Verdict{Outcome: election.Pending, Code: string(election.RefusedTooEarly),
		Reason: fmt.Sprintf("by the clock of the API server it is due in %s: the clock of this node, or that one, is wrong", at.time().Sub(latest).Round(1e9))}
}

// Claimed reads the watermarks of the firings' jobs.
func (s *Store) Claimed(ctx context.Context, firings []election.Firing) ([]election.Verdict, error) {
	l, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	verdicts := make([]election.Verdict, len(firings))
	for i := range verdicts {
		verdicts[i].Reason = "nobody has claimed it"
	}
	if l == nil {
		return verdicts, nil
	}
	table, err := claimsOf(l)
	if errors.Is(err, errNoClaims) {
		return verdicts, nil
	} else if err != nil {
		return nil, fmt.Errorf("the annotation %s of the Lease %s/%s: %w", claimsKey, s.cfg.LeaseNamespace, s.cfg.LeaseName, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := judge{store: s, lease: l, table: table}
	for i, f := range firings {
		if v, free := j.verdict(keyOf(f.Job), instantOf(f.At)); !free {
			verdicts[i] = v
		}
	}
	return verdicts, nil
}
