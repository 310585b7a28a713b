package gossip

import (
	"context"
	"encoding/json"
	"errors"
)

// wireNews answers a peer that has a version of this node's state.
type wireNews struct {
	// Unchanged: the version is the newest. What follows is there only then.
	Unchanged          bool            `json:"unchanged"`
	Summaries          json.RawMessage `json:"job_summaries,omitempty"`
	SummariesTruncated bool            `json:"job_summaries_truncated,omitempty"`
}

// A whole state grows with the number of nodes, and so does memberlist's part of an
// exchange. In a cluster where nothing happens, a scheduled round therefore asks for news
// only, and fetches the whole state from one peer after the other.

// known is a state that a link has fetched, and the session over which it did.
type known struct {
	session *session
	state   state
	mute    bool // that session's peer does not know the question
}

// attest returns the state of the peer for a scheduled round: by a question for news if
// that is enough, else by an exchange. whole asks for an exchange anyway.
func (l *link) attest(s *session, whole bool) (state, error) {
	if k := &l.known; !whole && k.session == s && !k.mute {
		if st, ok := l.askNews(s); ok {
			return st, nil
		}
	}
	return l.fetch(s)
}

// askNews asks whether the state that is known is still the peer's. If so, it returns
// that with the newest summaries.
func (l *link) askNews(s *session) (state, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), min(l.timeout, requestTimeout))
	defer cancel()
	st := l.known.state
	r, err := ask(ctx, s, &request{Type: typeNews, Version: st.version})
	if err != nil {
		var refused *refusedRequest
		l.known.mute = errors.As(err, &refused)
		return state{}, false
	}
	if r.News == nil || !r.News.Unchanged || len(r.News.Summaries) > maxStateBytes {
		return state{}, false
	}
	l.count("exchange", "spared")
	st.summaries, st.truncated = decodeSummaries(r.News.Summaries), r.News.SummariesTruncated
	return st, true
}

// answerNews tells a peer whether it has the newest version of this node's state.
func (m *Manager) answerNews(version uint64) *response {
	m.takeSummaries()
	if version == 0 || version != m.table.versionNow() {
		return &response{News: &wireNews{}}
	}
	l := &m.local
	l.mu.Lock()
	defer l.mu.Unlock()
	return &response{News: &wireNews{Unchanged: true, Summaries: l.summariesJSON, SummariesTruncated: l.truncated}}
}

// keep remembers what was fetched over a session.
func (l *link) keep(s *session, st *state) {
	mute := l.known.mute && l.known.session == s
	l.known = known{session: s, state: *st, mute: mute}
}
