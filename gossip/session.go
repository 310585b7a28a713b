package gossip

import (
	"bufio"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/yamux"
)

// The kinds of streams, the first byte of each.
const (
	kindPackets    = 'p'
	kindMemberlist = 'm'
	kindRequest    = 'r'
	kindClock      = 't'
)

// The bounds of one session.
const (
	packetQueue = 256  // packets waiting to be sent
	maxPacket   = 2048 // bytes; memberlist fills 1400
	maxStreams  = 24   // streams that the peer has open at a time
	kindTimeout = 5 * time.Second
)

// The time from one keep-alive to the next. The end that dialled rests its view on the
// session and has to notice soon when the other is gone; the accepting end only has to
// clean up. An answer may take as long as three keep-alives.
const (
	keepAlive        = time.Second
	keepAliveInbound = 10 * time.Second
)

// sessionHandler is what a session does with what arrives.
type sessionHandler interface {
	handlePacket(s *session, packet []byte)
	// handleStream serves a stream of kind m, r or t; it returns when done with it, or
	// hands it on and returns. Either way, the stream is closed by whoever has it.
	handleStream(s *session, kind byte, stream *muxStream)
}

// session is one authenticated connection to one instance: TLS, then yamux.
type session struct {
	instance string // of the other end, by its hello
	outgoing bool
	host     int // index of the configured peer that was dialled; -1 if inbound
	remote   string
	opened   time.Time
	chain    []*x509.Certificate

	mux     *yamux.Session
	calls   calls
	handler sessionHandler
	log     hclog.Logger
	packets chan []byte

	ended  chan struct{} // closed when the session is over; reason is set before
	once   sync.Once
	reason error
	wg     sync.WaitGroup
	slots  chan struct{} // one per stream of the peer
	paired atomic.Bool   // the one packet stream exists

	comparing atomic.Bool // the peer's clock is being compared with this node's

	requests chan struct{} // one per request of the peer
}

// certified reports whether the other end's certificate is good for a host.
func (s *session) certified(host string) bool {
	return len(s.chain) > 0 && s.chain[0].VerifyHostname(host) == nil
}

// sessionConfig describes one session to start.
type sessionConfig struct {
	conn     net.Conn // after the hello
	instance string
	outgoing bool
	host     int
	chain    []*x509.Certificate
	handler  sessionHandler
	log      hclog.Logger
}

// startSession begins the session on an authenticated connection, which it owns from
// then on. The caller must call wait after the session ended.
func startSession(c sessionConfig) (*session, error) {
	config := yamux.DefaultConfig()
	config.AcceptBacklog = 2 * maxStreams
	config.EnableKeepAlive = false
	config.ConnectionWriteTimeout = 3 * time.Second // also for the answer to a keep-alive
	config.StreamOpenTimeout = 5 * time.Second
	config.StreamCloseTimeout = 5 * time.Second
	config.LogOutput = nil
	config.Logger = muxLogger{c.log}

	s := &session{
		instance: c.instance, outgoing: c.outgoing, host: c.host, chain: c.chain,
		remote: c.conn.RemoteAddr().String(), opened: time.Now(),
		handler: c.handler, log: c.log,
		packets: make(chan []byte, packetQueue),
		ended:   make(chan struct{}),
		slots:   make(chan struct{}, maxStreams),

		requests: make(chan struct{}, maxRequests),
	}
	guarded := newFrameGuard(c.conn, s.calls.release)
	var err error
	if c.outgoing {
		s.mux, err = yamux.Client(guarded, config)
	} else {
		s.mux, err = yamux.Server(guarded, config)
	}
	if err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	s.wg.Go(s.accept)
	if c.outgoing {
		s.wg.Go(s.openPackets)
		s.wg.Go(func() { s.keepAlive(keepAlive) })
	} else {
		s.wg.Go(func() { s.keepAlive(keepAliveInbound) })
	}
	return s, nil
}

// keepAlive asks the other end for a sign of life, again and again.
func (s *session) keepAlive(every time.Duration) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-timer.C:
		}
		if _, err := s.mux.Ping(); err != nil {
			if !s.mux.IsClosed() {
				s.close(endReason(yamux.ErrKeepAliveTimeout))
			}
			return
		}
		timer.Reset(every)
	}
}

// close ends the session for the given reason; only the first one counts.
func (s *session) close(reason error) {
	s.once.Do(func() {
		s.reason = reason
		s.calls.release()
		close(s.ended) // before the farewell, for which a silent peer has seconds
		s.mux.Close()
	})
}

// fail ends the session because of one of its streams. If the session has ended
// already, that is why the stream failed, and accept knows the reason.
func (s *session) fail(err error) {
	if !s.isOver() {
		s.close(endReason(err))
	}
}

// isOver reports whether the session has ended or is about to.
func (s *session) isOver() bool { return s.calls.ended() || s.mux.IsClosed() }

// wait returns when the session has ended and all of its goroutines have.
func (s *session) wait() {
	<-s.ended
	s.wg.Wait()
}

