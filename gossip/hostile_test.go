package gossip

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/yacron2/yacron2/election"
)

// member is a cluster of a, b and c in which c is free to be played by a rogue.
func rogueCluster(t *testing.T) *testCluster {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	return c
}

// A member that pushes another member's instance id, in the state or in memberlist's
// own part, changes nothing.
func TestImpersonation(t *testing.T) {
	c := rogueCluster(t)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a, b := c.nodes["a"], c.nodes["b"]
	told := func() election.Peer {
		p := a.row("b")
		p.LastSeen = time.Time{} // an honest exchange may come in between
		return p
	}
	wait(t, "b has told a of everybody, and of its clock", func() bool {
		p := told()
		return len(p.MutualAgreeing) == 2 && len(p.QuorateVouched) == 2 && p.Skew != nil
	})
	before := told()

	lie := wireReport(election.Report{NodeName: "b", InstanceID: b.InstanceID(), JobSetID: "v1:lie", Stopping: true})
	lie.Version = 1 << 40
	state, err := lie.encode()
	if err != nil {
		t.Fatal(err)
	}
	stranger := newInstanceID()
	members := []pushed{
		{Name: b.InstanceID(), Addr: labelIP(stranger), Port: labelPort, Incarnation: 1000, Vsn: honestVsn},
		{Name: b.InstanceID(), Addr: labelIP(b.InstanceID()), Port: labelPort, Incarnation: 1001, Vsn: []uint8{9, 9, 9, 9, 9, 9}},
		{Name: b.InstanceID(), Addr: labelIP(b.InstanceID()), Port: labelPort, Incarnation: 1002, Vsn: honestVsn, Meta: []byte("meta")},
		{Name: stranger, Addr: labelIP(stranger), Port: labelPort, Incarnation: 1, Vsn: honestVsn},
	}
	// As itself, as b, and as nobody known.
	for _, instance := range []string{c.nodes["c"].InstanceID(), b.InstanceID(), stranger} {
		r := dialRogue(t, c, a, "c", instance)
		if r.err != nil {
			t.Fatal(r.err)
		}
		answer := closed(t, r.stream(kindMemberlist, push(t, members[:3], appendTrailer(state), nil)))
		if len(answer) == 0 {
			t.Fatal("the push was not answered; the test shows nothing")
		}
		closed(t, r.stream(kindMemberlist, push(t, members, nil, nil)))

		// A session in b's name must not get b's packets, nor b's vote.
		if s := a.registry.route(b.InstanceID()); s == nil || !s.outgoing {
			t.Error("packets for b do not go over this node's own session")
		}
		q, _ := json.Marshal(request{Type: typeClaim, Claim: &wireClaim{
			NodeName: "b", Size: 3, JobSetID: "v1:same", Policy: "single-leader",
			Firings: groupFirings([]election.Firing{{Job: "job", At: time.Now().Truncate(time.Second)}}),
		}})
		var got response
		if err := json.Unmarshal(closed(t, r.stream(kindRequest, frame(q)))[4:], &got); err != nil {
			t.Fatal(err)
		}
		if instance != c.nodes["c"].InstanceID() && (got.Answer == nil || got.Answer.Refusal != string(election.RefusedUnbound)) {
			t.Errorf("a claim in the name of %s: %+v", instance, got)
		}
	}
	if after := told(); !reflect.DeepEqual(after, before) {
		t.Errorf("the row changed:\n%+v\n%+v", before, after)
	}
	if names := memberNames(a); slices.Contains(names, stranger) || !slices.Contains(names, b.InstanceID()) {
		t.Errorf("members: %v", names)
	}
	for _, m := range a.members.Load().Members() {
		if m.Name == b.InstanceID() && (m.PMin != 1 || len(m.Meta) > 0 || !m.Addr.Equal(labelIP(m.Name))) {
			t.Errorf("memberlist took the lie: %+v", m)
		}
	}
	c.settled(3, "a", "a", "b", "c")
}

