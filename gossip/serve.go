package gossip

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"time"

	"github.com/yacron2/yacron2/election"
)

// serveInbound runs the accepting end of one session.
func (m *Manager) serveInbound(ctx context.Context, conn *tls.Conn, proved func()) {
	theirs, err := handshakeInbound(conn, m.hello)
	if err != nil {
		m.log.Debug("a peer's hello failed", "from", conn.RemoteAddr().String(), "error", clean(err.Error()))
		return
	}
	proved()
	if theirs.Instance == m.cfg.InstanceID {
		return // this node's own dial, which knows by the same hello
	}
	s, err := startSession(sessionConfig{
		conn: conn, instance: theirs.Instance, host: -1,
		chain: conn.ConnectionState().PeerCertificates, handler: m, log: m.log,
	})
	if err != nil {
		m.log.Warn("cannot start a session", "error", err)
		return
	}
	m.count("session", "accepted")
	if crowded := m.registry.add(s); crowded != nil {
		crowded.close(errCrowded)
	}
	// Whoever called is up: no reason to wait before calling back.
	for _, l := range m.links {
		if s.certified(l.server) {
			signal(l.kick)
		}
	}
	stop := context.AfterFunc(ctx, func() { s.close(errStopped) })
	s.wait()
	stop()
	m.registry.remove(s)
}

// handlePacket passes a packet to memberlist.
func (m *Manager) handlePacket(s *session, packet []byte) { m.transport.deliver(s.instance, packet) }

// handleStream serves a stream that a peer opened.
func (m *Manager) handleStream(s *session, kind byte, stream *muxStream) {
	switch kind {
	case kindMemberlist:
		m.transport.deliverStream(stream)
		return
	case kindClock:
		m.tellTime(stream)
		return
	}
	defer stream.Close()
	wait := time.NewTimer(requestTimeout)
	defer wait.Stop()
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	case <-wait.C:
		return
	case <-s.ended:
		return
	}
	stream.budget = maxRequest + 4
	_ = stream.SetDeadline(time.Now().Add(requestTimeout))
	r := m.answer(s, stream)
	if err := writeMessage(stream, r); err != nil {
		m.log.Debug("a peer did not take its answer", "instance", s.instance, "error", clean(err.Error()))
	}
}

// answer reads one request and answers it. A session that does not belong to a
// configured host is not listened to.
func (m *Manager) answer(s *session, stream *muxStream) *response {
	if !m.registry.isAuthentic(s) {
		return &response{Answer: &wireAnswer{Refusal: string(election.RefusedUnbound)}}
	}
	body, err := readMessage(stream)
	if err != nil {
		return &response{Error: "the request did not arrive"}
	}
	q, err := decodeRequest(body)
	if err != nil {
		return &response{Error: err.Error()}
	}
	switch q.Type {
	case typeClaim:
		r, err := decodeClaim(q.Claim, s.instance)
		if err != nil {
			return &response{Error: err.Error()}
		}
		answers := m.vote(m.voterContext(true, m.View().ConflictsWith(s.instance)), r)
		return &response{Answer: encodeAnswer(r.Firings, answers)}
	case typeSync:
		return m.answerSync(s, q.Version)
	case typeNews:
		return m.answerNews(q.Version)
	}
	return &response{Error: "unknown type of request"}
}

// syncTimeout bounds how long a peer waits until this node has fetched its state.
const syncTimeout = 3 * time.Second

// answerSync fetches the state of a peer until it is as new as the peer says.
func (m *Manager) answerSync(s *session, version uint64) *response {
	rows := m.table.boundTo(s.instance)
	if len(rows) == 0 {
		return &response{Error: "no configured host is bound to this instance"}
	}
	row := rows[0]
	timer := time.NewTimer(syncTimeout)
	defer timer.Stop()
	asked := false
	for {
		ok, more := m.table.reached(row, s.instance, version)
		if ok {
			return &response{}
		}
		if !asked {
			asked = true
			signal(m.links[row].want)
			signal(m.links[row].kick)
		}
		select {
		case <-more:
		case <-timer.C:
			return &response{Error: "no exchange in time"}
		case <-s.ended:
			return &response{Error: "the session has ended"}
		}
	}
}

// reverifyInbound ends the inbound sessions whose client certificate would not be let
// in any more.
func (m *Manager) reverifyInbound() {
	pool := m.creds.get().pool
	for _, s := range m.registry.list(func(s *session) bool { return !s.outgoing }) {
		err := verifyChain(s.chain, pool, "", x509.ExtKeyUsageClientAuth, time.Now())
		if err == nil {
			err = m.checkNames(s.chain[0])
		}
		if err != nil {
			m.log.Warn("closing a peer's session", "from", s.remote, "reason", failureOf(err).Text)
			s.close(err)
		}
	}
}

// checkNames applies VerifyPeerNames to a client's certificate, which chains to the CA
// already.
func (m *Manager) checkNames(leaf *x509.Certificate) error {
	if !m.cfg.VerifyPeerNames {
		return nil
	}
	for _, l := range m.links {
		if leaf.VerifyHostname(l.server) == nil {
			return nil
		}
	}
	return &trustError{"its certificate names none of the configured peers"}
}
