package lease

import (
	"context"
	"time"

	"github.com/yacron2/yacron2/election"
)

// leadsUntil is until when this process may take itself for the holder. mu is held.
func (m *Manager) leadsUntil() (until time.Duration, holds bool) {
	if m.hold == nil || m.hold.Duration < m.cfg.Timing.Floor {
		return 0, false
	}
	return m.renewed + m.hold.Duration - ClockMargin, true
}

// freshUntil is until when the newest read counts. mu is held.
func (m *Manager) freshUntil() (until time.Duration, read bool) {
	d := m.cfg.Timing.Duration
	if m.hold != nil {
		d = max(m.hold.Duration, time.Nanosecond)
	}
	return m.read + d, m.wasRead
}

// publish computes the view anew. mu is held.
func (m *Manager) publish() {
	now := m.clock()
	leads, holds := m.leadsUntil()
	fresh, read := m.freshUntil()
	l := election.Lease{
		Fresh:      read && now < fresh,
		Leading:    holds && now < leads && m.phase == running,
		Own:        m.hold != nil || m.snapshot.Record.Own,
		Holder:     m.snapshot.Record.Holder,
		HolderID:   m.snapshot.Record.HoldID,
		Former:     m.former,
		FormerSeen: m.formerTo,
		Detail:     m.snapshot.Record.Detail,
	}
	if l.Leading {
		l.Expiry = m.cfg.Now().Add(leads - now)
	}
	if !l.Fresh && l.Holder != "" && !l.Own {
		// Out of sight with the store: what it was to run is not known to have run.
		l.Former, l.FormerSeen = l.Holder, m.lastRead
	}
	m.expires = 0
	if l.Leading {
		m.expires = leads
	}
	if l.Fresh && (m.expires == 0 || fresh < m.expires) {
		m.expires = fresh
	}
	before := m.view
	m.view = election.NewView(election.State{
		Backend:     m.cfg.Backend,
		NodeName:    m.cfg.Identity.NodeName,
		InstanceID:  m.cfg.Identity.InstanceID,
		JobSetID:    m.jobSetID,
		ElectLeader: true,
		Stopping:    m.phase != running,
		Lease:       &l,
	})
	m.report(&l)
	signal(m.rearm)
	if before == nil || differs(before, m.view) {
		signal(m.updates)
	}
}

// differs reports whether a decision could come out another way. An expiry that moves
// with each renewal is none.
func differs(a, b *election.View) bool {
	x, y := *a.Lease(), *b.Lease()
	return a.JobSetID() != b.JobSetID() || a.Stopping() != b.Stopping() ||
		x.Fresh != y.Fresh || x.Leading != y.Leading || x.Own != y.Own || x.Holder != y.Holder || x.HolderID != y.HolderID ||
		x.Former != y.Former || !x.FormerSeen.Equal(y.FormerSeen)
}

// report logs what has changed for people. mu is held.
func (m *Manager) report(l *election.Lease) {
	if l.Fresh != m.wasFresh {
		if m.wasFresh = l.Fresh; l.Fresh {
			m.log.Info("the lease store answers again")
		} else {
			m.log.Warn("the lease store has not answered for a whole lease duration: Leader jobs stay idle, PreferLeader jobs run on this node",
				"error", m.failure)
		}
	}
	if l.Leading != m.wasLeading {
		switch m.wasLeading = l.Leading; {
		case l.Leading:
			m.log.Info("this node leads now", "token", m.hold.Token, "expiry", l.Expiry.UTC().Format(time.RFC3339))
		case m.phase != running:
			m.log.Info("this node no longer leads: it stops")
		default:
			m.log.Warn("this node no longer leads", "holder", l.Holder)
		}
	}
	if l.Fresh && !l.Own && l.HolderID != m.lastLeader {
		if m.lastLeader = l.HolderID; l.Holder != "" {
			m.log.Info("another node leads", "leader", l.Holder)
		} else {
			m.log.Info("nobody holds the lease")
		}
	} else if l.Own {
		m.lastLeader = l.HolderID
	}
}

// expire computes the view anew whenever time alone changes it, whatever the store does
// meanwhile.
func (m *Manager) expire(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		m.mu.Lock()
		if m.expires != 0 && m.clock() >= m.expires {
			m.publish()
		}
		wait := time.Hour
		if m.expires != 0 {
			wait = max(m.expires-m.clock(), 0)
		}
		m.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-m.rearm:
		case <-timer.C:
		}
	}
}