// A peer that claims the instance id of another, in its own hello, is not trusted.
func TestStolenInstance(t *testing.T) {
	c := rogueCluster(t)
	a, b, thief := c.nodes["a"], c.nodes["b"], c.nodes["c"]
	c.startAll("a", "b")
	c.settled(2, "a", "a", "b")
	thief.config.InstanceID = b.InstanceID()
	thief.config.NodeName = "b"
	thief.start()
	if p := a.sees("c", election.StatusUntrusted); !strings.Contains(p.LastError, "claims to be the instance that answers at b") {
		t.Errorf("the thief's row: %+v", p)
	}
	if v := a.View(); v.Size() != 3 || v.Conflict() {
		t.Errorf("size %d, conflict %v", v.Size(), v.Conflict())
	}
	// Nor one that claims to be the very process that asks: N would shrink.
	thief.kill()
	thief.config.InstanceID, thief.config.NodeName = a.InstanceID(), "a"
	thief.start()
	wait(t, "the thief is seen through", func() bool {
		p := a.row("c")
		return p.Status == election.StatusUntrusted && strings.Contains(p.LastError, "claims to be this very process")
	})
	if v := a.View(); v.Size() != 3 || v.ClaimSize() != 3 {
		t.Errorf("size %d, for claims %d", v.Size(), v.ClaimSize())
	}
}

// Whatever a peer answers in an exchange, it can spoil its own row only.
func TestHostileAnswers(t *testing.T) {
	state := func(text string) []byte { return appendTrailer([]byte(text)) }
	honest := state(`{"node_name":"c","job_set_id":"v1:same"}`)
	huge := append(bytes.Repeat([]byte(" "), maxStateBytes), honest...)
	for _, test := range []struct {
		name   string
		answer func(t *testing.T) []byte
		status election.Status
		want   string // in last_error
	}{
		{"an honest state", func(t *testing.T) []byte { return push(t, nil, honest, nil) }, election.StatusAgreed, ""},
		{"another's instance id", func(t *testing.T) []byte {
			return push(t, nil, state(`{"node_name":"c","job_set_id":"v1:same","instance_id":"`+strings.Repeat("0", 32)+`"}`), nil)
		}, election.StatusAgreed, ""},
		{"no JSON", func(t *testing.T) []byte { return push(t, nil, state("{"), nil) }, election.StatusUnreachable, "cannot be read"},
		{"deep JSON", func(t *testing.T) []byte { return push(t, nil, state(strings.Repeat("[", 100000)), nil) }, election.StatusUnreachable, "cannot be read"},
		{"no name", func(t *testing.T) []byte { return push(t, nil, state(`{"node_name":"\u0007"}`), nil) }, election.StatusUnreachable, "no readable node name"},
		{"no trailer", func(t *testing.T) []byte { return push(t, nil, []byte(`{"node_name":"c"}`), nil) }, election.StatusUnreachable, "carries no state"},
		{"no state", func(t *testing.T) []byte { return push(t, nil, nil, nil) }, election.StatusUnreachable, "carries no state"},
		{"more than announced", func(t *testing.T) []byte { return append(push(t, nil, honest, nil), 'x') }, election.StatusUnreachable, "carries no state"},
		{"a huge state", func(t *testing.T) []byte { return push(t, nil, huge, nil) }, election.StatusUnreachable, "at most"},
		{"millions of members", func(t *testing.T) []byte { return push(t, nil, honest, &[2]int{1 << 20, len(honest)}) }, election.StatusUnreachable, "at most"},
		{"versions nobody speaks", func(t *testing.T) []byte {
			id := newInstanceID()
			return push(t, []pushed{{Name: id, Addr: labelIP(id), Port: labelPort, Incarnation: 1, Vsn: []uint8{9, 9, 9, 9, 9, 9}}}, honest, nil)
		}, election.StatusUnreachable, "protocol version"},
		{"an error", func(t *testing.T) []byte {
			return encodeMessage(t, msgError, map[string]string{"Error": "\x1b[2Jgo away"})
		}, election.StatusUnreachable, "?[2Jgo away"},
		{"another message", func(*testing.T) []byte { return []byte{msgPing, 0x80} }, election.StatusUnreachable, "answered with a ping"},
		{"nothing", func(*testing.T) []byte { return nil }, election.StatusUnreachable, "closed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := rogueCluster(t)
			serveRogue(t, c, "c", test.answer(t))
			c.startAll("a", "b")
			agreeing := 2
			if test.status == election.StatusAgreed {
				agreeing++ // a peer that tells no members is taken at its word
			}
			c.settled(agreeing, "a", "a", "b")
			a := c.nodes["a"]
			wait(t, "the row shows it", func() bool {
				p := a.row("c")
				return p.Status == test.status && strings.Contains(p.LastError, test.want)
			})
			if p := a.row("c"); p.InstanceID == strings.Repeat("0", 32) {
				t.Errorf("the peer's word on its instance was taken: %+v", p)
			}
			if p := a.row("b"); p.Status != election.StatusAgreed {
				t.Errorf("the other row: %+v", p)
			}
		})
	}
}

