package gossip

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// connect dials the peer, proves who both ends are, and starts a session. The host
// name is resolved anew each time.
func (l *link) connect(ctx context.Context) (*session, error) {
	turn := l.dials.enter(ctx.Done(), turnConnect)
	if turn == nil {
		return nil, ctx.Err()
	}
	defer turn.leave()
	l.dialled = time.Now()
	l.count("session", "dialled")
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	raw, err := l.dial(ctx, "tcp", l.host)
	if err != nil {
		return nil, err
	}
	turn.extend(turnHandshake)
	conn := tls.Client(raw, l.creds.clientConfig(l.server))
	s, err := l.handshake(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// handshake does everything on a new connection up to the session.
func (l *link) handshake(ctx context.Context, conn *tls.Conn) (*session, error) {
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
	if err := l.admit(theirs.Instance, cs.PeerCertificates[0]); err != nil {
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
