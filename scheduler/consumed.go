package scheduler

import (
	"slices"
	"time"
)

const (
	// spansKept bounds the spans remembered per job: one for each time that the
	// wall clock was set. Voters and stores refuse old instants on their own.
	spansKept = 16
	// absentKept bounds how many removed jobs are remembered.
	absentKept = 10000
)

// consumed remembers which firings this process has asked for or started, so that no
// reload, no new coordinator and no clock that is set back makes it do so again. A
// voter grants a repeated claim to the same instance again, so nobody else would stop
// it.
//
// The firings of one job are asked for in ascending order as long as the clock is not
// set, so that all of them lie in one span; a clock that is set begins a new one. A
// clock that once jumped ahead by a year therefore blocks the firings that it claimed
// there, and not the year.
type consumed struct {
	epoch int
	spans map[string][]span
}

// span is a range of instants, both ends included, in Unix nanoseconds.
type span struct {
	from, to int64
	epoch    int
}

func newConsumed() consumed { return consumed{spans: make(map[string][]span)} }

// clockSet begins new spans.
func (c *consumed) clockSet() { c.epoch++ }

// has reports whether the job's firing at the instant is consumed.
func (c *consumed) has(job string, at time.Time) bool {
	ns := at.UnixNano()
	for _, s := range c.spans[job] {
		if s.from <= ns && ns <= s.to {
			return true
		}
	}
	return false
}

// add consumes the job's firing at the instant.
func (c *consumed) add(job string, at time.Time) {
	ns := at.UnixNano()
	spans := c.spans[job]
	if n := len(spans); n > 0 && spans[n-1].epoch == c.epoch {
		last := &spans[n-1]
		last.from, last.to = min(last.from, ns), max(last.to, ns)
		return
	}
	if len(spans) == spansKept {
		spans = slices.Delete(spans, 0, 1)
	}
	c.spans[job] = append(spans, span{from: ns, to: ns, epoch: c.epoch})
}

// forget drops removed jobs beyond the bound, those last fired longest ago first.
func (c *consumed) forget(present map[string]*entry) {
	if len(c.spans) <= len(present)+absentKept {
		return
	}
	type absent struct {
		name string
		to   int64
	}
	var gone []absent
	for name, spans := range c.spans {
		if present[name] == nil {
			gone = append(gone, absent{name, spans[len(spans)-1].to})
		}
	}
	slices.SortFunc(gone, func(a, b absent) int {
		if a.to < b.to {
			return -1
		}
		return 1
	})
	for _, a := range gone[:max(0, len(gone)-absentKept)] {
		delete(c.spans, a.name)
	}
}
