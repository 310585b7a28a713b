package kubernetes

import (
	"context"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

// annotateOnly changes annotations of the Lease, with or without a hold. It is created if
// there is none, without a holder.
func (s *Store) annotateOnly(ctx context.Context, edit func(next *coordination.Lease) (changed bool, err error)) error {
	s.mu.Lock()
	mine := holderOf(s.current) == s.id
	s.mu.Unlock()
	// Nobody but the holder has a state that is worth trying with.
	_, err := s.write(ctx, patient, basis{cached: mine}, func(before *coordination.Lease) (*coordination.Lease, error) {
		next := new(coordination.Lease)
		if before != nil {
			next = before.DeepCopy()
		}
		changed, err := edit(next)
		if err != nil || !changed {
			return nil, err
		}
		return next, nil
	}, nil)
	return err
}

// SetMark writes the annotation with this process's running mark.
func (s *Store) SetMark(ctx context.Context, mark lease.Mark) error {
	return s.annotateOnly(ctx, func(next *coordination.Lease) (bool, error) { return s.setMark(next, mark) })
}

// DropMarks removes the annotations with the running marks of other processes.
func (s *Store) DropMarks(ctx context.Context, instances []string) error {
	return s.annotateOnly(ctx, func(next *coordination.Lease) (changed bool, err error) {
		for _, instance := range instances {
			key := runningKey(instance)
			_, there := next.Annotations[key]
			changed = changed || there
			delete(next.Annotations, key)
		}
		return changed, nil
	})
}

// MarkRan adds a one-shot to the annotation of those that ran.
func (s *Store) MarkRan(ctx context.Context, jobSetID, job string) error {
	return s.annotateOnly(ctx, func(next *coordination.Lease) (bool, error) {
		ran, err := ranOf(next)
		if err != nil {
			return false, err
		}
		if _, known := ran.Ran(jobSetID, job); known {
			return false, nil
		}
		return true, setRan(next, ran.Add(jobSetID, job, s.cfg.Identity.InstanceID))
	})
}