// Frames, streams and hellos that no honest peer sends end the stream or the session,
// and nothing else.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]

	t.Run("hello", func(t *testing.T) {
		helloText := fmt.Sprintf(`{"protocol_min":1,"protocol_max":1,"instance_id":"%s"}`, strings.Repeat("0", 32))
		for name, raw := range map[string][]byte{
			"empty":         {0, 0},
			"huge":          append([]byte{0xff, 0xff}, make([]byte, 65535)...),
			"no JSON":       {0, 3, 'a', 'b', 'c'},
			"no instance":   append([]byte{0, 36}, `{"protocol_min":1,"protocol_max":99}`...),
			"twice":         append(append([]byte{0, 80}, helloText...), append([]byte{0, 80}, helloText...)...),
			"other version": append([]byte{0, 82}, fmt.Sprintf(`{"protocol_min":7,"protocol_max":9,"instance_id":"%s"}`, strings.Repeat("0", 32))...),
		} {
			conn := dialTLS(t, c, a, "c", protoGossip)
			if _, err := readHello(conn); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, _ = conn.Write(raw)
			if rest := closed(t, conn); len(rest) > 0 {
				t.Errorf("%s: answered with %d bytes", name, len(rest))
			}
		}
	})
	t.Run("streams", func(t *testing.T) {
		for name, x := range map[string]struct {
			kind byte
			data []byte
		}{
			"unknown kind":         {'?', nil},
			"millions of members":  {kindMemberlist, push(t, nil, nil, &[2]int{1 << 20, 0})},
			"negative sizes":       {kindMemberlist, push(t, nil, nil, &[2]int{-1, -1})},
			"a state of 20 MB":     {kindMemberlist, push(t, nil, nil, &[2]int{0, 20 << 20})},
			"no header":            {kindMemberlist, append([]byte{msgPushPull}, 0xc1, 0xc1)},
			"a header without end": {kindMemberlist, append([]byte{msgPushPull, 0xdf, 0xff, 0xff, 0xff, 0xff}, make([]byte, 4096)...)},
			"a compressed message": {kindMemberlist, []byte{9, 0x82}},
			"an encrypted message": {kindMemberlist, []byte{10, 0xff, 0xff, 0xff, 0xff}},
			"a user message":       {kindMemberlist, encodeMessage(t, msgUser, map[string]int{"UserMsgLen": 20 << 20})},
			"a label":              {kindMemberlist, []byte{244, 3, 'a', 'b', 'c'}},
			"an answer":            {kindMemberlist, []byte{msgAck, 0x80}},
			"a request of 4 GB":    {kindRequest, []byte{0xff, 0xff, 0xff, 0xff}},
			"no request":           {kindRequest, frame([]byte("[]"))},
			"an unknown request":   {kindRequest, frame([]byte(`{"type":"format the disk"}`))},
			"a claim of nothing":   {kindRequest, frame([]byte(`{"type":"claim"}`))},
			"a claim of binary":    {kindRequest, frame([]byte(`{"type":"claim","claim":{"firings":[{"at":"","jobs":["\u0000"]}]}}`))},
		} {
			r := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
			answer := closed(t, r.stream(x.kind, x.data))
			if len(answer) > 4096 {
				t.Errorf("%s: %d bytes in answer", name, len(answer))
			}
			r.mux.Close()
		}
	})
	t.Run("an endless stream", func(t *testing.T) {
		r := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
		head := push(t, make([]pushed, 4000), nil, &[2]int{4096, 0})
		s := r.stream(kindMemberlist, head)
		junk := encodeMessage(t, 0, pushed{Name: strings.Repeat("x", 60000)})[1:]
		for range 40 { // memberlist reads on until the budget of the stream is used up
			if _, err := s.Write(junk); err != nil {
				break
			}
		}
		closed(t, s)
	})
	t.Run("packets", func(t *testing.T) {
		r := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
		send := func(packets ...[]byte) {
			var b []byte
			for _, p := range packets {
				b = appendPacket(b, p)
			}
			s := r.stream(kindPackets, b)
			defer s.Close()
		}
		send([]byte{9, 0x82}, []byte{msgCompound, 255}, []byte{msgCompound, 1, 0, 2, msgCompound, 1},
			[]byte{msgChecksum, 0, 0, 0, 0}, []byte{msgUser}, append([]byte{msgUser}, make([]byte, announcementLen)...),
			encodeMessage(t, msgDead, map[string]any{"Incarnation": 1 << 30, "Node": a.InstanceID(), "From": a.InstanceID()}))
		r2 := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
		s := r2.stream(kindPackets, []byte{0xff, 0xff})
		closed(t, s)
		wait(t, "a packet too long ends the session", r2.mux.IsClosed)
	})
	t.Run("pings", func(t *testing.T) {
		r := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
		flood := make([]byte, 0, 100*frameHeader)
		for i := range 100 {
			flood = append(flood, 0, framePing, 0, 1, 0, 0, 0, 0, 0, 0, 0, byte(i))
		}
		// Beside yamux, which would wait for the answers.
		_, _ = r.conn.Write(flood)
		wait(t, "a flood of pings ends the session", r.mux.IsClosed)
	})
	t.Run("streams without number", func(t *testing.T) {
		r := dialRogue(t, c, a, "c", c.nodes["c"].InstanceID())
		var refused int
		for range 3 * maxStreams {
			s, err := r.mux.OpenStream()
			if err != nil {
				break
			}
			_ = s.SetDeadline(time.Now().Add(patience))
			if _, err := s.Write([]byte{kindRequest}); err != nil {
				refused++
			}
		}
		wait(t, "streams are bounded", func() bool {
			open := 0
			for _, s := range a.registry.list(func(s *session) bool { return !s.outgoing }) {
				open = max(open, len(s.slots))
			}
			return open <= maxStreams
		})
		r.mux.Close()
	})

	c.settled(3, "a", "a", "b", "c")
	for _, h := range []string{"b", "c"} {
		if p := a.row(h); p.Status != election.StatusAgreed {
			t.Errorf("%s after all that: %+v", h, p)
		}
	}
}

