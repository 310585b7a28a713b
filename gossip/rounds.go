package gossip

import (
	"context"
	"time"

	"github.com/yacron2/yacron2/election"
)

// checkEvery is how often certificates, clocks and old votes are looked at, at least.
const checkEvery = time.Minute

// From expiryWarning before its end on, this node's certificate is warned about once in
// expiryEvery.
const (
	expiryWarning = 14 * 24 * time.Hour
	expiryEvery   = 24 * time.Hour
)

// runRounds starts a scheduled round every interval, the first one at once.
func (m *Manager) runRounds(ctx context.Context) {
	rounds := time.NewTimer(0)
	defer rounds.Stop()
	interval := time.Duration(m.interval.Load())
	checks := time.NewTicker(min(checkEvery, interval))
	defer checks.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-checks.C:
			m.check()
			continue
		case <-m.retuned:
			interval = time.Duration(m.interval.Load())
			checks.Reset(min(checkEvery, interval))
		case <-rounds.C:
			began = time.Now()
			m.check()
			if !m.round(ctx) {
				return
			}
		}
		rounds.Reset(max(interval-time.Since(began), 0))
	}
}

// check looks at the certificate files and the clocks of the peers, and forgets old
// votes.
func (m *Manager) check() {
	for _, l := range m.links {
		signal(l.compare)
	}
	if err := m.ReloadCertificates(); err != nil {
		m.log.Warn("keeping the certificates in use", "error", err)
	}
	if ends, _ := m.creds.expiry(); time.Until(ends) < expiryWarning {
		if _, ok := m.expiring.allow(time.Now(), expiryEvery); ok {
			m.log.Warn("this node's certificate is about to end", "at", ends.UTC().Format(time.RFC3339))
		}
	}
	if err := m.voter.prune(); err != nil {
		m.log.Warn("old votes could not be pruned; trying again later", "error", err)
	}
}

// round lets every link take part and counts the round when all have. It reports
// whether that happened before ctx ended.
func (m *Manager) round(ctx context.Context) bool {
	began := time.Now()
	calls := make([]*roundCall, len(m.links))
	for i, l := range m.links {
		calls[i] = &roundCall{done: make(chan struct{}), whole: i == m.turn%len(m.links)}
		select {
		case l.rounds <- calls[i]:
		case <-ctx.Done():
			return false
		}
	}
	m.turn++
	for _, c := range calls {
		select {
		case <-c.done:
		case <-ctx.Done():
			return false
		}
	}
	// After the links, so that new certificates have their new sessions first.
	m.reverifyInbound()
	m.table.update(func(_ *election.Self, s *election.State) { s.Rounds++ })
	m.sample(began, "round")
	return true
}

// announceGap is the least time between two version announcements, with few peers.
const announceGap = 10 * time.Millisecond

// announce tells the peers of new versions: at once over the open sessions, and for a
// while through memberlist's gossip.
func (m *Manager) announce(ctx context.Context) {
	gap := time.Duration(paceShare(len(m.links)) * float64(announceGap))
	timer := time.NewTimer(gap)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.told:
		}
		message := appendAnnouncement(nil, m.cfg.InstanceID, m.table.versionNow())
		m.delegate.queue.QueueBroadcast(announcement(message))
		packet := append([]byte{msgUser}, message...)
		for _, l := range m.links {
			if instance, ok := m.table.boundInstance(l.row); ok {
				if s := m.registry.route(instance); s != nil {
					s.send(packet)
				}
			}
		}
		timer.Reset(gap)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}
