package gossip

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"pgregory.net/rapid"
)

func TestValidate(t *testing.T) {
	good := DefaultConfig()
	good.NodeName, good.Listen, good.Peers = "a", "0.0.0.0:8443", []string{"b:8443", "[::1]:8443"}
	good.CAFile, good.CertFile, good.KeyFile = "ca", "cert", "key"
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	many := make([]string, maxPeers+1)
	for i := range many {
		many[i] = strings.Repeat("x", i+1) + ":1"
	}
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.NodeName = "" }, "node name"},
		{func(c *Config) { c.NodeName = "a\n" }, "node name"},
		{func(c *Config) { c.InstanceID = "A" + strings.Repeat("0", 31) }, "instance id"},
		{func(c *Config) { c.Listen = "8443" }, "listen address"},
		{func(c *Config) { c.Listen = "a:99999" }, "listen address"},
		{func(c *Config) { c.Peers = []string{":8443"} }, "no host"},
		{func(c *Config) { c.Peers = []string{"b:0"} }, "port"},
		{func(c *Config) { c.Peers = []string{"b:http"} }, "port"},
		{func(c *Config) { c.Peers = []string{"b:1", "b:1"} }, "twice"},
		{func(c *Config) { c.Peers = many }, "at most"},
		{func(c *Config) { c.CAFile = "" }, "no CA file"},
		{func(c *Config) { c.CertFile = "" }, "no certificate file"},
		{func(c *Config) { c.KeyFile = "" }, "no key file"},
		{func(c *Config) { c.Interval = 0 }, "interval"},
		{func(c *Config) { c.ConnectTimeout = -1 }, "connect timeout"},
		{func(c *Config) { c.DriftAfter = 0 }, "drift after"},
		{func(c *Config) { c.Distribution = "random" }, "distribution"},
	} {
		c := good
		test.change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want an error about %q, got %v", test.want, err)
		}
		if _, err := New(c); err == nil {
			t.Errorf("made a manager in spite of a bad %s", test.want)
		}
	}
	for hostPort, want := range map[string]string{"b.example:1": "b.example", "[::1]:1": "::1", "[fe80::1%eth0]:1": "fe80::1", "odd": "odd"} {
		if got := serverName(hostPort); got != want {
			t.Errorf("%s is verified as %s, want %s", hostPort, got, want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for _, test := range []struct{ ourMin, ourMax, theirMin, theirMax, want int }{
		{1, 1, 1, 1, 1}, {1, 3, 2, 5, 3}, {2, 4, 1, 3, 3}, {1, 1, 2, 3, 0}, {3, 4, 1, 2, 0},
	} {
		got, err := negotiate(hello{ProtocolMin: test.ourMin, ProtocolMax: test.ourMax}, hello{ProtocolMin: test.theirMin, ProtocolMax: test.theirMax})
		if got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%+v: version %d, %v", test, got, err)
		}
	}
	// A hello of a later version says more than this one knows.
	h, err := parseHello([]byte(`{"protocol_min":1,"protocol_max":4,"instance_id":"` + strings.Repeat("a", 32) + `","clock":"x","more":{"a":[1]}}`))
	if err != nil || h.ProtocolMax != 4 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "failures")
		d := backoff(n, rapid.Float64Range(0, 0.999999).Draw(t, "random"))
		if d < firstPause/2 || d > longestPause {
			t.Fatalf("after %d failures: %v", n, d)
		}
		if n == 1 && d > firstPause {
			t.Fatalf("the first pause is %v", d)
		}
		if n > 5 && d < longestPause/2 {
			t.Fatalf("after %d failures only %v", n, d)
		}
	})
}

// The bytes of a push give back exactly the state at their end.
func TestCutState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOf(rapid.Byte()).Draw(t, "before")
		state := rapid.SliceOf(rapid.Byte()).Draw(t, "state")
		got, err := cutState(append(before, appendTrailer(state)...))
		if err != nil || !bytes.Equal(got, state) {
			t.Fatalf("%q, %v", got, err)
		}
	})
	for _, bad := range [][]byte{nil, []byte("Y2s1"), append([]byte{0, 0, 0, 9}, "Y2s1"...), append([]byte("state\xff\xff\xff\xff"), "Y2s1"...), append(appendTrailer([]byte("x")), 0)} {
		if got, err := cutState(bad); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}

