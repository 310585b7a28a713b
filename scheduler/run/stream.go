package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

const (
	// chunkSize is what a stream reads at once: as much as a pipe holds.
	chunkSize = 64 << 10

	// keepPending is the largest buffer for an unfinished line that is kept for the
	// next one.
	keepPending = 64 << 10

	// keepEmission is the largest buffer for re-emission that is kept.
	keepEmission = 1 << 20

	// warnLines bounds the warnings about dropped lines of one stream; the others
	// are only counted.
	warnLines = 20
)

// Buffers shared by all runs: for reading, and for the lines to be re-emitted.
var (
	chunks   = sync.Pool{New: func() any { return new([chunkSize]byte) }}
	emission = sync.Pool{New: func() any { return new([]byte) }}
)

// stream captures one stream of one run. The platform's part reads the pipe and calls
// feed, then emit, and at its end finish, one at a time.
type stream struct {
	name    string
	tag     uint8 // index in streamNames
	job     string
	format  string // of the prefix
	max     int    // bytes per line; 0: no limit
	out     io.Writer
	log     *Log // its mutex guards the fields marked below
	process *Process
	done    chan struct{} // closed when nothing comes any more

	pipe // the platform's part

	// These follow the pipe.
	prefix   []byte // made with the first line
	pending  []byte // an unfinished line
	skipping bool   // within a line that is too long
	scratch  []byte // for decoding

	// Guarded by log.mu, since a run may end while a Write is stuck.
	retained retention
	tooLong  int   // lines dropped for their length
	outErr   error // why re-emission stopped
	detached bool  // the run is over, nothing more counts
}

func newStream(spec *Spec, tag uint8, p *Process) *stream {
	return &stream{
		name:     streamNames[tag],
		tag:      tag,
		job:      spec.JobName,
		format:   spec.StreamPrefix,
		max:      max(0, spec.MaxLineLength),
		out:      spec.output(tag),
		log:      p.log,
		process:  p,
		done:     make(chan struct{}),
		retained: newRetention(max(0, spec.SaveLimit)),
	}
}

// take handles one chunk: lines first, then their re-emission in one Write.
func (s *stream) take(b []byte) {
	out := s.borrow()
	*out = s.feed((*out)[:0], b)
	s.emit(out)
}

// borrow takes a buffer for re-emission, which emit gives back.
func (s *stream) borrow() *[]byte { return emission.Get().(*[]byte) }

// feed splits b, which follows what was fed before, and appends to out what is to be
// re-emitted. One lock per chunk, not per line.
func (s *stream) feed(out, b []byte) []byte {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	defer s.log.signal()
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		if !s.skipping && s.max > 0 && len(s.pending)+len(part) > s.max {
			s.skipping = true
			s.pending = nil
			s.dropped()
		}
		switch {
		case end < 0:
			if !s.skipping {
				s.hold(part)
			}
			return out
		case s.skipping:
			s.skipping = false
		case len(s.pending) > 0:
			s.hold(part)
			out = s.line(out, s.pending, true)
			if cap(s.pending) > keepPending {
				s.pending = nil
			}
			s.pending = s.pending[:0]
		default:
			out = s.line(out, part, true)
		}
		b = b[end+1:]
	}
	return out
}

// hold adds to the unfinished line. The buffer doubles, up to what a line may have:
// append would leave several times as much behind on the way to a long one.
func (s *stream) hold(part []byte) {
	if need := len(s.pending) + len(part); need > cap(s.pending) {
		room := max(need, 2*cap(s.pending))
		if s.max > 0 {
			room = min(room, s.max) // need is within it
		}
		s.pending = append(make([]byte, 0, room), s.pending...)
	}
	s.pending = append(s.pending, part...)
}

// line records one complete line; log.mu is held.
func (s *stream) line(out, text []byte, terminated bool) []byte {
	if !utf8.Valid(text) {
		s.scratch = appendValid(s.scratch[:0], text)
		text = s.scratch
	}
	if !s.detached {
		s.retained.add(text, terminated)
		s.log.push(text, s.tag)
	}
	if s.out == nil || s.outErr != nil {
		return out
	}
	if s.prefix == nil {
		s.prefix = append([]byte{}, expandPrefix(s.format, s.job, s.name)...)
	}
	out = append(append(out, s.prefix...), text...)
	// The newline also after an unterminated last line: the next line in the
	// shared output belongs to another run.
	return append(out, '\n')
}

// dropped counts a line that is too long; log.mu is held.
func (s *stream) dropped() {
	s.tooLong++
	if s.tooLong <= warnLines {
		s.process.logger.warn("dropped a line longer than maxLineLength", "stream", s.name, "max_bytes", s.max)
	}
}

// finish ends an unterminated last line and the stream.
func (s *stream) finish() {
	if len(s.pending) > 0 {
		out := s.borrow()
		s.log.mu.Lock()
		*out = s.line((*out)[:0], s.pending, false)
		s.log.signal()
		s.log.mu.Unlock()
		s.pending = nil
		s.emit(out)
	}
	close(s.done)
	s.process.streamEnded()
}

// emit writes whole lines to the shared output and gives the buffer back. It may
// block and holds no lock.
func (s *stream) emit(out *[]byte) {
	if len(*out) > 0 {
		if _, err := s.out.Write(*out); err != nil {
			s.log.mu.Lock()
			s.outErr = err
			s.log.mu.Unlock()
		}
	}
	if cap(*out) <= keepEmission {
		emission.Put(out)
	}
}

// over reports whether the stream has ended.
func (s *stream) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// size is how much text result has to put together.
func (s *stream) size() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.retained.size()
}

// result detaches the stream and returns what it holds, with notes.
func (s *stream) result() (Stream, []string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.detached = true
	var notes []string
	if s.tooLong > 0 {
		lines := "lines"
		if s.tooLong == 1 {
			lines = "line"
		}
		notes = append(notes, fmt.Sprintf("%s: dropped %d %s longer than %d bytes", s.name, s.tooLong, lines, s.max))
	}
	if s.outErr != nil {
		notes = append(notes, fmt.Sprintf("%s: not passed on any more: %v", s.name, withoutPath(s.outErr)))
	}
	text := s.retained.text()
	discarded := s.retained.discarded
	s.retained = retention{}
	return Stream{Captured: true, Text: text, Discarded: discarded}, notes
}

// withoutPath strips the operation and file name from an error of package os.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
