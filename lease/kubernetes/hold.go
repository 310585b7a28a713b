package kubernetes

import (
	"context"
	"errors"
	"fmt"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

// Acquire writes this process into the Lease as its holder.
func (s *Store) Acquire(ctx context.Context, seen lease.Record) (lease.Hold, error) {
	from := basis{given: true}
	from.lease, _ = seen.Opaque.(*coordination.Lease)
	var note notice
	l, err := s.write(ctx, urgent, from, func(before *coordination.Lease) (*coordination.Lease, error) {
		if holder := holderOf(before); holder != "" && holder != s.id && versionOf(before) != seen.Version {
			return nil, lease.ErrHeld
		}
		next, err := s.take(before)
		if err != nil {
			return nil, err
		}
		note = s.newClaims(next)
		return next, nil
	}, nil)
	if err != nil {
		if overtaken(err) {
			return lease.Hold{}, fmt.Errorf("%w: %w", lease.ErrHeld, err)
		}
		return lease.Hold{}, err
	}
	s.tell(note)
	hold := lease.Hold{Token: tokenOf(l), Duration: s.cfg.Duration, Opaque: holdingOf(l)}
	if hold.Token == 0 {
		s.mu.Lock()
		s.warnOnce("the versions of this API server are no numbers that grow: nothing can be claimed, and Leader jobs stay idle", "resourceVersion", l.ResourceVersion)
		s.mu.Unlock()
	}
	return hold, nil
}

// take returns the Lease with this process as a new holder.
func (s *Store) take(before *coordination.Lease) (*coordination.Lease, error) {
	next := new(coordination.Lease)
	if before != nil {
		next = before.DeepCopy()
	}
	now := s.cfg.WallClock()
	acquired := micro(now)
	if before != nil && acquired.UnixMicro() == micros(before.Spec.AcquireTime) {
		acquired = micro(now.Add(1000)) // two holds differ
	}
	next.Spec.AcquireTime, next.Spec.RenewTime = acquired, micro(now)
	next.Spec.LeaseDurationSeconds = pointer(seconds(s.cfg.Duration))
	switch {
	case before == nil:
		next.Spec.LeaseTransitions = pointer[int32](0)
	case holderOf(before) != s.id:
		next.Spec.LeaseTransitions = pointer((transitionsOf(before) + 1) & 0x7fffffff)
	}
	next.Spec.HolderIdentity = pointer(s.id)
	return next, addHolder(next)
}

// notice is what is told once a Lease with a new record of claims is written.
type notice struct {
	floor instant
	why   error // nil: there is none
}

// newClaims gives a Lease that is about to be written a new record of claims, with a
// floor, unless it has one.
func (s *Store) newClaims(next *coordination.Lease) notice {
	_, err := claimsOf(next)
	if err == nil || errors.Is(err, errClaimsForm) {
		return notice{}
	}
	s.mu.Lock()
	c := claims{floor: s.server.floor(s.cfg.WallClock())}
	s.mu.Unlock()
	annotate(next, claimsKey, c.encode())
	return notice{floor: c.floor, why: err}
}

func (s *Store) tell(n notice) {
	switch {
	case n.why == nil:
	case errors.Is(n.why, errNoClaims):
		s.cfg.Logger.Info("the Lease is new: what was due before cannot be claimed by it", "until", n.floor)
	default:
		s.cfg.Logger.Warn("what was claimed by this Lease cannot be read any more: what was due before cannot be claimed by it", "error", n.why, "until", n.floor)
	}
}

// Renew writes the time of the renewal.
func (s *Store) Renew(ctx context.Context, hold lease.Hold) (lease.Hold, error) {
	_, err := s.write(ctx, urgent, basis{cached: true}, func(before *coordination.Lease) (*coordination.Lease, error) {
		if !s.holds(before, hold) {
			return nil, lost(before)
		}
		next := before.DeepCopy()
		next.Spec.RenewTime = micro(s.cfg.WallClock())
		next.Spec.LeaseDurationSeconds = pointer(seconds(s.cfg.Duration))
		return next, nil
	}, nil)
	if err != nil {
		return lease.Hold{}, err
	}
	hold.Duration = s.cfg.Duration
	return hold, nil
}

// lost says by whom a hold was ended.
func lost(l *coordination.Lease) error {
	switch holder := holderOf(l); {
	case l == nil:
		return fmt.Errorf("%w: the Lease was deleted", lease.ErrLost)
	case holder == "":
		return fmt.Errorf("%w: the Lease has no holder", lease.ErrLost)
	default:
		return fmt.Errorf("%w: %s holds the Lease", lease.ErrLost, nameOf(holder))
	}
}

// Release empties the holder.
func (s *Store) Release(ctx context.Context, hold lease.Hold) error {
	unanswered := false
	_, err := s.write(ctx, urgent, basis{cached: true}, func(before *coordination.Lease) (*coordination.Lease, error) {
		if !s.holds(before, hold) {
			if unanswered && before != nil && holderOf(before) == "" && holdingOf(before) == hold.Opaque {
				return nil, nil // by the write whose answer was lost
			}
			return nil, lost(before)
		}
		next := before.DeepCopy()
		next.Spec.HolderIdentity = pointer("")
		next.Spec.RenewTime = micro(s.cfg.WallClock())
		return next, nil
	}, func(*coordination.Lease) { unanswered = true })
	return err
}
