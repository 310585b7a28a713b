package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// exchange learns the peer's state over the session and writes the row. It is part of a
// scheduled round if r is not nil. An error means that the session is of no use.
func (l *link) exchange(s *session, r *roundCall) error {
	if r != nil {
		defer close(r.done)
	}
	if turn := l.trades.enter(s.ended, turnExchange); turn != nil {
		defer turn.leave()
	}
	var st state
	var err error
	if r != nil {
		st, err = l.attest(s, r.whole)
	} else {
		st, err = l.fetch(s)
	}
	if err != nil {
		l.count("exchange", "failed")
		l.failed++
		l.table.fail(l.row, *failureOf(err), r != nil, time.Now())
		return err
	}
	l.count("exchange", "done")
	l.failed = 0
	l.learnt(&st.report)
	l.table.succeed(l.row, s.instance, st, r != nil, time.Now())
	return nil
}

// fetch runs a push/pull and returns the state that was read on its stream.
func (l *link) fetch(s *session) (state, error) {
	l.mu.Lock()
	l.stream, l.openErr = nil, nil
	l.mu.Unlock()
	joinErr := l.join(l.label())
	l.mu.Lock()
	stream, openErr := l.stream, l.openErr
	l.stream = nil
	l.mu.Unlock()
	switch {
	case openErr != nil:
		return state{}, openErr
	case stream == nil:
		return state{}, fmt.Errorf("no exchange: %w", joinErr)
	case joinErr != nil && stream.err != nil:
		return state{}, s.explain(stream.err)
	case joinErr != nil:
		return state{}, s.explain(errors.New(shortJoinError(joinErr)))
	}
	data, err := cutState(stream.kept.Bytes())
	if err != nil {
		return state{}, err
	}
	st, err := decodeState(data)
	if err == nil {
		l.keep(s, &st)
	}
	return st, err
}

// shortJoinError takes memberlist's wrapping off an error.
func shortJoinError(err error) string {
	text := err.Error()
	if _, cause, ok := strings.Cut(text, "failed to join "); ok {
		if _, cause, ok = strings.Cut(cause, ": "); ok {
			return strings.TrimSpace(cause)
		}
	}
	return text
}

// openExchange is called by memberlist, within join, to open the stream of the
// exchange.
func (l *link) openExchange() (net.Conn, error) {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s == nil {
		return nil, errNoRoute("no session to this peer")
	}
	stream, err := s.open(kindMemberlist)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.openErr = err
		return nil, err
	}
	l.stream = &memberStream{muxStream: stream, answer: true, kept: new(bytes.Buffer)}
	return l.stream, nil
}
