package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
)

// Cluster is a number of nodes in this process that lead by one record, each with its own
// way to the store. While they run, each claims ten firings a second whenever it may, and
// it is watched that no two of them lead and that nothing is given twice.
type Cluster struct {
	Nodes []*Node

	t      *testing.T
	setup  *Setup
	ledger ledger
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// tampered: somebody takes the record away from a holder that is in good health. It
	// may take itself for the leader until it hears of it, but is given nothing any more.
	tampered atomic.Bool
}

// Node is one of them.
type Node struct {
	Client
	lease.Identity
	Manager *lease.Manager

	stopped atomic.Bool
}

// Leads reports whether the node would run a firing of a Leader job.
func (n *Node) Leads() bool {
	return election.Decide(election.Leader, true, n.Manager.View(), "any").Action == election.Run
}

// Prefers reports whether the node would run a firing of a PreferLeader job.
func (n *Node) Prefers() bool {
	return election.Decide(election.PreferLeader, true, n.Manager.View(), "any").Action == election.Run
}

// links does something to every way of the node to the store.
func (n *Node) links(do func(*realstore.Proxy)) {
	for _, l := range n.Links {
		do(l)
	}
}

// Cut resets the node's connections and every new one, Block lets nothing pass them, and
// Heal ends either.
func (n *Node) Cut() { n.links((*realstore.Proxy).Cut) }

// Block lets nothing pass and keeps the connections.
func (n *Node) Block() { n.links((*realstore.Proxy).Block) }

// BlockAnswers lets only the node's requests pass.
func (n *Node) BlockAnswers() { n.links((*realstore.Proxy).BlockAnswers) }

// Heal ends Cut, Block and BlockAnswers.
func (n *Node) Heal() { n.links((*realstore.Proxy).Heal) }

// Stop ends the node in peace.
func (n *Node) Stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n.stopped.Store(true)
	if err := n.Manager.Stop(ctx); err != nil {
		t.Errorf("%s stops: %v", n.NodeName, err)
	}
}

// Start starts n nodes on a record. adjust, unless nil, may change how each is configured.
func Start(t *testing.T, s *Setup, n int, adjust func(i int, cfg *lease.Config)) *Cluster {
	t.Helper()
	c := &Cluster{t: t, setup: s, ledger: ledger{t: t, given: map[election.Firing]string{}, tokens: map[uint64]string{}}}
	ctx, cancel := context.WithCancel(t.Context())
	c.cancel = cancel
	for i := range n {
		c.Nodes = append(c.Nodes, c.node(i, adjust))
	}
	// After the nodes' own cleanups were asked for: their links end later than they do.
	t.Cleanup(c.close)
	for _, node := range c.Nodes {
		if err := node.Manager.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range c.Nodes {
		c.wg.Go(func() { c.work(ctx, node) })
	}
	c.wg.Go(func() { c.watch(ctx) })
	return c
}

func (c *Cluster) node(i int, adjust func(int, *lease.Config)) *Node {
	c.t.Helper()
	cfg := lease.Config{Backend: c.setup.Backend, Identity: who(i), JobSetID: "v1:set", Timing: c.setup.Timing,
		Logger: logger(c.t).Named(who(i).NodeName)}
	if adjust != nil {
		adjust(i, &cfg)
	}
	node := &Node{Identity: cfg.Identity,
		Client: c.setup.Open(c.t, Process{Identity: cfg.Identity, Logger: cfg.Logger, Now: cfg.Now})}
	cfg.Store = node.Store
	var err error
	if node.Manager, err = lease.New(cfg); err != nil {
		c.t.Fatal(err)
	}
	return node
}

// close ends all nodes, in peace unless the test has failed already.
func (c *Cluster) close() {
	c.cancel()
	c.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range c.Nodes {
		n.Heal()
		wg.Go(func() {
			if err := n.Manager.Stop(ctx); err != nil {
				c.t.Errorf("%s stops: %v", n.NodeName, err)
			}
		})
	}
	wg.Wait()
}

// work claims what is due, and for a while what was due and is not settled, as a
// dispatcher does.
func (c *Cluster) work(ctx context.Context, n *Node) {
	settled := map[election.Firing]bool{}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !n.Leads() {
			continue
		}
		batch := slices.DeleteFunc(due(time.Now()), func(f election.Firing) bool { return settled[f] })
		newest := c.ledger.newest()
		for i, v := range n.Manager.Claim(ctx, batch) {
			if v.Outcome == election.Granted {
				c.ledger.give(batch[i], n.InstanceID, v.Token, newest)
			}
			settled[batch[i]] = v.Outcome != election.Pending
		}
	}
}

