package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// soonest is the shortest pause after a failure.
	soonest = 100 * time.Millisecond
	// rewatch and rewatchMax bound the pause before a watch that ended is opened again.
	rewatch, rewatchMax = 200 * time.Millisecond, 10 * time.Second
	// tries is how often in a row a record that looks free is asked for.
	tries = 3
	// chores is how often the store is tidied, and its credentials looked at.
	chores = time.Minute
	// handOver is how long it takes at most, when all is well, until the others know that
	// a holder has stopped: it starts nothing any more before they do.
	handOver = time.Second
	// unmarked is how soon a finished job leaves the mark of a process that does not
	// lead: the leader waits for it.
	unmarked = time.Second
)

// keep does one pass after another: it is the only goroutine that acquires, renews and
// releases.
func (m *Manager) keep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-m.kick:
		}
		timer.Reset(m.pass(ctx))
	}
}

// watch hears of changes in the store. It only makes the next pass come sooner.
func (m *Manager) watch(ctx context.Context) {
	pause := rewatch
	for ctx.Err() == nil {
		start := m.clock()
		err := m.store.Watch(ctx, func() {
			m.mu.Lock()
			m.stale = true
			m.mu.Unlock()
			m.wake()
		})
		if ctx.Err() != nil {
			return
		}
		if m.clock()-start > rewatchMax { // else each end would be followed by a new begin
			pause = rewatch
		}
		m.log.Debug("the watch of the lease has ended; it is opened again", "error", err, "pause", pause)
		if Sleep(ctx, jitter(pause)) != nil {
			return
		}
		pause = min(2*pause, rewatchMax)
		m.mu.Lock()
		m.stale = true // whatever changed meanwhile
		m.mu.Unlock()
		m.wake()
	}
}

// jitter keeps the nodes of a cluster from asking their store in step.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads requests and keeps no secret
}

// pass does what is due and returns how long nothing will be.
func (m *Manager) pass(ctx context.Context) time.Duration {
	if wait, done := m.release(ctx); done {
		return wait
	}
	if wait := m.renew(ctx); wait > 0 {
		return wait
	}
	if wait := m.observe(ctx); wait > 0 {
		return wait
	}
	m.upkeep(ctx)
	m.chore(ctx)
	return m.rest()
}

// chore does what is due once in a while.
func (m *Manager) chore(ctx context.Context) {
	m.mu.Lock()
	now := m.clock()
	if now-m.choreAt < chores {
		m.mu.Unlock()
		return
	}
	m.choreAt = now
	hold := m.hold
	m.mu.Unlock()
	switch err := m.store.Reload(); {
	case err == nil:
		m.reloadFailure = ""
	case err.Error() != m.reloadFailure:
		m.reloadFailure = err.Error()
		m.log.Warn("the store's credentials have changed and cannot be used; the ones in use stay", "error", err)
	}
	if hold == nil {
		return
	}
	err := m.call(ctx, "tidy", m.cfg.Timing.Call, func(ctx context.Context) error {
		return m.store.Tidy(ctx, *hold, m.cfg.Now(), now)
	})
	if err != nil {
		m.log.Debug("the store was not tidied", "error", err)
	}
}

// rest is the pause until something is due.
func (m *Manager) rest() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	wait := m.cfg.Timing.Observe - (now - m.read)
	if m.hold != nil {
		wait = m.next - now
	} else if r := m.snapshot.Record; m.phase == running && r.Stands > 0 && r.Holder != "" {
		wait = min(wait, m.record.since+r.Stands-now)
	}
	if len(m.written) > 0 || len(m.granted) > 0 {
		wait = min(wait, unmarked)
	}
	if m.stale {
		wait = 0
	}
	return min(max(wait, 0), chores)
}

// call runs one call of the store within its limit, and measures it.
func (m *Manager) call(ctx context.Context, name string, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := m.clock()
	err := do(ctx)
	switch {
	case err == nil:
		m.cfg.Metrics.AddSample([]string{"yacron2", "lease", name}, float32((m.clock()-start).Seconds()*1000))
	case !errors.Is(err, ErrHeld) && !errors.Is(err, ErrBarred) && !errors.Is(err, ErrLost):
		m.cfg.Metrics.IncrCounter([]string{"yacron2", "lease", "failure"}, 1)
	}
	return err
}

