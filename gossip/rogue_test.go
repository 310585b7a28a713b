package gossip

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/yamux"
)

// rogue is a member of the cluster, by its certificate, that does as it likes.
type rogue struct {
	t    testing.TB
	conn *tls.Conn
	mux  *yamux.Session
	err  error // of the hello
}

// dialRogue connects to a node with a certificate for host and the given instance id.
func dialRogue(t testing.TB, c *testCluster, to *testNode, host, instance string) *rogue {
	t.Helper()
	return dialWith(t, c, to, host, hello{ProtocolMin: 1, ProtocolMax: 9, Instance: instance})
}

// dialWith connects to a node with a certificate for host and says what it is told to.
func dialWith(t testing.TB, c *testCluster, to *testNode, host string, says any) *rogue {
	t.Helper()
	conn := dialTLS(t, c, to, host, protoGossip)
	r := &rogue{t: t, conn: conn}
	if _, r.err = readHello(conn); r.err != nil {
		return r
	}
	if r.err = writeAny(conn, says); r.err != nil {
		return r
	}
	config := yamux.DefaultConfig()
	config.LogOutput, config.Logger = nil, muxLogger{hclog.NewNullLogger()}
	config.EnableKeepAlive = false
	mux, err := yamux.Client(conn, config)
	if err != nil {
		t.Fatal(err)
	}
	r.mux = mux
	t.Cleanup(func() { mux.Close() })
	return r
}

// dialTLS connects to a node with a certificate for host.
func dialTLS(t testing.TB, c *testCluster, to *testNode, host string, protocols ...string) *tls.Conn {
	t.Helper()
	certFile, keyFile := c.issueNames(host+"-rogue", host)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := net.Dial("tcp", to.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	_ = raw.SetDeadline(time.Now().Add(patience))
	conn := tls.Client(raw, &tls.Config{
		Certificates: []tls.Certificate{cert}, RootCAs: c.ca.Pool(), ServerName: to.host,
		NextProtos: protocols, MinVersion: tls.VersionTLS13,
	})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	return conn
}

// stream opens a stream of a kind and sends what follows.
func (r *rogue) stream(kind byte, data []byte) *yamux.Stream {
	r.t.Helper()
	s, err := r.mux.OpenStream()
	if err != nil {
		r.t.Fatal(err)
	}
	_ = s.SetDeadline(time.Now().Add(patience))
	if _, err := s.Write(append([]byte{kind}, data...)); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// closed waits until the other end has nothing more to say on a stream, and returns
// what it said.
func closed(t testing.TB, s io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(s)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the other end never closed the stream")
	}
	return data
}

// serveRogue plays a configured peer: it answers every exchange with the same bytes,
// and knows no other streams, as a peer of the first version.
func serveRogue(t *testing.T, c *testCluster, host string, answer []byte) {
	t.Helper()
	serveManners(t, c, host, manners{hello: hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()}, answer: answer})
}

// manners is how a rogue behaves that is dialled.
type manners struct {
	hello  any
	answer []byte              // to an exchange
	clock  func(*yamux.Stream) // serves questions for the time; nil: does not know them
	voice  []byte              // answers every request; nil: does not know them
	deaf   bool                // reads nothing after the hello
}

// serveManners plays a configured peer.
func serveManners(t *testing.T, c *testCluster, host string, as manners) {
	t.Helper()
	certFile, keyFile := c.issueNames(host, host)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: c.ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{protoGossip}, MinVersion: tls.VersionTLS13,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.wires.listens(ln.Addr().String(), host)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { as.serve(conn, done) })
		}
	})
	t.Cleanup(func() {
		close(done)
		ln.Close()
		wg.Wait()
	})
}

func (as *manners) serve(conn net.Conn, done <-chan struct{}) {
	defer conn.Close()
	if err := writeAny(conn, as.hello); err != nil {
		return
	}
	if _, err := readHello(conn); err != nil {
		return
	}
	if as.deaf {
		<-done
		return
	}
	config := yamux.DefaultConfig()
	config.LogOutput, config.Logger = nil, muxLogger{hclog.NewNullLogger()}
	mux, err := yamux.Server(conn, config)
	if err != nil {
		return
	}
	defer mux.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		select {
		case <-done:
		case <-mux.CloseChan():
		}
		mux.Close()
	})
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer stream.Close()
			kind := make([]byte, 1)
			if _, err := io.ReadFull(stream, kind); err != nil {
				return
			}
			switch kind[0] {
			case kindPackets:
				<-mux.CloseChan() // their end would be the end of the session
			case kindMemberlist:
				_, _ = stream.Read(make([]byte, 1))
				_, _ = stream.Write(as.answer)
			case kindClock:
				if as.clock != nil {
					as.clock(stream)
				}
			case kindRequest:
				if as.voice == nil {
					return
				}
				if _, err := readMessage(stream); err == nil {
					_, _ = stream.Write(frame(as.voice))
				}
			}
		})
	}
}

// writeAny says a hello of any form.
func writeAny(w io.Writer, says any) error {
	body, err := json.Marshal(says)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(body))), body...))
	return err
}

// pushed is one member in a push, in memberlist's form.
type pushed struct {
	Name        string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Incarnation uint32
	State       memberlist.NodeStateType
	Vsn         []uint8
}

// push returns the bytes of a push of members and a state. sizes overrides what the
// header says, if not nil.
func push(t testing.TB, members []pushed, state []byte, sizes *[2]int) []byte {
	t.Helper()
	header := struct {
		Nodes        int
		UserStateLen int
		Join         bool
	}{len(members), len(state), true}
	if sizes != nil {
		header.Nodes, header.UserStateLen = sizes[0], sizes[1]
	}
	var b bytes.Buffer
	b.WriteByte(msgPushPull)
	enc := codec.NewEncoder(&b, &codec.MsgpackHandle{})
	if err := enc.Encode(&header); err != nil {
		t.Fatal(err)
	}
	for i := range members {
		if err := enc.Encode(&members[i]); err != nil {
			t.Fatal(err)
		}
	}
	b.Write(state)
	return b.Bytes()
}

// encodeMessage returns one message of memberlist.
func encodeMessage(t testing.TB, kind byte, v any) []byte {
	t.Helper()
	b := bytes.NewBuffer([]byte{kind})
	if err := codec.NewEncoder(b, &codec.MsgpackHandle{}).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// honestVsn is what every honest node says of its versions.
var honestVsn = []uint8{1, 5, 2, 0, 0, 0}

// frame puts a 32-bit length before a body.
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
