package run

import (
	"context"
	"errors"
	"io"
	"sync"
)

const (
	// LogLines is how many of the last lines of a run are kept for viewers.
	LogLines = 1000

	// followedLines replaces LogLines while someone follows the run: it is the
	// queue that all followers share, and how far one may fall behind.
	followedLines = 8192

	// logBytes bounds the live log whatever the length of its lines.
	logBytes = 4 << 20

	// nextLines bounds how many lines one call of Next returns.
	nextLines = 256
)

// ErrSubscriptionClosed is what Next returns after Close.
var ErrSubscriptionClosed = errors.New("subscription closed")

// Log holds the last lines of a run, both streams in the order of their arrival, and
// lets viewers follow it. It is independent of what is retained for the Result and
// may be kept when the Process is gone. All methods are safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	ring   lineRing
	next   uint64 // number of the next line; the ring ends before it
	wake   chan struct{}
	ended  bool
	follow int // open subscriptions
}

func newLog() *Log {
	return &Log{
		ring: lineRing{maxLines: LogLines, maxBytes: logBytes},
	}
}

var streamNames = [...]string{StdoutName, StderrName}

// Lines returns the last lines, at most LogLines.
func (l *Log) Lines() []Line { return l.Last(LogLines) }

// Last returns the last n lines, at most LogLines.
func (l *Log) Last(n int) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := max(0, l.ring.count-max(0, min(n, LogLines)))
	lines := make([]Line, 0, l.ring.count-from)
	l.ring.each(from, func(text []byte, tag uint8) bool {
		lines = append(lines, Line{Stream: streamNames[tag], Text: string(text)})
		return true
	})
	return lines
}

// Size returns the memory that the lines take, in bytes.
func (l *Log) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ring.buf) + len(l.ring.lines)*16
}

// Ended reports whether the run is over: there will be no more lines.
func (l *Log) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// push adds a line; l.mu is held by the caller, which calls signal afterwards.
func (l *Log) push(text []byte, tag uint8) {
	l.ring.push(text, tag)
	l.next++
}

// signal wakes whoever waits for lines; l.mu is held by the caller.
func (l *Log) signal() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// end marks the log complete and gives back the memory it does not need.
func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.trim()
	l.signal()
}

// trim shrinks a log that nobody follows; l.mu is held by the caller.
func (l *Log) trim() {
	if l.follow > 0 {
		return
	}
	l.ring.maxLines = LogLines
	for l.ring.count > LogLines {
		l.ring.drop()
	}
	if l.ended {
		l.ring.compact()
	}
}

// Subscription follows one Log: first the lines that it holds, then those that come,
// without a gap and without a duplicate. It never blocks the run: a reader that falls
// behind by more than some thousands of lines loses the oldest and is told how many.
type Subscription struct {
	log    *Log
	cursor uint64 // number of the next line to hand out; guarded by log.mu
	closed bool
}

// Subscribe starts at the last LogLines lines. The subscription must be closed.
func (l *Log) Subscribe() *Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow++
	l.ring.maxLines = followedLines
	return &Subscription{log: l, cursor: l.next - uint64(min(l.ring.count, LogLines))} //nolint:gosec // a count of lines
}

// SubscribeAfter goes on where another subscription to the same log was: after its
// position. Lines that are no longer held since count as lost. The subscription must be
// closed.
func (l *Log) SubscribeAfter(position uint64) *Subscription {
	s := l.Subscribe()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.cursor = min(position, l.next)
	return s
}

// Position is how many lines of the log came up to the last one that Next returned,
// lost ones included.
func (s *Subscription) Position() uint64 {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.cursor
}

// Next waits for lines and returns some of them, and how many were lost before them
// because the reader was too slow. After the last line of the run the error is
// io.EOF, after Close ErrSubscriptionClosed, after ctx its error.
func (s *Subscription) Next(ctx context.Context) (lines []Line, lost int, err error) {
	for {
		lines, lost, wake, err := s.take()
		if len(lines) > 0 || err != nil {
			return lines, lost, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

func (s *Subscription) take() (lines []Line, lost int, wake <-chan struct{}, err error) {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.closed {
		return nil, 0, nil, ErrSubscriptionClosed
	}
	if oldest := l.next - uint64(l.ring.count); s.cursor < oldest { //nolint:gosec // a count of lines
		lost = int(oldest - s.cursor) //nolint:gosec // likewise
		s.cursor = oldest
	}
	behind := int(l.next - s.cursor) //nolint:gosec // likewise
	if behind == 0 {
		if l.ended {
			return nil, 0, nil, io.EOF
		}
		if l.wake == nil {
			l.wake = make(chan struct{})
		}
		return nil, 0, l.wake, nil
	}
	lines = make([]Line, 0, min(behind, nextLines))
	l.ring.each(l.ring.count-behind, func(text []byte, tag uint8) bool {
		lines = append(lines, Line{Stream: streamNames[tag], Text: string(text)})
		return len(lines) < cap(lines)
	})
	s.cursor += uint64(len(lines))
	return lines, lost, nil, nil
}

// Close ends the subscription and wakes a pending Next. It may be called again.
func (s *Subscription) Close() {
	l := s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	l.follow--
	l.trim()
	l.signal()
}
