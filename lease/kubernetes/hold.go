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
	l, err := s.write(ctx, urgent, from, func(before *coordination.Lease) (*coordination.Lease, error) {
		if holder := holderOf(before); holder != "" && holder != s.id && versionOf(before) != seen.Version {
			return nil, lease.ErrHeld
		}
		return s.take(before)
	}, nil)
	if err != nil {
		if overtaken(err) {
			return lease.Hold{}, fmt.Errorf("%w: %w", lease.ErrHeld, err)
		}
		return lease.Hold{}, err
	}
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
	if err := addHolder(next); err != nil {
		return nil, err
	}
	if _, err := s.claimsOf(next); err != nil && !errors.Is(err, errClaimsForm) {
		return nil, err
	}
	return next, nil
}

// claimsOf returns the watermarks of a Lease that is about to be written. If it has none
// that can be read, it gets new ones, with a floor.
func (s *Store) claimsOf(next *coordination.Lease) (*claims, error) {
	c, err := claimsOf(next)
	if err == nil || errors.Is(err, errClaimsForm) {
		return c, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c = &claims{floor: s.server.floor(s.cfg.WallClock())}
	annotate(next, claimsKey, c.encode())
	if errors.Is(err, errNoClaims) {
		s.cfg.Logger.Info("the Lease is new: nothing that was due before can be claimed in it", "floor", c.floor)
	} else {
		s.cfg.Logger.Warn("what was claimed by this Lease cannot be read: nothing that was due before now can be claimed any more", "error", err, "floor", c.floor)
	}
	return c, nil
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
	_, err := s.write(ctx, urgent, basis{cached: true}, func(before *coordination.Lease) (*coordination.Lease, error) {
		if !s.holds(before, hold) {
			return nil, lost(before)
		}
		next := before.DeepCopy()
		next.Spec.HolderIdentity = pointer("")
		next.Spec.RenewTime = micro(s.cfg.WallClock())
		return next, nil
	}, nil)
	return err
}
