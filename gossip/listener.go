package gossip

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The bounds of the listener.
const (
	handshakeTimeout = 5 * time.Second // TLS and hello
	maxHandshakes    = 128             // connections that have not proved anything yet; more if there are many peers
	maxHTTP          = 16              // connections for GET /peer
	lingerTime       = time.Second
	lingerBytes      = 64 << 10
	refusalEvery     = 10 * time.Second // between two log lines about refused clients
)

// listenerConfig is what a listener works with.
type listenerConfig struct {
	ln    net.Listener
	creds *credentials
	peers int
	check func(tls.ConnectionState) error
	// session takes a connection that speaks the gossip protocol. It must call proved
	// once the hello is done, and return when the session is over.
	session func(ctx context.Context, conn *tls.Conn, proved func())
	http    *http.Server
	log     hclog.Logger
}

// listener accepts connections and splits them by protocol.
type listener struct {
	listenerConfig

	wg       sync.WaitGroup
	gate     gate
	httpConn chan net.Conn
	httpRoom chan struct{}
	refused  limiter
}

func newListener(c listenerConfig) *listener {
	return &listener{
		listenerConfig: c, gate: gate{max: max(maxHandshakes, 2*c.peers)},
		httpConn: make(chan net.Conn), httpRoom: make(chan struct{}, maxHTTP),
	}
}

// run accepts until the listener is closed.
func (l *listener) run(ctx context.Context) {
	l.wg.Go(func() {
		_ = l.http.Serve(&httpListener{l: l, done: ctx.Done()})
	})
	config := l.creds.serverConfig(l.check)
	var delay time.Duration
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				break
			}
			// Out of descriptors, most likely: they come back.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			l.log.Warn("cannot accept connections", "error", err, "pause", delay)
			timer := time.NewTimer(delay)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		delay = 0
		left := l.gate.enter(conn)
		l.wg.Go(func() {
			defer left()
			l.serve(ctx, conn, config, left)
		})
	}
	l.http.Close()
	l.wg.Wait()
}

// close ends accepting and every connection that is not yet a session.
func (l *listener) close() {
	l.ln.Close()
	l.gate.closeAll()
}

// serve handles one connection.
func (l *listener) serve(ctx context.Context, raw net.Conn, config *tls.Config, proved func()) {
	conn := tls.Server(raw, config)
	hctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	err := conn.HandshakeContext(hctx)
	cancel()
	if err != nil {
		l.refuse(raw, err)
		linger(raw)
		return
	}
	if conn.ConnectionState().NegotiatedProtocol == protoGossip {
		l.session(ctx, conn, proved)
		conn.Close()
		return
	}
	proved()
	select {
	case l.httpRoom <- struct{}{}:
	default:
		conn.Close()
		return
	}
	select {
	case l.httpConn <- &httpConn{Conn: conn, release: sync.OnceFunc(func() { <-l.httpRoom })}:
	case <-ctx.Done():
		<-l.httpRoom
		conn.Close()
	}
}

// refuse logs why a client was not let in, now and then.
func (l *listener) refuse(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) {
		return // a port probe, or this node stops
	}
	if n, ok := l.refused.allow(time.Now(), refusalEvery); ok {
		l.log.Warn("refused a connection", "from", conn.RemoteAddr().String(), "reason", failureOf(err).Text, "more", n)
	}
}

// linger closes a connection so that the other end gets to read why: a close while its
// data is still under way would reset the connection and take the alert with it.
func linger(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
		_ = tcp.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, tcp, lingerBytes)
	}
	conn.Close()
}

// gate bounds the connections that have not proved anything. When there are too many,
// the oldest has to go: a flood then delays honest clients and does not lock them out.
type gate struct {
	max int

	mu     sync.Mutex
	closed bool
	conns  list.List
}

// enter admits a connection; the function returned takes it out again.
func (g *gate) enter(conn net.Conn) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		conn.Close()
		return func() {}
	}
	if g.conns.Len() >= g.max {
		oldest := g.conns.Front()
		g.conns.Remove(oldest)
		oldest.Value.(net.Conn).Close()
	}
	e := g.conns.PushBack(conn)
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns.Remove(e) // does nothing if it is out already
	})
}

// closeAll closes every connection inside and admits no more.
func (g *gate) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for e := g.conns.Front(); e != nil; e = e.Next() {
		e.Value.(net.Conn).Close()
	}
}

// limiter lets something happen once in a while and counts what it held back.
type limiter struct {
	mu   sync.Mutex
	last time.Time
	held int
}

// allow reports whether it may happen now, and how often it did not since.
func (l *limiter) allow(now time.Time, every time.Duration) (held int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < every {
		l.held++
		return 0, false
	}
	held, l.held, l.last = l.held, 0, now
	return held, true
}

// reset lets it happen again at once.
func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.held = time.Time{}, 0
}

// httpListener hands the HTTPS connections to the HTTP server.
type httpListener struct {
	l    *listener
	done <-chan struct{}
}

func (h *httpListener) Accept() (net.Conn, error) {
	select {
	case conn := <-h.l.httpConn:
		return conn, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *httpListener) Close() error   { return nil }
func (h *httpListener) Addr() net.Addr { return h.l.ln.Addr() }

// httpConn gives its place back when it is closed.
type httpConn struct {
	net.Conn
	release func()
}

func (c *httpConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// peerServer serves GET /peer.
func peerServer(state func() []byte, log hclog.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /peer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(state()) // the client is gone if this fails
	})
	return &http.Server{
		Handler:           http.MaxBytesHandler(mux, 1<<10),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Trace}),
	}
}

// handshakeInbound says and hears the hello on an accepted connection.
func handshakeInbound(conn *tls.Conn, ours hello) (hello, error) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := writeHello(conn, ours); err != nil {
		return hello{}, fmt.Errorf("hello: %w", err)
	}
	theirs, err := readHello(conn)
	if err != nil {
		return hello{}, fmt.Errorf("hello of the peer: %w", err)
	}
	if _, err := negotiate(ours, theirs); err != nil {
		return hello{}, err
	}
	return theirs, conn.SetDeadline(time.Time{})
}
