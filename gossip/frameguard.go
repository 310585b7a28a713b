package gossip

import (
	"encoding/binary"
	"errors"
	"net"
	"time"
)

// The yamux frame header: version, type, flags (16 bits), stream (32), length (32).
const (
	frameHeader = 12
	frameData   = 0
	framePing   = 2
)

// maxFrameKept bounds the buffer that is kept from one frame to the next, in bytes.
const maxFrameKept = 16 << 10

// The allowance of frames that yamux answers with work of its own.
const (
	pingBurst = 32                    // pings at once
	pingEvery = 50 * time.Millisecond // one more each
)

var errPingFlood = errors.New("the peer floods the session with pings")

// frameGuard watches the frames that arrive on a session. yamux starts a goroutine for
// every ping, so a member that sends them without end could exhaust the memory; the
// guard ends the session instead. A ping is due once a second.
//
// The guard also sends a frame in one piece where yamux writes its header and its body,
// which would be two TLS records, and it tells of a broken connection before yamux knows.
type frameGuard struct {
	net.Conn
	broken func() // called after each failure, with the frames that arrive held up

	out []byte // the header of a frame whose body follows

	header [frameHeader]byte
	have   int    // bytes of the header seen
	skip   uint64 // bytes of the body to come
	credit int
	last   time.Time
}

func newFrameGuard(c net.Conn, broken func()) *frameGuard {
	return &frameGuard{Conn: c, broken: broken, credit: pingBurst, last: time.Now()}
}

// Read is called by one goroutine, the receiving one of yamux.
func (g *frameGuard) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if flood := g.scan(b[:n]); flood != nil {
		n, err = 0, flood
	}
	if err != nil {
		g.broken()
	}
	return n, err
}

// Write is called by one goroutine, the sending one of yamux: for a header, and then
// for its body if there is one.
func (g *frameGuard) Write(b []byte) (int, error) {
	if len(g.out) == 0 && len(b) == frameHeader && b[1] == frameData && binary.BigEndian.Uint32(b[8:]) > 0 {
		g.out = append(g.out, b...)
		return len(b), nil
	}
	head := len(g.out)
	if head > 0 {
		g.out = append(g.out, b...)
		b = g.out
	}
	n, err := g.Conn.Write(b)
	if g.out = g.out[:0]; cap(g.out) > maxFrameKept {
		g.out = nil
	}
	if err != nil {
		g.broken()
	}
	return max(n-head, 0), err
}

// scan follows the frames through b.
func (g *frameGuard) scan(b []byte) error {
	for len(b) > 0 {
		if g.skip > 0 {
			n := min(g.skip, uint64(len(b)))
			g.skip -= n
			b = b[n:]
			continue
		}
		n := copy(g.header[g.have:], b)
		g.have += n
		b = b[n:]
		if g.have < frameHeader {
			return nil
		}
		g.have = 0
		switch g.header[1] {
		case frameData:
			g.skip = uint64(binary.BigEndian.Uint32(g.header[8:]))
		case framePing:
			if !g.allow() {
				return errPingFlood
			}
		}
	}
	return nil
}

// allow takes one ping from the allowance.
func (g *frameGuard) allow() bool {
	now := time.Now()
	if n := int(now.Sub(g.last) / pingEvery); n > 0 {
		g.credit = min(g.credit+n, pingBurst)
		g.last = now
	}
	g.credit--
	return g.credit >= 0
}
