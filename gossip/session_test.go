package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// quietHandler keeps the streams of a session open and reads from them.
type quietHandler struct{}

func (quietHandler) handlePacket(*session, []byte) {}

func (quietHandler) handleStream(_ *session, _ byte, stream *muxStream) {
	_, _ = io.Copy(io.Discard, stream)
	stream.Close()
}

// farewell is a connection that tells when yamux closes it.
type farewell struct {
	net.Conn
	closing func()
}

func (f *farewell) Close() error {
	f.closing()
	return f.Conn.Close()
}

// sessionPair connects two sessions in memory. closing is called when the accepting
// one is about to close its end.
func sessionPair(t *testing.T, closing func(inbound *session)) (outgoing, inbound *session) {
	t.Helper()
	one, other := net.Pipe()
	start := func(conn net.Conn, outgoing bool) *session {
		s, err := startSession(sessionConfig{conn: conn, instance: newInstanceID(), outgoing: outgoing, handler: quietHandler{}, log: hclog.NewNullLogger()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	outgoing = start(one, true)
	inbound = start(&farewell{other, func() { closing(inbound) }}, false)
	return outgoing, inbound
}

// reading returns how many reads of the session's streams are under way.
func (c *calls) reading() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy
}

// However a session ends, nobody reads from its streams any more by the time yamux
// shuts it down, when a read would spin.
func TestSessionEndsWithoutReaders(t *testing.T) {
	for name, end := range map[string]func(outgoing, inbound *session){
		"from here":  func(_, inbound *session) { inbound.close(errStopped) },
		"from there": func(outgoing, _ *session) { outgoing.close(errStopped) },
		"half way":   func(outgoing, _ *session) { outgoing.mux.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			readers := make(chan int, 10)
			outgoing, inbound := sessionPair(t, func(s *session) { readers <- s.calls.reading() })
			for range 5 {
				if _, err := outgoing.open(kindRequest); err != nil {
					t.Fatal(err)
				}
			}
			wait(t, "the streams and the packets are read", func() bool { return inbound.calls.reading() == 6 })
			end(outgoing, inbound)
			inbound.wait()
			outgoing.close(errStopped)
			outgoing.wait()
			if n := <-readers; n != 0 {
				t.Errorf("%d were still reading", n)
			}
			if s, err := inbound.open(kindRequest); err == nil {
				t.Errorf("a stream %v of a session that is over", s)
			}
		})
	}
}

// deaf is a connection from which nothing arrives, and which takes everything.
type deaf struct {
	net.Conn
	closing func()
	closed  chan struct{}
}

func (d *deaf) Read([]byte) (int, error) {
	<-d.closed
	return 0, io.EOF
}
func (d *deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d *deaf) Close() error {
	d.closing()
	close(d.closed)
	return nil
}
func (d *deaf) RemoteAddr() net.Addr { return labelAddr(newInstanceID()) }
func (d *deaf) LocalAddr() net.Addr  { return labelAddr(newInstanceID()) }

// Both ends notice when the other one is silent.
func TestSilentSession(t *testing.T) {
	t.Parallel()
	for name, outgoing := range map[string]bool{"outgoing": true, "inbound": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *session
			started, readers := make(chan struct{}), make(chan int, 10)
			conn := &deaf{closed: make(chan struct{}), closing: func() {
				<-started
				readers <- s.calls.reading()
			}}
			var err error
			s, err = startSession(sessionConfig{conn: conn, instance: newInstanceID(), outgoing: outgoing, handler: quietHandler{}, log: hclog.NewNullLogger()})
			if err != nil {
				t.Fatal(err)
			}
			close(started)
			s.wait()
			if n := <-readers; n != 0 {
				t.Errorf("%d were still reading", n)
			}
			if !strings.Contains(s.reason.Error(), "went silent") {
				t.Errorf("reason: %v", s.reason)
			}
		})
	}
}

// recorder is a connection that keeps what was written, piece by piece.
type recorder struct {
	net.Conn
	pieces [][]byte
	err    error
}

func (r *recorder) Write(b []byte) (int, error) {
	r.pieces = append(r.pieces, bytes.Clone(b))
	return len(b), r.err
}

// A frame leaves in one piece, in the order and with the bytes in which yamux writes.
func TestFramesLeaveWhole(t *testing.T) {
	head := func(kind byte, length int) []byte {
		return binary.BigEndian.AppendUint32([]byte{0, kind, 0, 0, 0, 0, 0, 1}, uint32(length))
	}
	r := &recorder{}
	broken := 0
	g := newFrameGuard(r, func() { broken++ })
	big := bytes.Repeat([]byte{7}, 2*maxFrameKept)
	var want [][]byte
	for _, frame := range []struct{ head, body []byte }{
		{head(framePing, 77), nil}, {head(frameData, 3), []byte("abc")}, {head(frameData, 0), nil},
		{head(1, 256<<10), nil}, {head(frameData, len(big)), big}, {head(frameData, 1), []byte{0}},
	} {
		for _, piece := range [][]byte{frame.head, frame.body} {
			if piece == nil {
				continue
			}
			if n, err := g.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(piece), err)
			}
		}
		want = append(want, append(bytes.Clone(frame.head), frame.body...))
	}
	if len(r.pieces) != len(want) || !bytes.Equal(bytes.Join(r.pieces, nil), bytes.Join(want, nil)) {
		t.Errorf("%d pieces for %d frames", len(r.pieces), len(want))
	}
	if broken > 0 {
		t.Error("taken for broken")
	}
	r.err = errors.New("gone")
	if _, err := g.Write(head(framePing, 1)); !errors.Is(err, r.err) || broken != 1 {
		t.Errorf("%v, told %d times", err, broken)
	}
}