// due returns the firings of the last three seconds, one each tenth of a second. Their
// instants are whole seconds, as those of schedules are.
func due(now time.Time) []election.Firing {
	var firings []election.Firing
	second := now.UTC().Truncate(time.Second)
	for at := second.Add(-2 * time.Second); !at.After(second); at = at.Add(time.Second) {
		for tenth := range 10 {
			if !at.Add(time.Duration(tenth) * time.Second / 10).After(now) {
				firings = append(firings, election.Firing{Job: fmt.Sprintf("job-%d", tenth), At: at})
			}
		}
	}
	return firings
}

// watch looks all the time whether two nodes lead. One that leads in two looks does so in
// between.
func (c *Cluster) watch(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		first := c.leaders()
		if len(first) < 2 || c.tampered.Load() {
			continue
		}
		second := c.leaders()
		both := slices.DeleteFunc(first, func(n *Node) bool { return !slices.Contains(second, n) })
		if len(both) > 1 {
			c.t.Errorf("%s and %s lead at the same time", both[0].NodeName, both[1].NodeName)
			return
		}
	}
}

func (c *Cluster) leaders() []*Node {
	var leaders []*Node
	for _, n := range c.Nodes {
		if n.Leads() {
			leaders = append(leaders, n)
		}
	}
	return leaders
}

// eventually waits for a condition. Leases that last long take their time beside that of a
// busy machine.
func (c *Cluster) eventually(what string, check func() error) {
	c.t.Helper()
	testcluster.EventuallyWithin(c.t, testcluster.Patience+3*c.setup.Timing.Duration, what, check)
}

// AwaitLeader waits until one of these nodes leads, of all if none is named, and the
// others of them see it. It returns that node and how long this took.
func (c *Cluster) AwaitLeader(among ...*Node) (*Node, time.Duration) {
	c.t.Helper()
	if len(among) == 0 {
		among = c.Nodes
	}
	among = slices.DeleteFunc(slices.Clone(among), func(n *Node) bool { return n.stopped.Load() })
	var leader *Node
	start := time.Now()
	c.eventually("one node leads", func() error {
		leaders := c.leaders()
		if len(leaders) != 1 || !slices.Contains(among, leaders[0]) {
			return fmt.Errorf("%d nodes lead", len(leaders))
		}
		leader = leaders[0]
		for _, n := range among {
			if v := n.Manager.View(); !v.Quorate() || v.Lease().Holder != leader.NodeName {
				return fmt.Errorf("%s sees %q lead", n.NodeName, v.Lease().Holder)
			}
		}
		return nil
	})
	return leader, time.Since(start)
}

// AwaitNone waits until none of the nodes runs Leader jobs, and each of them runs
// PreferLeader jobs: the store is out of their sight.
func (c *Cluster) AwaitNone(nodes ...*Node) {
	c.t.Helper()
	c.eventually("Leader jobs stay idle, PreferLeader jobs run", func() error {
		var errs []error
		for _, n := range nodes {
			if n.Leads() || !n.Prefers() {
				errs = append(errs, fmt.Errorf("%s: Leader jobs %t, PreferLeader jobs %t", n.NodeName, n.Leads(), n.Prefers()))
			}
		}
		return errors.Join(errs...)
	})
}

// AwaitIdle waits until no node runs Leader jobs.
func (c *Cluster) AwaitIdle() {
	c.t.Helper()
	c.eventually("Leader jobs stay idle", func() error {
		if leaders := c.leaders(); len(leaders) > 0 {
			return fmt.Errorf("%s leads", leaders[0].NodeName)
		}
		return nil
	})
}

// AwaitFirings waits until firings that become due from now on are given.
func (c *Cluster) AwaitFirings() {
	c.t.Helper()
	from := time.Now().UTC()
	c.eventually("firings run", func() error {
		if n := c.ledger.since(from); n < 10 {
			return fmt.Errorf("%d were given since", n)
		}
		return nil
	})
}

// ledger remembers to whom each firing was given.
type ledger struct {
	t *testing.T

	mu     sync.Mutex
	given  map[election.Firing]string
	tokens map[uint64]string
	top    uint64 // the highest token that was given anything
}

// newest is the highest token that was given anything so far.
func (l *ledger) newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.top
}

// give notes a firing that was given to a process. newest is what it was when the process
// asked: from then on no older holder may be given anything.
func (l *ledger) give(f election.Firing, instance string, token, newest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token < newest {
		l.t.Errorf("%s was given %s at %s with the token %d, after one with %d", instance, f.Job, f.At.Format(time.TimeOnly), token, newest)
	}
	l.top = max(l.top, token)
	if other, taken := l.given[f]; taken && other != instance {
		l.t.Errorf("%s at %s was given to %s and to %s", f.Job, f.At.Format(time.TimeOnly), other, instance)
	}
	l.given[f] = instance
	if other, known := l.tokens[token]; token == 0 || known && other != instance {
		l.t.Errorf("%s and %s were given firings with the token %d", other, instance, token)
	}
	l.tokens[token] = instance
}

// since counts the firings with instants after one.
func (l *ledger) since(from time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for f := range l.given {
		if f.At.After(from) {
			n++
		}
	}
	return n
}
