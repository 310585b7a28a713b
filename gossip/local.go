package gossip

import (
	"encoding/json"
	"sync"
	"time"
)

// The age at which this node's summaries are taken anew, and how long an exchange
// waits for that. They are for display; what elections rest on does not wait for them.
const (
	summariesFresh = time.Second
	summariesWait  = 50 * time.Millisecond
)

// localState is what this node tells its peers, encoded once for all that ask.
type localState struct {
	mu        sync.Mutex
	version   uint64
	json      []byte
	summaries map[string]wireSummary
	// summariesJSON is the same, encoded; nil if that is too much.
	summariesJSON []byte
	truncated     bool
	taken         time.Time
	taking        chan struct{} // closed when summaries that are being taken are there
}

// stateJSON returns what this node tells its peers now.
func (m *Manager) stateJSON() []byte {
	m.takeSummaries()
	w, version := m.table.report()
	l := &m.local
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json != nil && l.version >= version {
		return l.json
	}
	w.Summaries, w.SummariesTruncated = l.summaries, l.truncated
	data, err := w.encode()
	if err != nil {
		m.log.Error("the state of this node cannot be sent", "error", err)
		return l.json
	}
	l.json, l.version = data, version
	return data
}

// takeSummaries takes the summaries anew if they are old, and waits a moment for that.
func (m *Manager) takeSummaries() {
	if m.cfg.Summaries == nil {
		return
	}
	l := &m.local
	l.mu.Lock()
	taking := l.taking
	if taking == nil {
		if time.Since(l.taken) < summariesFresh || !m.enter() {
			l.mu.Unlock()
			return
		}
		taking = make(chan struct{})
		l.taking = taking
		m.requests.Go(func() {
			jobs, truncated := capSummaries(m.cfg.Summaries())
			wire := encodeSummaries(jobs)
			encoded, err := json.Marshal(wire)
			if err != nil || len(encoded) > maxStateBytes {
				encoded, truncated = nil, true
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.summaries, l.truncated, l.taken, l.json = wire, truncated, time.Now(), nil
			l.summariesJSON = encoded
			close(l.taking)
			l.taking = nil
		})
		m.leave()
	}
	l.mu.Unlock()
	timer := time.NewTimer(summariesWait)
	defer timer.Stop()
	select {
	case <-taking:
	case <-timer.C:
	}
}
