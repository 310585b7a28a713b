package election

import "time"

// skewBack is how close the clocks must come again before a warning about them ends:
// clearly below ClockSkew, so that clocks that drift along the limit give one.
const skewBack = ClockSkew * 3 / 4

// Skew is by how much the clock of a peer is ahead of this node's, as far as that could
// be measured. It decides nothing: who may lead does not depend on clocks.
type Skew struct {
	Ahead time.Duration // negative: behind
	Error time.Duration // how far Ahead may be off, at most; not negative
	// Excessive: beyond doubt, the clocks are further apart than ClockSkew, or were
	// and have not come clearly closer since. Claims between the two nodes can then be
	// denied although nobody holds the firing.
	Excessive bool
}

// Compare returns what a new measurement makes of the one before, nil if there was none.
func Compare(before *Skew, ahead, maxError time.Duration) *Skew {
	s := &Skew{Ahead: ahead, Error: max(maxError, 0)}
	apart := s.apart()
	if before != nil && before.Excessive {
		s.Excessive = apart > skewBack
	} else {
		s.Excessive = apart-s.Error > ClockSkew
	}
	return s
}

// apart returns the distance of the clocks, which is never negative.
func (s *Skew) apart() time.Duration {
	if s.Ahead < 0 {
		return max(-s.Ahead, -(s.Ahead + 1)) // the lowest value has no positive counterpart
	}
	return s.Ahead
}
