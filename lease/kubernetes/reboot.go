package kubernetes

import (
	"context"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// ClaimReboot adds the one-shots to those that ran. The record names the process, so that
// a write whose answer was lost needs no thought: what it did is granted when it is seen.
func (s *Store) ClaimReboot(ctx context.Context, hold lease.Hold, jobSetID string, jobs []string, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	var verdicts []election.Verdict
	l, err := s.write(ctx, patient, basis{cached: true}, func(before *coordination.Lease) (*coordination.Lease, error) {
		if !s.holds(before, hold) {
			return nil, lost(before)
		}
		ran, err := ranOf(before)
		if err != nil {
			return nil, err
		}
		self := s.cfg.Identity.InstanceID
		verdicts = make([]election.Verdict, len(jobs))
		added, granted := false, false
		for i, job := range jobs {
			instance, known := ran.Ran(jobSetID, job)
			if known && instance != self {
				verdicts[i] = election.Verdict{Outcome: election.Denied, Code: string(election.RefusedAlreadyRan),
					Holder: instance, Reason: "it has run under this configuration: process " + instance + " had it"}
				continue
			}
			verdicts[i] = election.Verdict{Outcome: election.Granted, Token: hold.Token}
			granted = true
			if !known {
				ran, added = ran.Add(jobSetID, job, self), true
			}
		}
		next, changed := before.DeepCopy(), added
		if added {
			if err := setRan(next, ran); err != nil {
				return nil, err
			}
		}
		if mark != nil && granted {
			marked, err := s.setMark(next, *mark)
			if err != nil {
				return nil, err
			}
			changed = changed || marked
		}
		if !changed {
			return nil, nil
		}
		return next, nil
	}, nil)
	if err != nil {
		return make([]election.Verdict, len(jobs)), nil, err
	}
	return verdicts, marksOf(l), nil
}
