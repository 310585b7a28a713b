package gossip

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// transport carries memberlist's packets and streams over the sessions. It routes by
// the name in an address: an instance id, or the label of a configured peer. It never
// dials; sessions are opened by the links alone.
type transport struct {
	self     string
	registry *registry
	links    func(label string) *link
	count    func(name ...string)

	probes  *probes
	packets chan *memberlist.Packet
	streams chan net.Conn
	done    chan struct{}
	once    sync.Once
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

func newTransport(self string, r *registry, links func(label string) *link, count func(name ...string)) *transport {
	return &transport{
		self: self, registry: r, links: links, count: count,
		probes:  newProbes(),
		packets: make(chan *memberlist.Packet, 512),
		streams: make(chan net.Conn),
		done:    make(chan struct{}),
	}
}

// errNoRoute is the kind of error that memberlist takes for a failed peer, not for a
// failure of its own. Without it a member that is gone would stay alive for ever.
func errNoRoute(why string) error {
	return &net.OpError{Op: "write", Net: "tcp", Err: errors.New(why)}
}

// FinalAdvertiseAddr returns the label of this node.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return labelIP(t.self), labelPort, nil
}

// WriteTo can't know who is meant: every address is a label only.
func (t *transport) WriteTo([]byte, string) (time.Time, error) {
	return time.Time{}, errNoRoute("no instance is named")
}

// WriteToAddress queues the packet on a session to the named instance. Packets may get
// lost: a full queue drops them.
func (t *transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	if len(b) > maxPacket {
		return time.Time{}, errors.New("the packet is too long")
	}
	// Noted even if it can't be sent: memberlist waits for an answer all the same.
	if !t.probes.outgoing(b, time.Now()) {
		return time.Time{}, errStopped // no kind of error that memberlist blames on the peer
	}
	s := t.registry.route(a.Name)
	if s == nil {
		return time.Time{}, errNoRoute("no session to this instance")
	}
	if !s.send(bytes.Clone(b)) { // memberlist may use its buffer again
		t.count("packet", "dropped")
	}
	return time.Now(), nil
}

// PacketCh delivers the packets of all sessions.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// deliver passes a packet of a session to memberlist, or drops it.
func (t *transport) deliver(instance string, packet []byte) {
	t.registry.signs.note(instance, time.Now())
	if !packetAllowed(packet) || !t.probes.incoming(packet) {
		return
	}
	select {
	case t.packets <- &memberlist.Packet{Buf: packet, From: labelAddr(instance), Timestamp: time.Now()}:
	default:
	}
}

// DialTimeout can't know who is meant, like WriteTo.
func (t *transport) DialTimeout(string, time.Duration) (net.Conn, error) {
	return nil, errNoRoute("no instance is named")
}

// DialAddressTimeout opens a stream. The label of a configured peer leads to the
// session that was dialled to it, and the stream keeps what is read from it.
func (t *transport) DialAddressTimeout(a memberlist.Address, _ time.Duration) (net.Conn, error) {
	if strings.HasPrefix(a.Name, linkLabel) {
		l := t.links(a.Name)
		if l == nil {
			return nil, errNoRoute("no such peer")
		}
		return l.openExchange()
	}
	s := t.registry.route(a.Name)
	if s == nil {
		return nil, errNoRoute("no session to this instance")
	}
	stream, err := s.open(kindMemberlist)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return &memberStream{muxStream: stream, answer: true}, nil
}

// StreamCh delivers the streams that peers open.
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

// deliverStream passes a stream of a peer to memberlist, which closes it.
func (t *transport) deliverStream(stream *muxStream) {
	select {
	case t.streams <- &memberStream{muxStream: stream}:
	case <-t.done:
		stream.Close()
	}
}

// Shutdown ends the delivery of streams. The sessions are not memberlist's to close.
func (t *transport) Shutdown() error {
	t.once.Do(func() { close(t.done) })
	return nil
}
