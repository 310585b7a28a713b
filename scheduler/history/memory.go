package history

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store that forgets everything with its process.
type Memory struct {
	limits Limits
	now    func() time.Time

	// journal is told of every change, under mu; nil: nobody is.
	journal journal

	mu      sync.RWMutex // guards what follows
	next    uint64       // number of the newest record
	runs    *shelf[*kept[Run]]
	missed  *shelf[*kept[Missed]]
	started map[string]*Run
	outputs outputs
	pauses  map[string]Pause
	swept   time.Time // when records were last checked for their age
	closed  bool
}

// kept is a record with its number, which grows from record to record.
type kept[T any] struct {
	number uint64
	value  T
}

// journal writes down what a Memory takes and drops.
type journal interface {
	started(run *Run)
	dropped(id string) // a started run ended without a record
	ran(run *kept[Run], output []Line)
	forgotRun(run *kept[Run])
	missed(missed *kept[Missed])
	forgotMissed(missed *kept[Missed])
	paused(job string, pause *Pause) // nil: no more
}

// noJournal is the journal of a Memory that is nothing but that.
type noJournal struct{}

func (noJournal) started(*Run)               {}
func (noJournal) dropped(string)             {}
func (noJournal) ran(*kept[Run], []Line)     {}
func (noJournal) forgotRun(*kept[Run])       {}
func (noJournal) missed(*kept[Missed])       {}
func (noJournal) forgotMissed(*kept[Missed]) {}
func (noJournal) paused(string, *Pause)      {}

// sweepEvery is how often records are checked for their age.
const sweepEvery = time.Hour

// NewMemory returns an empty Memory with the default limits.
func NewMemory() *Memory { return NewMemoryWith(DefaultLimits(), time.Now) }

// NewMemoryWith returns an empty Memory; now tells the age of records.
func NewMemoryWith(limits Limits, now func() time.Time) *Memory {
	return &Memory{
		limits:  limits,
		now:     now,
		journal: noJournal{},
		runs:    newShelf[*kept[Run]](limits.RunsPerJob, limits.Runs),
		missed:  newShelf[*kept[Missed]](limits.MissedPerJob, limits.Missed),
		started: make(map[string]*Run),
		outputs: outputs{limit: limits.Output, byID: make(map[string]*list.Element)},
		pauses:  make(map[string]Pause),
	}
}

// change makes a change under the lock unless the store is closed.
func (m *Memory) change(do func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	do()
	return nil
}

// AddStarted implements Store.
func (m *Memory) AddStarted(run Run) error {
	run.Output = nil
	return m.change(func() {
		m.started[run.ID] = &run
		m.journal.started(&run)
	})
}

// DropStarted implements Store.
func (m *Memory) DropStarted(id string) error {
	return m.change(func() {
		delete(m.started, id)
		m.journal.dropped(id)
	})
}

// AddRun implements Store.
func (m *Memory) AddRun(run Run) error {
	output := lastOutput(run.Output)
	run.Output = nil
	return m.change(func() {
		delete(m.started, run.ID)
		m.next++
		k := &kept[Run]{m.next, run}
		m.journal.ran(k, output)
		m.shelveRun(k)
		if len(output) > 0 {
			m.outputs.add(run.ID, output)
		}
		m.sweep()
	})
}

// shelveRun keeps a run and drops what it displaces; mu is held.
func (m *Memory) shelveRun(k *kept[Run]) { m.runs.add(k.value.Job, k, m.forgetRun) }

func (m *Memory) forgetRun(k *kept[Run]) {
	m.outputs.drop(k.value.ID)
	m.journal.forgotRun(k)
}

// AddMissed implements Store.
func (m *Memory) AddMissed(missed Missed) error {
	return m.change(func() {
		m.next++
		k := &kept[Missed]{m.next, missed}
		m.journal.missed(k)
		m.shelveMissed(k)
		m.sweep()
	})
}

// shelveMissed keeps a missed firing and drops what it displaces; mu is held.
func (m *Memory) shelveMissed(k *kept[Missed]) { m.missed.add(k.value.Job, k, m.journal.forgotMissed) }

// sweep drops what is too old, once in a while; mu is held.
func (m *Memory) sweep() {
	if m.limits.Age <= 0 {
		return
	}
	now := m.now()
	if !m.swept.IsZero() && now.Sub(m.swept) < sweepEvery {
		return
	}
	m.swept = now
	oldest := now.Add(-m.limits.Age)
	m.runs.expire(func(k *kept[Run]) bool { return k.value.FinishedAt.Before(oldest) }, m.forgetRun)
	m.missed.expire(func(k *kept[Missed]) bool { return k.value.At.Before(oldest) }, m.journal.forgotMissed)
}

// LastRun implements Store.
func (m *Memory) LastRun(job string) (Run, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	last := m.runs.last(job, 1)
	if len(last) == 0 {
		return Run{}, false
	}
	return last[0].value, true
}

// Runs implements Store.
func (m *Memory) Runs(job string) []Run { return m.RecentRuns(job, m.limits.RunsPerJob) }

// RecentRuns implements Store.
func (m *Memory) RecentRuns(job string, n int) []Run {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return values(m.runs.last(job, n))
}

// Output implements Store.
func (m *Memory) Output(_, id string) ([]Line, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.outputs.get(id)), nil
}

// Missed implements Store.
func (m *Memory) Missed(job string, n int) []Missed {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return values(m.missed.last(job, n))
}

func values[T any](records []*kept[T]) []T {
	all := make([]T, len(records))
	for i, k := range records {
		all[i] = k.value
	}
	return all
}

// SetPause implements Store.
func (m *Memory) SetPause(pause Pause) error {
	return m.change(func() {
		m.pauses[pause.Job] = pause
		m.journal.paused(pause.Job, &pause)
	})
}

// ClearPause implements Store.
func (m *Memory) ClearPause(job string) (found bool, err error) {
	err = m.change(func() {
		if _, found = m.pauses[job]; found {
			delete(m.pauses, job)
			m.journal.paused(job, nil)
		}
	})
	return found, err
}

// Pause implements Store.
func (m *Memory) Pause(job string) (Pause, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, ok := m.pauses[job]
	return p, ok
}

// Pauses implements Store.
func (m *Memory) Pauses() []Pause {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]Pause, 0, len(m.pauses))
	for _, p := range m.pauses {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Pause) int { return strings.Compare(a.Job, b.Job) })
	return all
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
