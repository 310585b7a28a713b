package gossip

import (
	"sync"
	"time"

	"github.com/yacron2/yacron2/election"
)

// signsKept bounds the instances whose last sign of life is remembered. Those that were
// heard last longest ago make room.
const signsKept = 1024

// signs remembers when something came from which instance over an authentic session. The
// zero value is ready.
type signs struct {
	mu   sync.Mutex
	last map[string]time.Time // with the monotonic reading
}

// note takes down a sign of life.
func (s *signs) note(instance string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = make(map[string]time.Time)
	}
	if _, known := s.last[instance]; !known && len(s.last) >= signsKept {
		oldest, since := instance, now
		for other, at := range s.last {
			if at.Before(since) {
				oldest, since = other, at
			}
		}
		delete(s.last, oldest)
	}
	s.last[instance] = now
}

// of returns the newest sign of an instance, the zero time if there was none.
func (s *signs) of(instance string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[instance]
}

// Witness tells what this node itself knows of a firing that another process holds: when
// it gave its vote to that process, and when it last heard from it, both by the wall
// clock as it is now. The zero time means never.
func (m *Manager) Witness(f election.Firing, instance string) (voted, heard time.Time) {
	now := time.Now()
	wall := now.Round(0)
	if ago, ok := m.voter.voted(f, instance); ok {
		voted = wall.Add(-ago)
	}
	if at := m.registry.signs.of(instance); !at.IsZero() {
		heard = wall.Add(-now.Sub(at))
	}
	return voted, heard
}

// voted returns how long ago this node voted for a firing, if it voted for the instance.
func (v *Voter) voted(f election.Firing, instance string) (ago time.Duration, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	to, ago := v.votes.Voted(f, v.clock().Uptime)
	return ago, to == instance && to != ""
}
