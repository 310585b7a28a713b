package gossip

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/yacron2/yacron2/election"
)

// The bounds of one comparison of two clocks.
const (
	clockTries   = 4                    // round trips, at most
	clockGood    = 2 * time.Millisecond // an error that is small enough to end the tries
	clockTimeout = 5 * time.Second      // for all of them together
	// clockNews is the least difference to what was measured before that makes a new
	// view; smaller ones are shown with the next one.
	clockNews = 100 * time.Millisecond
)

// clockAnswerLen is the size of the answer to one byte on a stream of kind 't': when
// the question arrived and when the answer left by the peer's wall clock, both in
// nanoseconds of Unix time (64 bits).
const clockAnswerLen = 16

// appendClockAnswer writes an answer.
func appendClockAnswer(b []byte, received, answered time.Time) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(received.UnixNano()))
	return binary.BigEndian.AppendUint64(b, uint64(answered.UnixNano()))
}

// roundTrip is one question about the time and its answer.
type roundTrip struct {
	sent               time.Time     // by this node's wall clock
	took               time.Duration // until the answer was there, by its monotonic clock
	received, answered time.Time     // by the peer's wall clock
}

// parseClockAnswer completes a round trip by the peer's answer.
func parseClockAnswer(b *[clockAnswerLen]byte, sent time.Time, took time.Duration) roundTrip {
	return roundTrip{
		sent: sent, took: took,
		received: time.Unix(0, int64(binary.BigEndian.Uint64(b[:8]))), //nolint:gosec // any bits are a time
		answered: time.Unix(0, int64(binary.BigEndian.Uint64(b[8:]))), //nolint:gosec // any bits are a time
	}
}

// skew returns by how much the peer's clock is ahead and how far off that may be: half
// of the time under way, since nothing says how it is divided between the two ways. ok
// is false if no honest peer can have answered so.
func (r *roundTrip) skew() (ahead, maxError time.Duration, ok bool) {
	held := r.answered.Sub(r.received)
	if held < 0 || held > r.took {
		return 0, 0, false
	}
	there := r.received.Sub(r.sent)
	back := r.answered.Sub(r.sent.Add(r.took))
	// In halves: the peer may have said anything, and Sub stays within its type. What
	// is lost by that is a nanosecond.
	return there/2 + back/2, (r.took-held)/2 + 2, true
}

// compareClock measures the peer's clock over a session and notes the outcome. A peer
// that does not answer, such as one whose version does not know the question, is no
// worse for it.
func (l *link) compareClock(s *session) {
	if s.comparing.Swap(true) {
		return // still at it
	}
	s.wg.Go(func() {
		defer s.comparing.Store(false)
		if best := l.measureClock(s); best != nil {
			l.table.compared(l.row, s.instance, best.Ahead, best.Error)
		}
	})
}

// measureClock asks the peer for the time, a few times in a row until the answer is
// exact enough, and returns the most exact one, nil if there was none.
func (l *link) measureClock(s *session) (best *election.Skew) {
	stream, err := s.open(kindClock)
	if err != nil {
		return nil
	}
	defer stream.Close()
	_ = stream.SetDeadline(time.Now().Add(clockTimeout))
	var answer [clockAnswerLen]byte
	for range clockTries {
		began, sent := time.Now(), l.now()
		if _, err := stream.Write([]byte{kindClock}); err != nil {
			return best
		}
		if _, err := io.ReadFull(stream, answer[:]); err != nil {
			return best
		}
		r := parseClockAnswer(&answer, sent, time.Since(began))
		ahead, maxError, ok := r.skew()
		if ok && (best == nil || maxError < best.Error) {
			best = &election.Skew{Ahead: ahead, Error: maxError}
		}
		if best != nil && best.Error <= clockGood {
			return best
		}
	}
	return best
}

// tellTime answers a peer that compares its clock with this node's. Whoever has a
// session may ask.
func (m *Manager) tellTime(stream *muxStream) {
	defer stream.Close()
	_ = stream.SetDeadline(time.Now().Add(clockTimeout))
	var question [1]byte
	answer := make([]byte, 0, clockAnswerLen)
	for range clockTries {
		if _, err := io.ReadFull(stream, question[:]); err != nil {
			return
		}
		began, received := time.Now(), m.cfg.Now()
		// Not read again: a clock that is set in between would give nonsense.
		answered := received.Add(time.Since(began))
		if _, err := stream.Write(appendClockAnswer(answer[:0], received, answered)); err != nil {
			return
		}
	}
}