// Sessions of one instance, and of strangers, are bounded; the node's true peers keep
// theirs.
func TestSessionFlood(t *testing.T) {
	c := rogueCluster(t)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	for range 2 * maxInboundOther {
		if r := dialRogue(t, c, a, "c", newInstanceID()); r.err != nil {
			t.Fatal(r.err)
		}
	}
	for range 4 * maxInboundEach {
		// In b's name, but with c's certificate.
		if r := dialRogue(t, c, a, "c", c.nodes["b"].InstanceID()); r.err != nil {
			t.Fatal(r.err)
		}
	}
	wait(t, "the number of inbound sessions is bounded", func() bool {
		n := len(a.registry.list(func(s *session) bool { return !s.outgoing }))
		return n <= maxInboundOther+2*maxInboundEach+1
	})
	for _, h := range []string{"b", "c"} {
		if n := c.nodes[h]; n.row("a").Status != election.StatusAgreed {
			t.Errorf("%s was pushed out: %+v", h, n.row("a"))
		}
	}
}

// Connections that never say anything do not keep others out and are closed.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	c.startAll("a")
	a := c.nodes["a"]
	var silent []net.Conn
	for range maxHandshakes + 40 {
		conn, err := net.Dial("tcp", a.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	c.startAll("b", "c")
	c.settled(3, "a", "a", "b", "c")
	for _, conn := range silent {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		_, err := conn.Read(make([]byte, 1))
		var timeout net.Error
		switch {
		case err == nil:
			t.Fatal("a silent connection got an answer")
		case errors.As(err, &timeout) && timeout.Timeout():
			t.Fatal("a silent connection stays open")
		}
	}
}

// A peer that takes nothing keeps nobody waiting but itself: neither one that was
// dialled nor one that dials, and then asks a lot.
func TestDeafPeers(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	serveManners(t, c, "c", manners{hello: hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()}, deaf: true})
	c.startAll("a", "b")
	c.settled(2, "a", "a", "b")
	a := c.nodes["a"]
	var open int
	for range maxInboundEach {
		r := dialWith(t, c, a, "c", hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()})
		if r.err != nil {
			t.Fatal(r.err)
		}
		// Beside the yamux of the rogue, which would read: streams, requests, questions
		// for the time, pushes, until the connection takes no more.
		r.mux.Close()
		conn := dialTLS(t, c, a, "c", protoGossip)
		if _, err := readHello(conn); err != nil {
			t.Fatal(err)
		}
		if err := writeHello(conn, hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()}); err != nil {
			t.Fatal(err)
		}
		var b []byte
		for id := range uint32(40) {
			for _, kind := range []byte{kindRequest, kindClock, kindMemberlist} {
				b = appendFrames(b, 6*id+2*uint32(kind%3)+1, append([]byte{kind}, make([]byte, 8)...))
			}
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		open++
	}
	// Meanwhile the two others do what they do, without waiting for anybody.
	at := unfenced(t)
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]; v.Outcome != election.Granted {
		t.Errorf("a claim: %+v", v)
	}
	if p := a.row("b"); p.Status != election.StatusAgreed || a.View().Leader() != "a" {
		t.Errorf("b is %s, %q leads", p.Status, a.View().Leader())
	}
	a.sees("c", election.StatusUnreachable)
	wait(t, "the sessions of those who do not answer are over", func() bool {
		return len(a.registry.list(func(s *session) bool { return s.instance != c.nodes["b"].InstanceID() })) == 0
	})
	c.settled(2, "a", "a", "b")
}

