package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

const (
	// tries is how often in a row a write is tried that others overtake.
	tries = 8
	// retries is how often a write without an answer is tried once more.
	retries = 2
	// pauseMin and pauseMax bound the pauses between; the longest write pauses for less
	// than two seconds.
	pauseMin, pauseMax = 10 * time.Millisecond, 400 * time.Millisecond
)

// request sends one request once the server wants to hear any. Credentials that are not
// accepted are read again first, and are tried once more.
func (s *Store) request(ctx context.Context, v verb, l *coordination.Lease) (answer, error) {
	if err := s.await(ctx, v); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	c := s.client
	s.mu.Unlock()
	a, err := c.do(ctx, v, l)
	if code(err) == http.StatusUnauthorized || untrusted(err) {
		changed, bad := s.reload()
		if bad != nil {
			return a, fmt.Errorf("%w (%w)", err, bad)
		}
		if changed || c.credentials.plugin { // which was run again after a refusal
			s.mu.Lock()
			c = s.client
			s.mu.Unlock()
			a, err = c.do(ctx, v, l)
		}
	}
	s.learn(a, err)
	return a, err
}

// learn notes what an answer tells beside the object.
func (s *Store) learn(a answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r *refusal
	refused := errors.As(err, &r)
	if err == nil || refused && r.reason != "" { // and not a proxy's
		s.server.learn(a)
	}
	if refused && r.retryAfter > 0 {
		s.resume = time.Now().Add(min(r.retryAfter, s.cfg.Duration))
	}
}

// await waits until the server wants requests again.
func (s *Store) await(ctx context.Context, v verb) error {
	s.mu.Lock()
	resume := s.resume
	s.mu.Unlock()
	wait := time.Until(resume)
	if wait <= 0 {
		return ctx.Err()
	}
	if end, limited := ctx.Deadline(); limited && end.Before(resume) {
		return unsent{fmt.Errorf("the API server wants no requests for another %s, so that it was not asked to %s the Lease", wait.Round(10*time.Millisecond), v)}
	}
	return lease.Sleep(ctx, wait)
}

// read reads the object; nil if there is none.
func (s *Store) read(ctx context.Context) (*coordination.Lease, error) {
	s.mu.Lock()
	s.reads++
	number, writes := s.reads, s.writes
	s.mu.Unlock()
	a, err := s.request(ctx, get, nil)
	if err != nil && code(err) != http.StatusNotFound {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(a.lease, number)
	if s.writes == writes { // else it may be the state before
		s.current = a.lease
	}
	return a.lease, nil
}

// settle finds out by a state of the object what became of claims without an answer. mu
// is held.
func (s *Store) settle(l *coordination.Lease, read uint64) {
	if len(s.memory.lost) == 0 {
		return
	}
	saw := seen{read: read}
	if l != nil {
		saw.uid, saw.version = l.UID, l.ResourceVersion
		saw.claims, _ = claimsOf(l)
	}
	s.memory.settle(saw, s.now())
}

// change computes the object that is to replace the one that there is, nil for none. It
// returns nil if that may stay. It is called anew for each try, and must not modify what
// it is given.
type change func(*coordination.Lease) (*coordination.Lease, error)

// basis is the state of the object that the first try of a write is computed from.
type basis struct {
	given  bool // lease, even if it is nil
	lease  *coordination.Lease
	cached bool // the newest that is known, if any; else it is read
}

// lostWrite is called when the answer to a write was lost.
type lostWrite func(replaced *coordination.Lease)

// write changes the object, and returns it as it is then. Whoever else changes it
// meanwhile makes it compute the change again.
func (s *Store) write(ctx context.Context, u urgency, from basis, do change, lost lostWrite) (*coordination.Lease, error) {
	pause := pauseMin
	broken := 0
	for try := 1; ; try++ {
		l, err := s.try(ctx, u, from, do, lost)
		if err == nil {
			return l, nil
		}
		again := overtaken(err)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			// It ran into its own limit, and the caller has time for another one.
			again = true
			try--
		} else if broken < retries && ctx.Err() == nil && ambiguous(err) && !errors.Is(err, lease.ErrLost) && !errors.Is(err, lease.ErrHeld) {
			again = true
			broken++
		}
		if !again || try == tries || lease.Sleep(ctx, pause/2+rand.N(pause/2)) != nil { //nolint:gosec // spreads attempts and keeps no secret
			return nil, err
		}
		pause = min(2*pause, pauseMax)
		from = basis{cached: true}
	}
}

// overtaken reports whether somebody else changed, created or deleted the object before a
// write.
func overtaken(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && (r.code == http.StatusConflict || r.code == http.StatusNotFound && r.verb == update)
}

// limit bounds one try, so that no request that hangs keeps the others from theirs.
func (s *Store) limit(u urgency) time.Duration {
	if u == urgent {
		return max(s.cfg.RenewDeadline/2, time.Second)
	}
	return max(s.cfg.RenewDeadline/3, time.Second)
}

// compute returns the object that is to replace one, nil if that may stay.
func (s *Store) compute(before *coordination.Lease, do change) (*coordination.Lease, error) {
	next, err := do(before)
	if err != nil || next == nil {
		return nil, err
	}
	if err := fit(next, s.cfg.Identity.InstanceID); err != nil {
		return nil, unsent{fmt.Errorf("the Lease %s/%s cannot be written: %w", s.cfg.LeaseNamespace, s.cfg.LeaseName, err)}
	}
	return next, nil
}

// try changes the object if nobody else does at the same time.
func (s *Store) try(ctx context.Context, u urgency, from basis, do change, lost lostWrite) (*coordination.Lease, error) {
	v := update
	if from.given && from.lease == nil {
		v = create
	}
	// Whoever has to wait for the server leaves the turn to others.
	if err := s.await(ctx, v); err != nil {
		return nil, err
	}
	if err := s.turns.take(ctx, u); err != nil {
		return nil, unsent{fmt.Errorf("other writes to the Lease are under way: %w", err)}
	}
	defer s.turns.give()
	ctx, cancel := context.WithTimeout(ctx, s.limit(u))
	defer cancel()

	before, known := from.lease, from.given
	if !known && from.cached {
		s.mu.Lock()
		before = s.current
		s.mu.Unlock()
		known = before != nil
	}
	if !known {
		var err error
		if before, err = s.read(ctx); err != nil {
			return nil, err
		}
	}
	next, err := s.compute(before, do)
	if errors.Is(err, errNoRoom) && known {
		// Others may have made room since.
		if before, err = s.read(ctx); err != nil {
			return nil, err
		}
		next, err = s.compute(before, do)
	}
	if err != nil || next == nil {
		return before, err
	}
	if v = update; before == nil {
		v = create
		next.Name, next.Namespace = s.cfg.LeaseName, s.cfg.LeaseNamespace
	}
	next.APIVersion, next.Kind = "coordination.k8s.io/v1", "Lease"
	next.ManagedFields = nil // the server keeps its own
	a, err := s.request(ctx, v, next)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if err != nil {
		s.current = nil
		if ambiguous(err) && lost != nil {
			lost(before)
		}
		return nil, err
	}
	s.settle(a.lease, math.MaxUint64)
	s.current = a.lease
	return a.lease, nil
}
