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

// The allowance of frames that yamux answers with work of its own.
const (
	pingBurst = 32                    // pings at once
	pingEvery = 50 * time.Millisecond // one more each
)

var errPingFlood = errors.New("the peer floods the session with pings")

// frameGuard watches the frames that arrive on a session. yamux starts a goroutine for
// every ping, so a member that sends them without end could exhaust the memory; the
// guard ends the session instead. A ping is due once a second.
type frameGuard struct {
	net.Conn
	header [frameHeader]byte
	have   int    // bytes of the header seen
	skip   uint64 // bytes of the body to come
	credit int
	last   time.Time
}

func newFrameGuard(c net.Conn) *frameGuard {
	return &frameGuard{Conn: c, credit: pingBurst, last: time.Now()}
}

// Read is called by one goroutine, the receiving one of yamux.
func (g *frameGuard) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if flood := g.scan(b[:n]); flood != nil {
		return 0, flood
	}
	return n, err
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