// appendFrames appends the yamux frames that open a stream and send its first data.
func appendFrames(b []byte, id uint32, data []byte) []byte {
	const windowUpdate, syn = 1, 1
	b = append(b, 0, windowUpdate, 0, syn)
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = append(b, 0, frameData, 0, 0)
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// While connections of all kinds pour in, a node has a bounded number of them open,
// goes on leading, and has none left when it is over.
func TestFlood(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	var mu sync.Mutex
	open, most := 0, 0
	c.wrap = func(conn net.Conn) net.Conn {
		mu.Lock()
		defer mu.Unlock()
		open++
		most = max(most, open)
		return &farewell{conn, sync.OnceFunc(func() {
			mu.Lock()
			defer mu.Unlock()
			open--
		})}
	}
	c.startAll("a", "b")
	c.settled(2, "a", "a", "b")
	a := c.nodes["a"]
	at := unfenced(t)

	var conns []net.Conn
	for i := range 4 * maxHandshakes {
		conn, err := net.Dial("tcp", a.address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		switch i % 4 {
		case 1: // no TLS
			_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		case 2: // the beginning of TLS
			_, _ = conn.Write([]byte{22, 3, 1, 2, 0})
		case 3: // gone before it is looked at
			conn.Close()
		}
		if i%64 == 0 {
			if r := dialRogue(t, c, a, "c", newInstanceID()); r.err != nil {
				t.Fatal(r.err)
			}
			v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]
			if v.Outcome != election.Granted {
				t.Fatalf("in the flood: %+v", v)
			}
		}
	}
	mu.Lock()
	if honest := 4; most > maxHandshakes+maxInboundOther+maxHTTP+honest+8 {
		t.Errorf("%d connections at a time", most)
	}
	mu.Unlock()
	c.settled(2, "a", "a", "b")
	for _, conn := range conns {
		conn.Close()
	}
	for _, s := range a.registry.list(func(s *session) bool { return s.instance != c.nodes["b"].InstanceID() }) {
		s.close(errCrowded)
	}
	wait(t, "only the connections of a and b are left", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return open == 4
	})
}

