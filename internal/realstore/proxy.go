package realstore

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes TCP connections on to a store, counts what passes, and fails as networks
// do. It starts healthy.
type Proxy struct {
	scheme, target string
	listener       net.Listener
	wg             sync.WaitGroup

	bytesUp, bytesDown, messages, connections atomic.Uint64

	mu     sync.Mutex // guards what follows
	closed bool
	cut    bool
	delay  time.Duration
	up     gate // to the store
	down   gate // from it
	links  map[*link]bool
}

// Traffic is what has passed a proxy so far.
type Traffic struct {
	Connections uint64
	// Messages is the gRPC messages that clients have sent, if their connections are not
	// encrypted.
	Messages           uint64
	BytesUp, BytesDown uint64 // as the proxy saw them: with encryption, without TCP
}

// Sub returns what has passed since an earlier moment.
func (t Traffic) Sub(before Traffic) Traffic {
	return Traffic{
		Connections: t.Connections - before.Connections, Messages: t.Messages - before.Messages,
		BytesUp: t.BytesUp - before.BytesUp, BytesDown: t.BytesDown - before.BytesDown,
	}
}

// gate is a channel that is closed while bytes may pass.
type gate chan struct{}

func openGate() gate {
	g := make(gate)
	close(g)
	return g
}

// link is one connection of a client, with the one to the store that belongs to it.
type link struct {
	client, store net.Conn
	ended         chan struct{} // closed by end
	once          sync.Once
}

// end closes both connections: at once, without a word about it, if reset is set.
func (l *link) end(reset bool) {
	l.once.Do(func() {
		close(l.ended)
		for _, c := range []net.Conn{l.client, l.store} {
			if t, ok := c.(*net.TCPConn); ok && reset {
				_ = t.SetLinger(0) // if it fails, the peer sees an orderly end
			}
			c.Close()
		}
	})
}

// NewProxy puts a proxy in front of the store at a URL. It ends with the test.
func NewProxy(tb testing.TB, store string) *Proxy {
	tb.Helper()
	u, err := url.Parse(store)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{scheme: u.Scheme, target: u.Host, listener: l, up: openGate(), down: openGate(), links: map[*link]bool{}}
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// URL is where the store is to be had by way of the proxy.
func (p *Proxy) URL() string { return p.scheme + "://" + p.listener.Addr().String() }

// Traffic returns what has passed so far.
func (p *Proxy) Traffic() Traffic {
	return Traffic{Connections: p.connections.Load(), Messages: p.messages.Load(),
		BytesUp: p.bytesUp.Load(), BytesDown: p.bytesDown.Load()}
}

// Cut resets all connections and every new one.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.reset()
}

// Reset resets all connections; new ones pass.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

func (p *Proxy) reset() {
	for l := range p.links {
		l.end(true)
	}
}

// Block lets nothing pass in either direction, and keeps connections, new ones too. What
// was sent meanwhile arrives after Heal.
func (p *Proxy) Block() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up, p.down = shut(p.up), shut(p.down)
}

// BlockAnswers lets requests pass and keeps back what the store says to them.
func (p *Proxy) BlockAnswers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = shut(p.down)
}

// Delay holds up each piece that passes, in both directions.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Heal ends Cut, Block, BlockAnswers and Delay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
	open(p.up)
	open(p.down)
}

// shut returns a gate that is shut.
func shut(g gate) gate {
	select {
	case <-g:
		return make(gate)
	default:
		return g
	}
}

func open(g gate) {
	select {
	case <-g:
	default:
		close(g)
	}
}

// accept runs until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.connections.Add(1)
	store, err := net.Dial("tcp", p.target)
	if err != nil {
		// As a store that is down looks without a proxy, as far as one can tell.
		store = client
	}
	l := &link{client: client, store: store, ended: make(chan struct{})}
	if err != nil || !p.add(l) {
		l.end(true)
		return
	}
	defer p.remove(l)
	frames := &frameCounter{count: &p.messages}
	var wg sync.WaitGroup
	wg.Go(func() { p.pass(l, client, store, &p.bytesUp, frames.feed) })
	wg.Go(func() { p.pass(l, store, client, &p.bytesDown, func([]byte) {}) })
	wg.Wait()
}

// add makes a link known, unless none may be.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.cut {
		return false
	}
	p.links[l] = true
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// pass copies one direction of a link. The end of one direction ends both: none of the
// stores' protocols leaves one of them open.
func (p *Proxy) pass(l *link, from, to net.Conn, count *atomic.Uint64, look func([]byte)) {
	defer l.end(false)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.await(l, to == l.store) {
				return
			}
			count.Add(uint64(n))
			look(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until a piece may pass; false if the link ended meanwhile.
func (p *Proxy) await(l *link, up bool) bool {
	p.mu.Lock()
	g, delay := p.down, p.delay
	if up {
		g = p.up
	}
	p.mu.Unlock()
	select {
	case <-g:
	case <-l.ended:
		return false
	}
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
		return false
	}
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.reset()
	p.mu.Unlock()
	p.wg.Wait()
}
