package gossip

import (
	"slices"
	"sync"
	"sync/atomic"
)

// The bounds on inbound sessions.
const (
	maxInboundEach  = 3  // of one instance: one in use, one being replaced, one dying
	maxInboundOther = 32 // of instances that no configured host is bound to
)

// registry knows the open sessions and finds one to an instance.
type registry struct {
	table *table
	// counted is told how many sessions there are, with the lock held.
	counted func(outgoing, inbound int)
	signs   signs // of life, by instance

	mu       sync.Mutex
	sessions []*entry // oldest first
}

// entry is a registered session.
type entry struct {
	*session
	// authentic: the other end is the instance that a configured host is bound to. True
	// for sessions that this node dialled; an inbound one must show a certificate that
	// names that host, or any member could speak for any other.
	authentic atomic.Bool
}

// add registers a session. If it exceeds what one instance, or all strangers together,
// may have, the oldest such session is returned and must be closed.
func (r *registry) add(s *session) (crowded *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &entry{session: s}
	e.authentic.Store(r.judge(s))
	r.sessions = append(r.sessions, e)
	r.count()
	if s.outgoing {
		return nil
	}
	bound := r.bound(s.instance)
	limit, alike := maxInboundOther, func(o *entry) bool {
		return !o.outgoing && !r.bound(o.instance)
	}
	if bound {
		limit, alike = maxInboundEach, func(o *entry) bool {
			// A stranger that calls itself by this instance's id must not push its
			// true sessions out.
			return !o.outgoing && o.instance == s.instance && o.authentic.Load() == e.authentic.Load()
		}
	}
	n := 0
	for _, o := range r.sessions {
		if alike(o) {
			n++
			if crowded == nil {
				crowded = o.session
			}
		}
	}
	if n <= limit {
		return nil
	}
	return crowded
}

// bound reports whether a configured host is bound to the instance.
func (r *registry) bound(instance string) bool { return len(r.table.boundTo(instance)) > 0 }

// judge reports whether the session is with the instance it names.
func (r *registry) judge(s *session) bool {
	if s.outgoing {
		return true
	}
	return slices.ContainsFunc(r.table.certHosts(s.instance), s.certified)
}

// rejudge looks at the inbound sessions again after a binding has changed.
func (r *registry) rejudge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.sessions {
		e.authentic.Store(r.judge(e.session))
	}
}

// remove forgets a session.
func (r *registry) remove(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = slices.DeleteFunc(r.sessions, func(e *entry) bool { return e.session == s })
	r.count()
}

// count tells how many sessions there are. r.mu is held.
func (r *registry) count() {
	outgoing := 0
	for _, e := range r.sessions {
		if e.outgoing {
			outgoing++
		}
	}
	r.counted(outgoing, len(r.sessions)-outgoing)
}

// route returns an open session to exactly this instance, as long as a configured host
// is bound to it: one that this node dialled, else an inbound one. nil if there is
// none.
func (r *registry) route(instance string) *session {
	if !r.bound(instance) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var inbound *session
	for i := len(r.sessions) - 1; i >= 0; i-- { // the newest first
		e := r.sessions[i]
		if e.instance != instance || e.over() || !e.authentic.Load() {
			continue
		}
		if e.outgoing {
			return e.session
		}
		if inbound == nil {
			inbound = e.session
		}
	}
	return inbound
}

// isAuthentic reports whether the other end of a registered session is the instance
// that a configured host is bound to.
func (r *registry) isAuthentic(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.sessions {
		if e.session == s {
			return r.bound(s.instance) && e.authentic.Load()
		}
	}
	return false
}

// list returns the open sessions that match.
func (r *registry) list(match func(*session) bool) []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*session
	for _, e := range r.sessions {
		if !e.over() && match(e.session) {
			out = append(out, e.session)
		}
	}
	return out
}

// voters returns one open session that this node dialled per instance.
func (r *registry) voters() []*session {
	seen := make(map[string]bool)
	return r.list(func(s *session) bool {
		if !s.outgoing || seen[s.instance] {
			return false
		}
		seen[s.instance] = true
		return true
	})
}