func TestPacketAllowed(t *testing.T) {
	ping := []byte{msgPing, 0x80}
	compound := []byte{msgCompound, 2, 0, 2, 0, 1, msgPing, 0x80, msgUser}
	for _, test := range []struct {
		name   string
		packet []byte
		want   bool
	}{
		{"ping", ping, true},
		{"with checksum", append([]byte{msgChecksum, 0, 0, 0, 0}, ping...), true},
		{"compound", compound, true},
		{"compound with checksum", append([]byte{msgChecksum, 0, 0, 0, 0}, compound...), true},
		{"empty", nil, false},
		{"only a checksum", []byte{msgChecksum, 0, 0, 0, 0}, false},
		{"compressed", []byte{9, 0x80}, false},
		{"encrypted", []byte{10}, false},
		{"push", []byte{msgPushPull}, false},
		{"compressed inside", []byte{msgCompound, 1, 0, 1, 9}, false},
		{"compound inside", []byte{msgCompound, 1, 0, 2, msgCompound, 0}, false},
		{"truncated", []byte{msgCompound, 3, 0, 1}, false},
		{"part too long", []byte{msgCompound, 1, 0, 9, msgPing}, false},
	} {
		if got := packetAllowed(test.packet); got != test.want {
			t.Errorf("%s: allowed %v", test.name, got)
		}
	}
}

func TestFrameGuard(t *testing.T) {
	g := newFrameGuard(nil, func() {})
	ping := []byte{0, framePing, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}
	for range pingBurst {
		if err := g.scan(ping); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.scan(ping); !errors.Is(err, errPingFlood) {
		t.Errorf("one more ping gives %v", err)
	}
	g = newFrameGuard(nil, func() {})
	g.credit, g.last = 0, g.last.Add(-time.Hour)
	if err := g.scan(ping); err != nil || g.credit > pingBurst {
		t.Errorf("after a pause: %v, credit %d", err, g.credit)
	}
}

func TestGate(t *testing.T) {
	g := gate{max: 2}
	var conns []*closeCounter
	var leave []func()
	for range 4 {
		c := &closeCounter{}
		conns = append(conns, c)
		leave = append(leave, g.enter(c))
	}
	if conns[0].closed != 1 || conns[1].closed != 1 || conns[2].closed != 0 || conns[3].closed != 0 {
		t.Errorf("closed %d %d %d %d, want the oldest", conns[0].closed, conns[1].closed, conns[2].closed, conns[3].closed)
	}
	for _, f := range leave {
		f()
		f()
	}
	if n := g.conns.Len(); n != 0 {
		t.Errorf("%d are still inside", n)
	}
	g.enter(conns[2])
	g.closeAll()
	last := &closeCounter{}
	g.enter(last)()
	if conns[2].closed != 1 || last.closed != 1 {
		t.Error("a closed gate lets connections live")
	}
}

type closeCounter struct {
	net.Conn
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func TestLimiter(t *testing.T) {
	var l limiter
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, test := range []struct {
		after time.Duration
		held  int
		ok    bool
	}{{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {10 * time.Second, 2, true}, {20 * time.Second, 0, true}} {
		if held, ok := l.allow(now.Add(test.after), 10*time.Second); held != test.held || ok != test.ok {
			t.Errorf("%d: held %d, allowed %v", i, held, ok)
		}
	}
	l.allow(now.Add(21*time.Second), 10*time.Second)
	l.reset()
	if held, ok := l.allow(now.Add(22*time.Second), 10*time.Second); held != 0 || !ok {
		t.Errorf("after a reset: held %d, allowed %v", held, ok)
	}
}

// memberlist takes a member that is out of reach for failed, and not itself.
func TestTransportNeverDials(t *testing.T) {
	tr := newTransport(newInstanceID(), &registry{table: newTable(&Config{}, func() *oneShots { return &oneShots{} }, func(bool) {})}, func(string) *link { return nil }, func(...string) {})
	to := memberlist.Address{Addr: "127.0.0.1:1", Name: newInstanceID()}
	_, packet := tr.WriteToAddress([]byte{msgPing}, to)
	_, nameless := tr.WriteTo([]byte{msgPing}, to.Addr)
	_, stream := tr.DialAddressTimeout(to, time.Second)
	_, anonymous := tr.DialTimeout(to.Addr, time.Second)
	_, label := tr.DialAddressTimeout(memberlist.Address{Addr: to.Addr, Name: linkLabel + "7"}, time.Second)
	for _, err := range []error{packet, nameless, stream, anonymous, label} {
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "write" || op.Net != "tcp" {
			t.Errorf("%v is not what memberlist looks for", err)
		}
	}
	if _, err := tr.WriteToAddress(make([]byte, maxPacket+1), to); err == nil {
		t.Error("a packet that no peer takes was accepted")
	}
}

func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "id")
		ip := labelIP(id)
		if !validInstance(id) || len(ip) != net.IPv6len || !ip.IsPrivate() {
			t.Fatalf("%s has the label %v", id, ip)
		}
		if _, _, err := net.SplitHostPort(labelAddr(id).String()); err != nil {
			t.Fatal(err)
		}
	})
	for _, bad := range []string{"", "0", strings.Repeat("g", 32), strings.Repeat("A", 32), linkLabel + "1"} {
		if validInstance(bad) {
			t.Errorf("%q is taken for an instance id", bad)
		}
	}
}