// over reports whether the session has ended.
func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// accept hands out the streams of the peer until the session ends.
func (s *session) accept() {
	for {
		st, err := s.mux.AcceptStream()
		if err != nil {
			s.close(endReason(err))
			return
		}
		select {
		case s.slots <- struct{}{}:
		default: // more than a well-behaved peer ever has open
			st.Close()
			continue
		}
		stream := s.newStream(st, func() { <-s.slots })
		s.wg.Go(func() { s.serve(stream) })
	}
}

// endReason turns the reasons of yamux into words.
func endReason(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the peer closed the session")
	case errors.Is(err, yamux.ErrKeepAliveTimeout), errors.Is(err, yamux.ErrConnectionWriteTimeout):
		return errors.New("the session went silent: keep-alives were not answered")
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil && op.Op != "remote error" {
		err = op.Err // without the addresses, of which one is a random port
	}
	return fmt.Errorf("the session broke: %w", err)
}

// serve reads the kind of a stream and passes it on.
func (s *session) serve(stream *muxStream) {
	var kind [1]byte
	_ = stream.SetReadDeadline(time.Now().Add(kindTimeout))
	if _, err := io.ReadFull(stream, kind[:]); err != nil {
		stream.Close()
		return
	}
	_ = stream.SetReadDeadline(time.Time{})
	stream.budget = maxStreamBytes
	switch kind[0] {
	case kindPackets:
		if s.outgoing || s.paired.Swap(true) {
			stream.Close()
			return
		}
		s.runPackets(stream)
	case kindMemberlist, kindRequest, kindClock:
		s.handler.handleStream(s, kind[0], stream)
	default:
		stream.Close()
	}
}

// open opens a stream of the given kind to the peer.
func (s *session) open(kind byte) (*muxStream, error) {
	st, err := s.mux.OpenStream()
	if err != nil {
		return nil, s.explain(err)
	}
	stream := s.newStream(st, nil)
	if _, err := stream.Write([]byte{kind}); err != nil {
		stream.Close()
		return nil, s.explain(err)
	}
	return stream, nil
}

// newStream follows a stream until it is closed.
func (s *session) newStream(st *yamux.Stream, release func()) *muxStream {
	stream := &muxStream{Stream: st, calls: &s.calls, budget: maxStreamBytes, release: release}
	s.calls.add(stream)
	return stream
}

// explain replaces the error of a stream by the reason for which its session ended, if
// it has.
func (s *session) explain(err error) error {
	if err != nil && s.isOver() {
		<-s.ended // follows at once
		return s.reason
	}
	return err
}

// openPackets opens the packet stream, which is the dialling end's part.
func (s *session) openPackets() {
	stream, err := s.open(kindPackets)
	if err != nil {
		s.fail(err)
		return
	}
	s.runPackets(stream)
}

// runPackets sends and receives packets until the session ends. A packet stream that
// fails ends the session: it is the heartbeat of memberlist.
func (s *session) runPackets(stream *muxStream) {
	s.wg.Go(func() { s.writePackets(stream) })
	stream.budget = math.MaxInt64 // as long as the session lasts
	r := bufio.NewReaderSize(stream, 2*maxPacket)
	for {
		packet, err := readPacket(r)
		if err != nil {
			s.fail(err)
			stream.Close()
			return
		}
		s.handler.handlePacket(s, packet)
	}
}

// readPacket reads one packet with its length before it.
func readPacket(r *bufio.Reader) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(size[:]))
	if n == 0 || n > maxPacket {
		return nil, fmt.Errorf("a packet of %d bytes: at most %d are allowed", n, maxPacket)
	}
	packet := make([]byte, n)
	_, err := io.ReadFull(r, packet)
	return packet, err
}

// writePackets sends what is queued, several packets at a time if several wait.
func (s *session) writePackets(stream *muxStream) {
	var batch []byte
	for {
		select {
		case <-s.ended:
			return
		case p := <-s.packets:
			batch = appendPacket(batch[:0], p)
		}
		for len(batch) < 16<<10 {
			select {
			case p := <-s.packets:
				batch = appendPacket(batch, p)
				continue
			default:
			}
			break
		}
		if _, err := stream.Write(batch); err != nil {
			s.fail(err)
			return
		}
	}
}

func appendPacket(b, p []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(p))) //nolint:gosec // at most maxPacket
	return append(b, p...)
}

// send queues a packet and reports whether there was room.
func (s *session) send(p []byte) bool {
	select {
	case s.packets <- p:
		return true
	default:
		return false
	}
}

// muxLogger shows what yamux says to who asks for it; every event that matters is
// reported by this package in its own words.
type muxLogger struct{ log hclog.Logger }

func (l muxLogger) Print(v ...any) {
	if l.log.IsTrace() {
		l.log.Trace(clean(fmt.Sprint(v...)))
	}
}

func (l muxLogger) Println(v ...any) { l.Print(v...) }

func (l muxLogger) Printf(format string, v ...any) {
	if l.log.IsTrace() {
		l.log.Trace(clean(fmt.Sprintf(format, v...)))
	}
}
