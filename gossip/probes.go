package gossip

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// gossipInterval is how often memberlist passes on what is new, if anything is. What
// matters goes over the sessions at once, so this is the repetition, and an idle node
// wakes up for it.
const gossipInterval = 500 * time.Millisecond

// The timing of memberlist's probes.
const (
	probeInterval = 500 * time.Millisecond
	probeTimeout  = 250 * time.Millisecond
	probeSlowdown = 2 // how much longer probes may take on a node that is behind
)

// probes follows the pings that memberlist has sent and that were not answered.
// memberlist does not say when its goroutines have ended, and the one that waits for an
// answer outlives Shutdown; so Stop lets no new ping out and waits until the last one
// is answered or has been given up.
type probes struct {
	mu      sync.Mutex
	refused bool
	sent    map[uint32]time.Time // by sequence number
	less    chan struct{}        // signalled when one is answered
}

func newProbes() *probes {
	return &probes{sent: make(map[uint32]time.Time), less: make(chan struct{}, 1)}
}

// outgoing notes the pings of a packet. It reports whether the packet may go: after
// refuse no ping may.
func (p *probes) outgoing(packet []byte, now time.Time) bool {
	ok := true
	eachMessage(packet, func(m []byte) {
		if m[0] != msgPing {
			return
		}
		seq, readable := sequence(m)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.refused {
			ok = false
		} else if readable {
			p.forget(now)
			p.sent[seq] = now
		}
	})
	return ok
}

// incoming notes the answers of a packet, and reports whether memberlist should get it:
// after refuse only answers, since anything else could make it start something.
func (p *probes) incoming(packet []byte) bool {
	answers := false
	eachMessage(packet, func(m []byte) {
		if m[0] != msgAck {
			return
		}
		answers = true
		if seq, ok := sequence(m); ok {
			p.mu.Lock()
			delete(p.sent, seq)
			p.mu.Unlock()
			signal(p.less)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return answers || !p.refused
}

// refuse lets no more pings out.
func (p *probes) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = true
}

// wait returns when no ping is waited for any more, at most after limit.
func (p *probes) wait(limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for {
		rest := p.rest(time.Now())
		if rest <= 0 {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-p.less:
		case <-end.C:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// probeLife is how long memberlist waits for an answer, at most, and a little more.
const probeLife = probeSlowdown*probeInterval + 50*time.Millisecond

// rest returns how long the youngest ping is still waited for.
func (p *probes) rest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	var rest time.Duration
	for _, at := range p.sent {
		rest = max(rest, probeLife-now.Sub(at))
	}
	return rest
}

// forget drops the pings that memberlist has given up. p.mu is held.
func (p *probes) forget(now time.Time) {
	for seq, at := range p.sent {
		if now.Sub(at) >= probeLife {
			delete(p.sent, seq)
		}
	}
}

// sequence reads the sequence number of a ping or an ack.
func sequence(message []byte) (seq uint32, ok bool) {
	var m struct{ SeqNo uint32 }
	if codec.NewDecoderBytes(message[1:], &codec.MsgpackHandle{}).Decode(&m) != nil {
		return 0, false
	}
	return m.SeqNo, true
}

// eachMessage calls f with every message of a packet that packetAllowed lets through.
func eachMessage(b []byte, f func(message []byte)) {
	if len(b) >= 5 && b[0] == msgChecksum {
		b = b[5:]
	}
	if len(b) == 0 {
		return
	}
	if b[0] != msgCompound {
		f(b)
		return
	}
	if len(b) < 2 || len(b) < 2+2*int(b[1]) {
		return
	}
	lengths, parts := b[2:], b[2+2*int(b[1]):]
	for i := range int(b[1]) {
		size := int(binary.BigEndian.Uint16(lengths[2*i:]))
		if size > len(parts) {
			return
		}
		if size > 0 {
			f(parts[:size])
		}
		parts = parts[size:]
	}
}