// A stop waits for the answers to pings under way, lets no new ones out, and gives up
// in time.
func TestProbes(t *testing.T) {
	ping := func(seq uint32) []byte {
		return encodeMessage(t, msgPing, map[string]any{"SeqNo": seq, "Node": newInstanceID()})
	}
	ack := func(seq uint32) []byte { return encodeMessage(t, msgAck, map[string]any{"SeqNo": seq}) }
	p := newProbes()
	now := time.Now().Add(patience) // so that nothing but the answers ends the wait in time
	if d := p.rest(now); d != 0 {
		t.Errorf("waits %v for nothing", d)
	}
	suspicious := append([]byte{msgCompound, 2, 0, byte(len(ping(7))), 0, 1}, append(ping(7), msgSuspect)...)
	for _, packet := range [][]byte{ping(1), ping(2), append([]byte{msgChecksum, 0, 0, 0, 0}, suspicious...), {msgUser, 1}} {
		if !p.outgoing(packet, now) || !packetAllowed(packet) {
			t.Errorf("%x is held back", packet)
		}
	}
	if len(p.sent) != 3 || p.rest(now) != probeLife {
		t.Errorf("%d pings under way, %v to wait", len(p.sent), p.rest(now))
	}
	p.refuse()
	if p.outgoing(ping(3), now) || !p.outgoing([]byte{msgUser, 1}, now) {
		t.Error("a ping got out, or something else did not")
	}
	if p.incoming(encodeMessage(t, msgIndirectPing, map[string]any{"SeqNo": 9})) || !p.incoming(ack(1)) {
		t.Error("a request got in, or an answer did not")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.wait(patience)
	}()
	p.incoming(ack(2))
	p.incoming(append([]byte{msgCompound, 1, 0, byte(len(ack(7)))}, ack(7)...))
	select {
	case <-done:
	case <-time.After(patience / 2):
		t.Error("waits although everything is answered")
	}
	q := newProbes()
	q.outgoing(ping(1), time.Now().Add(-probeLife))
	q.outgoing(ping(2), time.Now())
	q.wait(time.Millisecond)
	if d := q.rest(time.Now()); d <= 0 || len(q.sent) != 1 {
		t.Errorf("%d pings under way, %v to wait", len(q.sent), d)
	}
}