// failed notes a failure of the store, logs it once for each text, and returns the pause
// before the next attempt.
func (m *Manager) failed(ctx context.Context, doing string, err error, started time.Duration) time.Duration {
	if ctx.Err() != nil {
		return m.cfg.Timing.Retry
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("%s: %v", doing, err)
	if text != m.failure {
		m.failure = text
		m.log.Warn("the lease store does not serve this node; trying again", "while", doing, "error", err)
	}
	return max(m.cfg.Timing.Retry-(m.clock()-started), soonest) + rand.N(soonest) //nolint:gosec // likewise
}

// served notes that the store does its work. mu is held.
func (m *Manager) served() { m.failure = "" }

// renew prolongs the hold if that is due; the pause after a failure.
func (m *Manager) renew(ctx context.Context) time.Duration {
	m.mu.Lock()
	now := m.clock()
	if m.hold == nil || now < m.next {
		m.mu.Unlock()
		return 0
	}
	hold := *m.hold
	m.mu.Unlock()

	var renewed Hold
	err := m.call(ctx, "renew", m.cfg.Timing.RenewCall, func(ctx context.Context) (err error) {
		renewed, err = m.store.Renew(ctx, hold)
		return err
	})
	switch {
	case err == nil:
		m.mu.Lock()
		defer m.mu.Unlock()
		m.served()
		m.held(renewed, now)
		m.publish()
		return 0
	case errors.Is(err, ErrLost):
		m.lose(hold.Token, err)
		return 0
	}
	wait := m.failed(ctx, "renewing the lease", err, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock() >= m.renewed+hold.Duration {
		// What the record says once it can be read again decides.
		m.hold, m.stale = nil, true
		m.log.Warn("the lease ran out before it could be renewed")
		m.publish()
	}
	return wait
}

// held notes that the store grants the hold, as asked for at sent. mu is held.
func (m *Manager) held(hold Hold, sent time.Duration) {
	m.hold, m.renewed = &hold, sent
	t := m.cfg.Timing
	m.next = sent + min(t.Renew, time.Duration(float64(t.Renew)*hold.Duration.Seconds()/t.Duration.Seconds()))
	// The store would not have granted it to one who does not hold the record.
	m.read, m.wasRead, m.lastRead = sent, true, m.cfg.Now()
	switch low := hold.Duration < m.cfg.Timing.Floor; {
	case low && !m.lowGrant:
		m.lowGrant = true
		m.log.Warn("the store grants the lease for less than this node can lead on: its Leader jobs stay idle",
			"granted", hold.Duration, "needed", m.cfg.Timing.Floor)
	case !low && m.lowGrant:
		m.lowGrant = false
		m.log.Info("the store grants the lease for long enough again", "granted", hold.Duration)
	}
}

// lose notes that the hold with the token is over.
func (m *Manager) lose(token uint64, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale = true
	if m.hold == nil || m.hold.Token != token {
		return
	}
	m.hold = nil
	m.snapshot.Record.Own = false
	m.cfg.Metrics.IncrCounter([]string{"yacron2", "lease", "lost"}, 1)
	m.log.Warn("the lease is lost", "reason", why)
	m.publish()
}

// observe reads the record if that is due, and acquires it if it is free. It returns the
// pause after a failure.
func (m *Manager) observe(ctx context.Context) time.Duration {
	for try := 1; ; try++ {
		m.mu.Lock()
		now := m.clock()
		r := m.snapshot.Record
		// Another holder's record is looked at once more at the moment it is over.
		over := m.hold == nil && m.phase == running && r.Stands > 0 && r.Holder != "" && now >= m.record.since+r.Stands
		due := m.stale || !m.wasRead || m.hold == nil && now >= m.read+m.cfg.Timing.Observe || over
		m.stale = false
		m.mu.Unlock()
		if !due {
			return 0
		}
		var s Snapshot
		err := m.call(ctx, "read", m.cfg.Timing.Call, func(ctx context.Context) (err error) {
			s, err = m.store.Read(ctx)
			return err
		})
		if err != nil {
			m.mu.Lock()
			m.stale = true
			m.publish()
			m.mu.Unlock()
			return m.failed(ctx, "reading the lease", err, now)
		}
		free := m.saw(s, now)
		if !free {
			return 0
		}
		started := m.clock()
		switch err := m.acquire(ctx, s.Record); {
		case err == nil:
			return 0
		case errors.Is(err, ErrHeld):
			m.mu.Lock()
			m.stale = true // to see by whom
			m.mu.Unlock()
			if try == tries {
				return m.cfg.Timing.Retry
			}
		case errors.Is(err, ErrBarred):
			m.mu.Lock()
			m.stale = true
			m.mu.Unlock()
			return m.cfg.Timing.Retry
		default:
			return m.failed(ctx, "acquiring the lease", err, started)
		}
	}
}

// saw takes over what a read told that was sent at the instant, and reports whether the
// record is to be acquired now.
func (m *Manager) saw(s Snapshot, sent time.Duration) (free bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served()
	now := m.clock()
	m.sawFormer(m.snapshot.Record, s.Record)
	m.sawVanish(m.snapshot.Record, s.Record)
	m.snapshot = s
	m.read, m.wasRead, m.lastRead = sent, true, m.cfg.Now()
	if m.record.see(s.Record.HolderID+"\x00"+s.Record.Version, now) {
		m.changed = m.cfg.Now()
	}
	m.sawMarks(s.Marks, now)
	if m.hold != nil && !s.Record.Own {
		m.hold = nil
		m.cfg.Metrics.IncrCounter([]string{"yacron2", "lease", "lost"}, 1)
		m.log.Warn("the lease is lost: somebody else changed or removed it", "holder", s.Record.Holder)
	}
	defer m.publish()
	if m.hold != nil || m.phase != running {
		return false
	}
	r := s.Record
	return r.Holder == "" && now >= m.vanished || r.Own || r.Stands > 0 && now >= m.record.since+r.Stands
}

// sawVanish notes a record that somebody else than its holder removed: where challengers
// judge how long a record stands, it stands as long as if it were still there. mu is held.
func (m *Manager) sawVanish(before, after Record) {
	switch {
	case after.Holder != "" || after.Released:
		m.vanished = 0
	case before.Holder != "" && !before.Own && before.Stands > 0:
		m.vanished = m.record.since + before.Stands
	}
}

// sawFormer notes until when a holder that is gone is known to have led. mu is held.
func (m *Manager) sawFormer(before, after Record) {
	if before.Holder == "" || before.Own || before.HolderID == after.HolderID {
		return
	}
	m.former, m.formerHold, m.formerGave = before.Holder, before.HoldID, after.Holder == "" && after.Released
	now := m.cfg.Now()
	switch {
	case m.formerGave && before.Stands == 0:
		m.formerTo = now.Add(-handOver)
	case m.formerGave:
		m.formerTo = m.lastRead // no watch told of it at once
	case before.Stands > 0:
		m.formerTo = m.changed
	default:
		// The store freed it, a whole duration after the last renewal at most; when, is
		// known but for the pause between two reads.
		gone := m.lastRead.Add(m.cfg.Timing.Observe)
		if now.Before(gone) {
			gone = now
		}
		m.formerTo = gone.Add(-m.cfg.Timing.Duration)
	}
}

// acquire takes the record as it was seen.
func (m *Manager) acquire(ctx context.Context, seen Record) error {
	sent := m.clock()
	var hold Hold
	err := m.call(ctx, "acquire", m.cfg.Timing.Call, func(ctx context.Context) (err error) {
		hold, err = m.store.Acquire(ctx, seen)
		return err
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served()
	m.cfg.Metrics.IncrCounter([]string{"yacron2", "lease", "acquired"}, 1)
	if seen.Holder != "" && !seen.Own {
		// An overdue holder was replaced; the record was never seen free.
		m.former, m.formerHold, m.formerGave, m.formerTo = seen.Holder, seen.HoldID, false, m.changed
	}
	m.held(hold, sent)
	m.snapshot.Record.Holder, m.snapshot.Record.Own = m.cfg.Identity.NodeName, true
	m.stale = true // for the record's own words
	m.publish()
	return nil
}

// release gives the hold back once this process has resigned. done means that there is
// nothing else to do in this pass.
func (m *Manager) release(ctx context.Context) (wait time.Duration, done bool) {
	m.mu.Lock()
	if m.phase == running {
		m.mu.Unlock()
		return 0, false
	}
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		// The next leader looks at what still runs here.
		if err := m.mark(ctx); err != nil {
			m.log.Warn("the jobs that still run here could not be told to the next leader", "error", err)
		}
		started := m.clock()
		err := m.call(ctx, "release", m.cfg.Timing.Call, func(ctx context.Context) error { return m.store.Release(ctx, *hold) })
		if err != nil && !errors.Is(err, ErrLost) {
			m.mu.Lock()
			over := m.clock() >= m.renewed+hold.Duration
			m.mu.Unlock()
			if !over {
				return m.failed(ctx, "releasing the lease", err, started), true
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if hold != nil {
		m.hold = nil
		m.snapshot.Record.Own, m.snapshot.Record.Holder, m.snapshot.Record.HolderID, m.snapshot.Record.HoldID = false, "", "", ""
		m.stale = true
		m.publish()
	}
	select {
	case <-m.released:
	default:
		close(m.released)
	}
	return 0, false
}
