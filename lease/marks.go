package lease

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"
)

// grace is for how long a job that was granted counts as running although it is not seen
// to run yet.
const grace = time.Second

// sawMarks notes how the marks of the other processes look now. mu is held.
func (m *Manager) sawMarks(marks []Mark, now time.Duration) {
	looks := make(map[string]string, len(marks))
	for _, mark := range marks {
		if mark.InstanceID != m.cfg.Identity.InstanceID {
			looks[mark.InstanceID] = strconv.FormatUint(mark.Beat, 10)
		}
	}
	m.others.see(looks, now)
	m.snapshot.Marks = marks
}

// runningOn returns a node whose process has marked the job and is not known to be gone:
// its mark has changed within a whole duration of this process's own watch. mu is held.
func (m *Manager) runningOn(job string, now time.Duration) string {
	for _, mark := range m.snapshot.Marks {
		if mark.InstanceID == m.cfg.Identity.InstanceID || m.void(mark.InstanceID, now) {
			continue
		}
		if slices.Contains(mark.Jobs, job) {
			return mark.NodeName
		}
	}
	return ""
}

// void reports whether a process has not renewed its mark for a whole duration. mu is
// held.
func (m *Manager) void(instance string, now time.Duration) bool {
	return m.others.unchanged(instance, now) >= m.cfg.Timing.Duration
}

// marked returns the jobs of this process's mark: those that must not overlap, and run
// here or were granted just now. mu is held, and guarded was asked for before: who tells
// has locks of his own.
func (m *Manager) marked(guarded []string, now time.Duration) []string {
	maps.DeleteFunc(m.granted, func(_ string, at time.Duration) bool { return now-at >= grace })
	jobs := slices.AppendSeq(slices.Clone(guarded), maps.Keys(m.granted))
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// nextMark returns the mark as it is to be written now. mu is held.
func (m *Manager) nextMark(guarded []string, now time.Duration) Mark {
	m.beat++
	return Mark{InstanceID: m.cfg.Identity.InstanceID, NodeName: m.cfg.Identity.NodeName, Jobs: m.marked(guarded, now), Beat: m.beat}
}

// wrote notes that the store has the mark. mu is held.
func (m *Manager) wrote(mark Mark, now time.Duration) {
	m.written, m.writtenAt = mark.Jobs, now
}

// upkeep renews this process's mark, and removes those of processes that are gone.
func (m *Manager) upkeep(ctx context.Context) {
	guarded := m.cfg.Guarded()
	m.mu.Lock()
	now := m.clock()
	jobs := m.marked(guarded, now)
	// Nobody waits for a leader's own jobs, so that what has ended may stay in its mark
	// until the next renewal.
	due := len(jobs)+len(m.written) > 0 && now-m.writtenAt >= m.cfg.Timing.Duration/3 ||
		m.hold == nil && !slices.Equal(jobs, m.written)
	var gone []string
	if m.hold != nil {
		for _, mark := range m.snapshot.Marks {
			if mark.InstanceID != m.cfg.Identity.InstanceID && m.void(mark.InstanceID, now) {
				gone = append(gone, mark.InstanceID)
			}
		}
	}
	m.mu.Unlock()
	if due {
		if err := m.mark(ctx); err != nil {
			m.log.Debug("the running jobs could not be marked", "error", err)
		}
	}
	if len(gone) > 0 {
		err := m.call(ctx, "mark", m.cfg.Timing.Call, func(ctx context.Context) error { return m.store.DropMarks(ctx, gone) })
		m.mu.Lock()
		if err != nil {
			m.log.Debug("marks of processes that are gone could not be removed", "error", err)
		} else {
			m.snapshot.Marks = slices.DeleteFunc(slices.Clone(m.snapshot.Marks), func(mark Mark) bool {
				return slices.Contains(gone, mark.InstanceID)
			})
		}
		m.mu.Unlock()
	}
}

// mark writes this process's mark unless there never was anything to mark.
func (m *Manager) mark(ctx context.Context) error {
	m.marking.Lock()
	defer m.marking.Unlock()
	guarded := m.cfg.Guarded()
	m.mu.Lock()
	now := m.clock()
	if len(m.marked(guarded, now))+len(m.written) == 0 {
		m.mu.Unlock()
		return nil
	}
	mark := m.nextMark(guarded, now)
	m.mu.Unlock()
	err := m.call(ctx, "mark", m.cfg.Timing.Call, func(ctx context.Context) error { return m.store.SetMark(ctx, mark) })
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.writtenAt = m.clock() // not again at once
		return err
	}
	m.wrote(mark, now)
	return nil
}

// unmark removes this process's mark: its last run has ended.
func (m *Manager) unmark(ctx context.Context) error {
	m.marking.Lock()
	defer m.marking.Unlock()
	m.mu.Lock()
	if len(m.written) == 0 {
		m.mu.Unlock()
		return nil
	}
	m.granted = map[string]time.Duration{}
	mark := m.nextMark(nil, m.clock())
	m.mu.Unlock()
	return m.call(ctx, "mark", m.cfg.Timing.Call, func(ctx context.Context) error { return m.store.SetMark(ctx, mark) })
}