// Slow reading of a hello is bounded in time, too.
func TestSlowHello(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	c.startAll("a")
	conn := dialTLS(t, c, c.nodes["a"], "c", protoGossip)
	if _, err := readHello(conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	closed(t, conn)
}

// GET /peer shows the delegate state to whoever holds a certificate of the cluster,
// and to nobody else.
func TestPeerPage(t *testing.T) {
	c := rogueCluster(t)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	get := func(method, path string) *http.Response {
		conn := dialTLS(t, c, a, "c") // no ALPN at all, as simple clients
		req, _ := http.NewRequestWithContext(context.Background(), method, "https://a"+path, nil)
		if err := req.Write(conn); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	res := get(http.MethodGet, "/peer")
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var state wireState
	if err := json.Unmarshal(body, &state); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" ||
		state.NodeName != "a" || state.InstanceID != a.InstanceID() || state.ClusterSize != 3 ||
		len(state.Members) != 3 || !slices.Equal(state.MutualAgreeing, []string{"b", "c"}) || state.SchemeVersion != "v1" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if _, err := decodeState(body); err != nil {
		t.Errorf("the page is not what peers read: %v", err)
	}
	if res := get(http.MethodPost, "/peer"); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d", res.StatusCode)
	}
	if res := get(http.MethodGet, "/"); res.StatusCode != http.StatusNotFound {
		t.Errorf("another path gives %d", res.StatusCode)
	}

	raw, err := net.Dial("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(patience))
	conn := tls.Client(raw, &tls.Config{RootCAs: c.ca.Pool(), ServerName: "a"})
	if err := conn.Handshake(); err == nil { // in TLS 1.3 the refusal comes afterwards
		_, err = conn.Read(make([]byte, 1))
		if text, ok := refusalText(err); !ok {
			t.Errorf("a client without a certificate got %q, %v", text, err)
		}
	}
}

// What the delegate is asked after the end, it does not pass on.
func TestNoCallbackAfterStop(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", rarely)
	over := make(chan struct{})
	called := func(job string) bool {
		select {
		case <-over:
			t.Error("called back after Stop")
		default:
		}
		return false
	}
	a.config.Running, a.config.NeedRunning = called, called
	a.config.Summaries = func() (map[string]JobSummary, bool) { called(""); return nil, false }
	c.node("b", rarely)
	c.startAll()
	c.settled(2, "a", "a", "b")
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	close(over)
	d := a.delegate
	d.LocalState(true)
	d.NotifyMsg(appendAnnouncement(nil, newInstanceID(), 1))
	d.NotifyLeave(&memberlist.Node{Name: newInstanceID()})
	a.stateJSON()
	a.Fleet()
	a.Claim(context.Background(), []election.Firing{{Job: "job", At: time.Now()}})
	a.SetJobSet("v1:late", nil)
}
