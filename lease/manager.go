package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"

	"github.com/yacron2/yacron2/election"
)

// phase is how far a Manager has come in its life.
type phase int

const (
	running  phase = iota
	resigned       // takes no part in the election any more, still observes
	stopped
)

// Manager takes part in the election for one node. It implements the scheduler's
// Coordinator. All methods are safe for concurrent use.
type Manager struct {
	cfg   Config
	store Store
	log   hclog.Logger
	clock clock

	updates chan struct{}
	kick    chan struct{} // something is to be done before the next pass was due
	rearm   chan struct{} // the next deadline of the view has moved
	cancel  context.CancelFunc
	workers sync.WaitGroup

	// marking is held while this process's mark is written, so that an older one does
	// not replace a newer one.
	marking sync.Mutex

	mu       sync.Mutex
	phase    phase
	released chan struct{} // closed once a resigned process holds nothing
	jobSetID string
	view     *election.View
	expires  time.Duration // when view is to be computed anew; 0: never

	hold    *Hold
	renewed time.Duration // when the newest successful renewal was sent
	next    time.Duration // when the next renewal is due

	snapshot Snapshot
	read     time.Duration // when the newest successful read was sent
	wasRead  bool
	stale    bool // something happened since: read before anything else
	record   sighting
	// vanished is until when a record that is gone without having been given up counts as
	// held: its holder may not know yet.
	vanished time.Duration
	changed  time.Time // when the record was seen to change, by the wall clock
	lastRead time.Time
	former   string
	formerTo time.Time
	// formerHold is the hold of the former holder, formerGave that it gave it up.
	formerHold string
	formerGave bool

	others     sightings                // marks of other processes, by instance
	granted    map[string]time.Duration // jobs to be marked, by when they were granted
	beat       uint64
	written    []string // the jobs of this process's mark as the store has it
	writtenAt  time.Duration
	claimed    map[string]bool // one-shots whose claim is not settled
	failure    string          // the last failure that was logged
	lowGrant   bool            // the granted duration is below the floor, and that was logged
	lastLeader string
	wasLeading bool
	wasFresh   bool

	choreAt       time.Duration
	reloadFailure string // only of the goroutine that passes
}

// New returns a Manager of cfg. It touches nothing yet. The Manager owns the store from
// then on.
func New(cfg Config) (*Manager, error) {
	if cfg.Store == nil || cfg.Identity.NodeName == "" || cfg.Identity.InstanceID == "" {
		return nil, errors.New("lease: a store, a node name and an instance id are needed")
	}
	if err := cfg.Timing.Validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Metrics == nil {
		cfg.Metrics = &metrics.BlackholeSink{}
	}
	if cfg.Guarded == nil {
		cfg.Guarded = func() []string { return nil }
	}
	if cfg.NeedRunning == nil {
		cfg.NeedRunning = func(string) bool { return false }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Manager{
		cfg: cfg, store: cfg.Store, log: cfg.Logger.Named("lease"), clock: cfg.Clock,
		updates: make(chan struct{}, 1), kick: make(chan struct{}, 1), rearm: make(chan struct{}, 1),
		released: make(chan struct{}), jobSetID: cfg.JobSetID,
		others: sightings{}, granted: map[string]time.Duration{}, claimed: map[string]bool{},
		wasFresh: true,
	}
	if m.clock == nil {
		m.clock = newClock()
	}
	return m, nil
}

// Start makes a first attempt to read and acquire the lease, and goes on in the
// background. That the store cannot be reached is no error: then nothing is held, Leader
// jobs stay idle, and PreferLeader jobs run.
func (m *Manager) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.log.Info("taking part in the election", "backend", m.cfg.Backend, "node", m.cfg.Identity.NodeName,
		"instance", m.cfg.Identity.InstanceID, "duration", m.cfg.Timing.Duration)
	run, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.choreAt = m.clock()
	pause := m.pass(ctx)
	m.workers.Go(func() { m.keep(run, pause) })
	m.workers.Go(func() { m.watch(run) })
	m.workers.Go(func() { m.expire(run) })
	return nil
}

// Resign gives leadership up at once, and for good. It returns once the store has freed
// the lease, or when ctx ends: then the others wait until the lease is over by itself.
func (m *Manager) Resign(ctx context.Context) error {
	m.mu.Lock()
	if m.phase == running {
		m.phase = resigned
		m.publish()
		m.log.Info("resigning")
	}
	m.mu.Unlock()
	m.wake()
	select {
	case <-m.released:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the lease was not released: %w", ctx.Err())
	}
}

// Stop resigns, unless that was done, and ends every goroutine.
func (m *Manager) Stop(ctx context.Context) error {
	if m.cancel == nil { // never started
		return m.store.Close()
	}
	m.mu.Lock()
	over := m.phase == stopped
	m.mu.Unlock()
	if over {
		return nil
	}
	err := m.Resign(ctx)
	m.mu.Lock()
	m.phase = stopped
	m.mu.Unlock()
	m.cancel()
	m.workers.Wait()
	err = errors.Join(err, m.unmark(ctx), m.store.Close())
	m.mu.Lock()
	m.publish()
	m.mu.Unlock()
	m.log.Info("left the election")
	return err
}

// SetJobSet tells of a new job set, without a break in leadership.
func (m *Manager) SetJobSet(id string) {
	m.mu.Lock()
	if m.jobSetID != id {
		m.jobSetID = id
		m.stale = true
		m.publish()
	}
	m.mu.Unlock()
	m.wake()
}

// Reload takes over credentials and certificates whose files changed.
func (m *Manager) Reload() error { return m.store.Reload() }

// Updates is signalled, never blocking and coalesced, after the view has changed.
func (m *Manager) Updates() <-chan struct{} { return m.updates }

// View returns the newest snapshot. It is nil before Start.
func (m *Manager) View() *election.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	// A process that stood still must not go by what was true before.
	if m.expires != 0 && m.clock() >= m.expires {
		m.publish()
	}
	return m.view
}

// RebootRan reports whether the one-shot is known to have run under the job-set id.
func (m *Manager) RebootRan(job string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	instance, ran := m.snapshot.Ran.Ran(m.jobSetID, job)
	// A claim of this process that was written, but whose answer was lost, is to be
	// asked for again, not taken for a run.
	return ran && !(instance == m.cfg.Identity.InstanceID && m.claimed[job])
}

// MarkRebootRan records that the one-shot runs now.
func (m *Manager) MarkRebootRan(ctx context.Context, job string) error {
	m.mu.Lock()
	id := m.jobSetID
	m.mu.Unlock()
	if err := m.store.MarkRan(ctx, id, job); err != nil {
		return fmt.Errorf("recording the @reboot job %s: %w", job, err)
	}
	m.mu.Lock()
	m.snapshot.Ran = m.snapshot.Ran.Add(id, job, m.cfg.Identity.InstanceID)
	m.mu.Unlock()
	return nil
}

func (m *Manager) wake() { signal(m.kick) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
