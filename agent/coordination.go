package agent

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// Pauses between attempts to start a coordination backend that cannot start.
const (
	firstRestart = 250 * time.Millisecond
	lastRestart  = 5 * time.Second
)

// backend is a coordination backend as the agent drives it.
type backend interface {
	scheduler.Coordinator
	// SetJobSet tells the cluster of a new job set without a restart.
	SetJobSet(set jobSet)
	// Suits reports whether the backend may stay under another cluster section; Adopt
	// puts one that does into effect. Neither is called by two goroutines at once.
	Suits(next *config.Cluster) bool
	Adopt(next *config.Cluster)
}

// jobSet is what coordination needs to know of the jobs.
type jobSet struct {
	id   string
	jobs map[string]*scheduler.Job // by name
}

// blueprint describes a backend to run.
type blueprint struct {
	cluster *config.Cluster
	build   func(set jobSet) (backend, error)
	// check returns why what build makes could not start in the place of a backend that
	// runs by the section before. It changes nothing.
	check func(before *config.Cluster) error
}

// coordination keeps one backend running: it starts it, tries again while it cannot
// start, and replaces it when the cluster section changes. While there is none, the
// dispatcher has no coordinator, so that Leader jobs stay idle and the others run.
type coordination struct {
	log     hclog.Logger
	install func(scheduler.Coordinator) // nil: none

	kick   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}

	change sync.Mutex // held while a backend is started or stopped
	// gone: what is installed was stopped, and nothing has taken its place yet. Guarded
	// by change.
	gone bool

	mu      sync.Mutex // guards what follows, and is never held over a call
	plan    *blueprint // nil: no cluster section
	set     jobSet
	current backend
	failure error
	resign  bool
}

func newCoordination(log hclog.Logger, install func(scheduler.Coordinator)) *coordination {
	return &coordination{log: log, install: install, kick: make(chan struct{}, 1)}
}

// Start makes a first attempt, and goes on trying in the background.
func (c *coordination) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.done = cancel, make(chan struct{})
	c.attempt(ctx)
	go func() {
		defer close(c.done)
		c.run(ctx)
	}()
}

// Check returns why plan must not be put into effect: the backend that runs would give
// way to one that cannot start. Where none runs, nothing can be lost.
func (c *coordination) Check(plan *blueprint) error {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	running, before := c.current, c.plan
	c.mu.Unlock()
	if plan == nil || running == nil || running.Suits(plan.cluster) {
		return nil
	}
	return plan.check(before.cluster)
}

// Apply makes plan (nil: none) and set the configuration in effect. A running backend
// stays if the plan suits it.
func (c *coordination) Apply(ctx context.Context, plan *blueprint, set jobSet) {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	old := c.current
	c.mu.Unlock()
	stays := old != nil && plan != nil && old.Suits(plan.cluster)

	c.mu.Lock()
	c.plan, c.set = plan, set
	if !stays {
		c.current = nil
	}
	if plan == nil {
		c.failure = nil
	}
	c.mu.Unlock()

	switch {
	case stays:
		old.Adopt(plan.cluster)
		old.SetJobSet(set)
	case old != nil && plan != nil:
		// Its last view, in which this node hands over, stays until the next one: to have
		// no coordination would let PreferLeader jobs run here and elsewhere.
		c.log.Info("cluster section changed: coordination is built anew")
		c.stopBackend(ctx, old)
		c.gone = true
	case old != nil:
		c.log.Info("cluster section removed: coordination ends")
		c.install(nil)
		c.stopBackend(ctx, old)
	case plan == nil:
		c.uninstall()
	}
	c.wake()
}

// uninstall makes known that nothing coordinates any more, if that is so. change is held.
func (c *coordination) uninstall() {
	if c.gone {
		c.gone = false
		c.install(nil)
	}
}

func (c *coordination) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

func (c *coordination) run(ctx context.Context) {
	pause := firstRestart
	for {
		var again <-chan time.Time
		timer := time.NewTimer(pause)
		if c.wanting() {
			again = timer.C
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.kick:
			pause = firstRestart
		case <-again:
			pause = min(2*pause, lastRestart)
		}
		timer.Stop()
		c.attempt(ctx)
	}
}

// wanting reports whether a backend is configured and none runs.
func (c *coordination) wanting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plan != nil && c.current == nil && !c.resign
}

// attempt starts the configured backend unless it runs.
func (c *coordination) attempt(ctx context.Context) {
	c.change.Lock()
	defer c.change.Unlock()
	if !c.wanting() || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	plan, set, before := c.plan, c.set, c.failure
	c.mu.Unlock()

	b, err := plan.build(set)
	if err == nil {
		err = b.Start(ctx)
	}
	c.mu.Lock()
	if err == nil {
		c.current, c.failure = b, nil
	} else {
		c.failure = err
	}
	resigned := c.resign
	c.mu.Unlock()

	if err != nil {
		c.uninstall()
	}
	switch {
	case err == nil:
		if before != nil {
			c.log.Info("coordination recovered")
		}
		c.gone = false
		c.install(b)
		if resigned {
			// While it started: it must not be taken for a node that goes on.
			if err := b.Resign(ctx); err != nil {
				c.log.Warn("leadership was not handed over cleanly", "error", err)
			}
		}
	case before == nil || before.Error() != err.Error():
		c.log.Error("coordination cannot start: Leader jobs stay idle, PreferLeader and EveryNode jobs run on this node; trying again",
			"error", err)
	default:
		c.log.Debug("coordination still cannot start", "error", err)
	}
}

// Resign hands leadership over. No backend is started any more.
func (c *coordination) Resign(ctx context.Context) error {
	c.mu.Lock()
	c.resign = true
	b := c.current
	c.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.Resign(ctx)
}

// Stop ends the backend and the attempts to start one.
func (c *coordination) Stop(ctx context.Context) error {
	if c.cancel != nil {
		c.cancel()
		<-c.done
	}
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	b := c.current
	c.current, c.plan = nil, nil
	c.mu.Unlock()
	if b == nil {
		return nil
	}
	c.install(nil)
	return b.Stop(ctx)
}

func (c *coordination) stopBackend(ctx context.Context, b backend) {
	if err := b.Stop(ctx); err != nil {
		c.log.Warn("coordination did not stop cleanly", "error", err)
	}
}

// View returns the newest view, nil without a running backend.
func (c *coordination) View() *election.View {
	v, _ := c.State()
	return v
}

// State returns the newest view, or nil and why a configured backend does not run.
func (c *coordination) State() (*election.View, error) {
	c.mu.Lock()
	b, failure := c.current, c.failure
	c.mu.Unlock()
	if b == nil {
		return nil, failure
	}
	return b.View(), nil
}

// running returns the backend that runs; nil if there is none.
func (c *coordination) running() backend {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// Troubles says what keeps the running backend from doing its part, as far as it tells.
func (c *coordination) Troubles() []string {
	if b, tells := c.running().(interface{ Troubles() []string }); tells {
		return b.Troubles()
	}
	return nil
}

// CertificateExpiry returns when the certificates end that the running backend uses among
// nodes, its own and the first of its authorities; zero if it uses none.
func (c *coordination) CertificateExpiry() (own, authority time.Time) {
	b, uses := c.running().(interface {
		CertificateExpiry() (own, authority time.Time)
	})
	if !uses {
		return time.Time{}, time.Time{}
	}
	return b.CertificateExpiry()
}
