package kubernetes

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// remember is how long this process knows what it claimed: well beyond the time
	// for which a firing is asked for.
	remember = 15 * time.Minute
	// maxSpans bounds what is remembered of one job.
	maxSpans = 8
)

// span is the instants after from, up to and including to.
type span struct {
	from, to instant
	added    time.Duration
}

// raise is one watermark that a write moves up, from the old one.
type raise struct {
	watermark
	from instant
}

// unsettled is a write of claims whose answer was lost: it may have been done, or may
// still be.
type unsettled struct {
	uid     types.UID
	version string // the resourceVersion that the write replaces
	by      owner
	raises  []raise
	// read is how many reads had begun when it was lost. What an earlier one brings may
	// be older than the write.
	read uint64
}

// memory is which instants are this process's: those between an old watermark and a new
// one that it wrote. Nobody else can ever claim them.
type memory struct {
	spans   map[jobKey][]span
	lost    []unsettled
	doubted map[jobKey][]span // of writes of which it can't be known any more
	swept   time.Duration
}

// owns reports whether the instant is this process's.
func (m *memory) owns(job jobKey, at instant) bool { return within(m.spans[job], at) }

// doubts reports whether the instant was in a write of which nothing can be known.
func (m *memory) doubts(job jobKey, at instant) bool { return within(m.doubted[job], at) }

func within(spans []span, at instant) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from < at && at <= s.to })
}

// add notes what a write has claimed.
func (m *memory) add(raises []raise, now time.Duration) {
	if m.spans == nil {
		m.spans = make(map[jobKey][]span)
	}
	note(m.spans, raises, now)
	m.sweep(now)
}

func note(spans map[jobKey][]span, raises []raise, now time.Duration) {
	for _, r := range raises {
		s := spans[r.job]
		if n := len(s); n > 0 && s[n-1].to == r.from {
			s[n-1].to, s[n-1].added = r.at, now
			continue
		}
		if s = append(s, span{from: r.from, to: r.at, added: now}); len(s) > maxSpans {
			s = s[1:]
		}
		spans[r.job] = s
	}
}

// sweep forgets what was claimed long ago.
func (m *memory) sweep(now time.Duration) {
	if now-m.swept < remember/4 {
		return
	}
	m.swept = now
	for _, all := range []map[jobKey][]span{m.spans, m.doubted} {
		for job, s := range all {
			s = slices.DeleteFunc(s, func(s span) bool { return now-s.added > remember })
			if all[job] = s; len(s) == 0 {
				delete(all, job)
			}
		}
	}
}

// seen is what a read or a write brought.
type seen struct {
	uid     types.UID // "" if there is no Lease
	version string
	claims  *claims // nil if there is no readable record
	read    uint64  // the number of the read
}

// settle finds out what became of the writes whose answers were lost.
func (m *memory) settle(s seen, now time.Duration) {
	m.lost = slices.DeleteFunc(m.lost, func(u unsettled) bool {
		if s.read <= u.read || s.uid == u.uid && s.version == u.version {
			return false // it may still be done
		}
		switch u.outcome(s) {
		case done:
			m.add(u.raises, now)
		case unknown:
			if m.doubted == nil {
				m.doubted = make(map[jobKey][]span)
			}
			note(m.doubted, u.raises, now)
		}
		return true
	})
}

type outcome int

const (
	unknown outcome = iota
	done
	failed
)

// outcome tells from a later state of the Lease whether the write was done. It was done
// as a whole or not at all, so that one watermark that tells is enough.
func (u *unsettled) outcome(s seen) outcome {
	if s.uid != u.uid || s.claims == nil {
		return unknown
	}
	for _, r := range u.raises {
		w, claimed := s.claims.last(r.job)
		switch {
		case w.at < r.at:
			return failed
		case !claimed: // the floor has taken its place
		case w.by == u.by:
			return done // nobody else writes under this number
		case w.at == r.at:
			return failed // else it would not have been free for its owner
		}
	}
	return unknown
}
