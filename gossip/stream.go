package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/yamux"
)

// The bounds of one stream.
const (
	maxStreamBytes = 512 << 10 // read from a stream, all in all
	maxStateBytes  = 256 << 10 // delegate state, as sent and as received
	maxPushNodes   = 4096      // members in one push; memberlist allocates before it reads
	maxPushHeader  = 1024      // bytes of the header of a push
)

var errStreamTooLong = errors.New("the peer sent more on one stream than is allowed")

// muxStream is a stream of a session with a budget of bytes to be read.
type muxStream struct {
	*yamux.Stream
	calls   *calls // of its session
	budget  int64
	release func() // called once, when the stream is closed; may be nil
	once    sync.Once
}

// Read reads within the budget.
func (s *muxStream) Read(b []byte) (int, error) {
	if s.budget <= 0 {
		return 0, errStreamTooLong
	}
	if int64(len(b)) > s.budget {
		b = b[:s.budget]
	}
	if !s.calls.enter() {
		return 0, io.EOF
	}
	defer s.calls.leave()
	n, err := s.Stream.Read(b)
	s.budget -= int64(n)
	return n, err
}

// Write writes unless the session is over.
func (s *muxStream) Write(b []byte) (int, error) {
	if s.calls.ended() {
		return 0, yamux.ErrStreamClosed
	}
	return s.Stream.Write(b)
}

// Close closes this end and gives the slot of the stream back.
func (s *muxStream) Close() error {
	err := s.Stream.Close()
	s.calls.remove(s)
	if s.release != nil {
		s.once.Do(s.release)
	}
	return err
}

// The message types of memberlist that may open a stream or answer on one. All others
// (compressed and encrypted messages, user messages, labels) are not used here, and
// some of them make memberlist allocate what a peer asks for.
const (
	msgPing         = 0
	msgIndirectPing = 1
	msgAck          = 2
	msgSuspect      = 3
	msgAlive        = 4
	msgDead         = 5
	msgPushPull     = 6
	msgCompound     = 7
	msgUser         = 8
	msgNack         = 11
	msgChecksum     = 12
	msgError        = 13
)

// memberStream is a stream that memberlist reads. Its beginning is looked at before
// memberlist sees it, and what is read can be kept.
type memberStream struct {
	*muxStream
	answer bool // this node opened it and reads the answer

	checked bool
	err     error
	replay  []byte        // read for the check, not yet delivered
	kept    *bytes.Buffer // everything delivered; nil: not kept
}

// Read delivers the stream after its beginning has passed the check.
func (s *memberStream) Read(b []byte) (int, error) {
	if !s.checked {
		s.checked = true
		s.err = s.check()
	}
	if s.err != nil {
		return 0, s.err
	}
	var n int
	var err error
	if len(s.replay) > 0 {
		n = copy(b, s.replay)
		s.replay = s.replay[n:]
	} else {
		n, err = s.muxStream.Read(b)
	}
	if s.kept != nil {
		s.kept.Write(b[:n])
	}
	return n, err
}

// check reads the message type and, of a push, the header with its sizes.
func (s *memberStream) check() error {
	var kind [1]byte
	if _, err := io.ReadFull(s.muxStream, kind[:]); err != nil {
		return err
	}
	s.replay = kind[:]
	switch kind[0] {
	case msgPushPull:
	case msgPing:
		if s.answer {
			return fmt.Errorf("the peer answered with a ping")
		}
		return nil
	case msgAck, msgError:
		if !s.answer {
			return fmt.Errorf("the peer opened a stream with an answer")
		}
		return nil
	default:
		return fmt.Errorf("the peer sent a message of type %d on a stream", kind[0])
	}
	seen := &seenReader{r: io.LimitReader(s.muxStream, maxPushHeader)}
	err := checkPushHeader(seen)
	s.replay = append(s.replay, seen.seen...)
	return err
}

// checkPushHeader decodes the header of a push as memberlist will, and refuses sizes
// that no honest peer has.
func checkPushHeader(r io.Reader) error {
	var header struct {
		Nodes        int
		UserStateLen int
		Join         bool
	}
	if err := codec.NewDecoder(r, &codec.MsgpackHandle{}).Decode(&header); err != nil {
		return fmt.Errorf("the header of a push cannot be read: %w", err)
	}
	if header.Nodes < 0 || header.Nodes > maxPushNodes {
		return fmt.Errorf("a push of %d members: at most %d are allowed", header.Nodes, maxPushNodes)
	}
	if header.UserStateLen < 0 || header.UserStateLen > maxStateBytes+trailerLen {
		return fmt.Errorf("a state of %d bytes: at most %d are allowed", header.UserStateLen, maxStateBytes)
	}
	return nil
}

// seenReader remembers what was read through it.
type seenReader struct {
	r    io.Reader
	seen []byte
}

func (r *seenReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.seen = append(r.seen, b[:n]...)
	return n, err
}

// A delegate state travels behind memberlist's own part of a push, which ends where
// the sender says. So that the state can be cut out of the bytes of exactly one
// stream, it ends in a trailer: its length (32 bits) and a mark.
const (
	trailerLen  = 8
	trailerMark = "Y2s1"
)

// appendTrailer returns state with its trailer.
func appendTrailer(state []byte) []byte {
	out := make([]byte, 0, len(state)+trailerLen)
	out = append(out, state...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(state))) //nolint:gosec // far below 4 GiB
	return append(out, trailerMark...)
}

// cutState returns the delegate state at the end of a stream's bytes.
func cutState(stream []byte) ([]byte, error) {
	if len(stream) < trailerLen || string(stream[len(stream)-4:]) != trailerMark {
		return nil, errors.New("the answer carries no state")
	}
	body := stream[:len(stream)-trailerLen]
	n := binary.BigEndian.Uint32(stream[len(body):])
	if n > maxStateBytes || int(n) > len(body) {
		return nil, fmt.Errorf("the answer carries a state of %d bytes", n)
	}
	return body[len(body)-int(n):], nil
}

// packetAllowed reports whether a packet holds only messages that this package uses.
// It walks through compound packets, one level deep as memberlist makes them.
func packetAllowed(b []byte) bool {
	if len(b) >= 5 && b[0] == msgChecksum {
		b = b[5:]
	}
	if len(b) > 0 && b[0] == msgCompound {
		return compoundAllowed(b[1:])
	}
	return plainPacket(b)
}

// plainPacket reports whether b is one plain message.
func plainPacket(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case msgPing, msgIndirectPing, msgAck, msgSuspect, msgAlive, msgDead, msgUser, msgNack:
		return true
	}
	return false
}

// compoundAllowed walks a compound packet: a count, the lengths (16 bits), the parts.
func compoundAllowed(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	n := int(b[0])
	lengths := b[1:]
	if len(lengths) < 2*n {
		return false
	}
	parts := lengths[2*n:]
	for i := range n {
		size := int(binary.BigEndian.Uint16(lengths[2*i:]))
		if size > len(parts) || !plainPacket(parts[:size]) {
			return false
		}
		parts = parts[size:]
	}
	return true
}
