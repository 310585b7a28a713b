package gossip

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// connect dials the peer, proves who both ends are, and starts a session. The host name
// is resolved anew each time. If it can't be, as it is with all peers at once while a DNS
// server is down, the peer is looked for without it.
func (l *link) connect(ctx context.Context) (*session, error) {
	turn := l.dials.enter(ctx.Done(), turnConnect)
	if turn == nil {
		return nil, ctx.Err()
	}
	defer turn.leave()
	l.dialled = time.Now()
	l.count("session", "dialled")
	s, err := l.connectTo(ctx, turn, l.host, l.admit)
	var unresolved *net.DNSError
	switch {
	case err == nil:
		l.met = s.remote
	case errors.As(err, &unresolved):
		ctx, cancel := context.WithTimeout(ctx, l.timeout/2) // a round waits for the outcome
		defer cancel()
		for _, address := range l.guesses() {
			s, missed := l.connectTo(ctx, turn, address, l.admitUnnamed)
			if missed == nil {
				l.log.Warn("reached a peer by its last known address: its name can't be resolved", "peer", l.host, "address", address, "error", clean(err.Error()))
				return s, nil
			}
			l.log.Debug("no peer at its last known address", "peer", l.host, "address", address, "error", clean(missed.Error()))
		}
	}
	return s, err
}

// guesses returns where the peer may be: where those call from who show its certificate,
// and where its name led when that could be resolved.
func (l *link) guesses() []string {
	const callers = 2
	var found []string
	_, port, _ := net.SplitHostPort(l.host)
	for _, s := range slices.Backward(l.registry.list(func(s *session) bool {
		return !s.outgoing && s.certified(l.server)
	})) {
		host, _, err := net.SplitHostPort(s.remote)
		if address := net.JoinHostPort(host, port); err == nil && len(found) < callers && !slices.Contains(found, address) {
			found = append(found, address)
		}
	}
	if l.met != "" && !slices.Contains(found, l.met) {
		found = append(found, l.met)
	}
	return found
}

// connectTo is connect for one address; admit may refuse who answers there.
func (l *link) connectTo(ctx context.Context, turn *turn, address string, admit admission) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	raw, err := l.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	turn.extend(turnHandshake)
	conn := tls.Client(raw, l.creds.clientConfig(l.server))
	s, err := l.handshake(ctx, conn, admit)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// admission says why an instance with a certificate is not the peer, nil if it can be.
type admission func(instance string, leaf *x509.Certificate) error

// handshake does everything on a new connection up to the session.
func (l *link) handshake(ctx context.Context, conn *tls.Conn, admit admission) (*session, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	cs := conn.ConnectionState()
	if cs.NegotiatedProtocol != protoGossip {
		return nil, errors.New("what answers there does not speak the gossip protocol")
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// The accepting end speaks first. Had we written before it refused our
	// certificate, its refusal could get lost.
	theirs, err := readHello(conn)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("hello of the peer: %w", err)
	}
	if err := writeHello(conn, l.hello); err != nil {
		return nil, fmt.Errorf("hello: %w", err)
	}
	if _, err := negotiate(l.hello, theirs); err != nil {
		return nil, err
	}
	if theirs.Instance == l.hello.Instance {
		// Rows of this node itself lower the number of votes that a claim needs, so
		// its word alone is not enough: only this process shows this certificate.
		if own := l.creds.get().cert.Certificate[0]; !bytes.Equal(cs.PeerCertificates[0].Raw, own) {
			return nil, &trustError{"it claims to be this very process"}
		}
		return nil, errSelf
	}
	if err := admit(theirs.Instance, cs.PeerCertificates[0]); err != nil {
		return nil, err
	}
	if !stop() {
		return nil, ctx.Err()
	}
	_ = conn.SetDeadline(time.Time{})
	return startSession(sessionConfig{
		conn: conn, instance: theirs.Instance, outgoing: true, host: l.row,
		chain: cs.PeerCertificates, handler: l.handler, log: l.log,
	})
}

// admit refuses an instance id that another configured host has shown, unless the
// certificate is good for that host too: then both are addresses of one process.
func (l *link) admit(instance string, leaf *x509.Certificate) error {
	for _, s := range l.registry.list(func(s *session) bool {
		return s.outgoing && s.host != l.row && s.instance == instance
	}) {
		other := l.table.hostOf(s.host)
		if leaf.VerifyHostname(serverName(other)) != nil {
			return &trustError{"it claims to be the instance that answers at " + other}
		}
	}
	return nil
}

// admitUnnamed refuses whoever may be another node that has the peer's address: a host
// that two names stand for lowers the number of votes that a claim needs, and here no name
// led to it. It is the peer if it is the same instance as before, or if its certificate is
// good for no other peer.
func (l *link) admitUnnamed(instance string, leaf *x509.Certificate) error {
	if bound, ok := l.table.boundInstance(l.row); !ok || bound != instance {
		for i := range l.peers {
			if other := l.table.hostOf(i); i != l.row && leaf.VerifyHostname(serverName(other)) == nil {
				return &trustError{"it may be " + other}
			}
		}
	}
	return l.admit(instance, leaf)
}
