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

// stream captures one stream of one run.
type stream struct {
	name   string
	tag    uint8 // index in streamNames
	prefix []byte
	max    int // bytes per line; 0: no limit
	out    io.Writer
	log    *Log // its mutex guards the fields marked below
	logger logger

	file *os.File
	done chan struct{} // closed when pump has ended

	// Only pump uses these.
	pending  []byte // an unfinished line
	skipping bool   // within a line that is too long
	scratch  []byte // for decoding

	// Guarded by log.mu, since a run may end while pump is stuck in a Write.
	retained retention
	tooLong  int   // lines dropped for their length
	outErr   error // why re-emission stopped
	detached bool  // the run is over, nothing more counts
}

func newStream(spec *Spec, tag uint8, log *Log, file *os.File) *stream {
	out := spec.Stdout
	if streamNames[tag] == StderrName {
		out = spec.Stderr
	}
	return &stream{
		name:     streamNames[tag],
		tag:      tag,
		prefix:   []byte(expandPrefix(spec.StreamPrefix, spec.JobName, streamNames[tag])),
		max:      max(0, spec.MaxLineLength),
		out:      out,
		log:      log,
		logger:   logger{spec.Logger},
		file:     file,
		done:     make(chan struct{}),
		retained: newRetention(max(0, spec.SaveLimit)),
	}
}

// pump reads the stream to its end, or until the file is closed under it.
func (s *stream) pump() {
	defer close(s.done)
	defer s.file.Close()
	read := s.reader()
	for {
		chunk, n, err := read()
		if n > 0 {
			s.take(chunk[:n])
		}
		if chunk != nil {
			chunks.Put(chunk)
		}
		if err != nil {
			s.flush()
			return
		}
	}
}

// take handles one chunk: lines first, then their re-emission in one Write.
func (s *stream) take(b []byte) {
	if s.out == nil {
		s.feed(nil, b)
		return
	}
	buf := emission.Get().(*[]byte)
	*buf = s.feed((*buf)[:0], b)
	s.emit(*buf)
	if cap(*buf) <= keepEmission {
		emission.Put(buf)
	}
}

// feed splits b, which follows what was fed before, and appends to out what is to be
// re-emitted. One lock per chunk, not per line.
func (s *stream) feed(out, b []byte) []byte {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
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
				s.pending = append(s.pending, part...)
			}
			s.log.signal()
			return out
		case s.skipping:
			s.skipping = false
		case len(s.pending) > 0:
			s.pending = append(s.pending, part...)
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
	s.log.signal()
	return out
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
	out = append(append(out, s.prefix...), text...)
	// The newline also after an unterminated last line: the next line in the
	// shared output belongs to another run.
	return append(out, '\n')
}

// dropped counts a line that is too long; log.mu is held.
func (s *stream) dropped() {
	s.tooLong++
	if s.tooLong > warnLines {
		return
	}
	s.logger.warn("dropped a line longer than maxLineLength", "stream", s.name, "max_bytes", s.max)
}

// flush ends an unterminated last line.
func (s *stream) flush() {
	if len(s.pending) == 0 {
		return
	}
	s.log.mu.Lock()
	out := s.line(nil, s.pending, false)
	s.log.signal()
	s.log.mu.Unlock()
	s.pending = nil
	s.emit(out)
}

// emit writes whole lines to the shared output. It may block and holds no lock.
func (s *stream) emit(out []byte) {
	if len(out) == 0 {
		return
	}
	if _, err := s.out.Write(out); err != nil {
		s.log.mu.Lock()
		s.outErr = err
		s.log.mu.Unlock()
	}
}

// result detaches the stream and returns what it holds, with notes.
func (s *stream) result() (Stream, []string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.detached = true
	var notes []string
	if s.tooLong > 0 {
		notes = append(notes, fmt.Sprintf("%s: dropped %d lines longer than %d bytes", s.name, s.tooLong, s.max))
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
