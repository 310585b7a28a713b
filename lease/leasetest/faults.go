package leasetest

import (
	"sync"
	"testing"
	"time"
)

// RunFaults breaks the store under nodes that lead by it. Each Setup has a store of its own.
func RunFaults(t *testing.T, n New) {
	t.Helper()
	n.runParallel(t, []test{
		{"StoreKilled", testKilled},
		{"StorePaused", testPaused},
		{"RecordDeleted", func(t *testing.T, s *Setup) { testHarmed(t, s, s.Delete) }},
		{"SessionRevoked", testSessionRevoked},
		{"StoreRefuses", testRefusing},
	})
}

// The store is gone for longer than a lease: nobody leads, nobody skips a PreferLeader
// job, and when it is back one node leads.
func testKilled(t *testing.T, s *Setup) {
	o := Outage{Begin: s.Kill, End: s.Start}
	testOutages(t, s, []Outage{o, o})
}

// The store stands still for as long: that looks to its clients like an answer that may
// come any moment.
func testPaused(t *testing.T, s *Setup) {
	o := Outage{Begin: s.Pause, End: s.Resume}
	testOutages(t, s, []Outage{o, o})
}

// The store is there and does not serve, in ways of its own.
func testRefusing(t *testing.T, s *Setup) {
	if len(s.Outages) > 0 { // else the store has no such ways
		testOutages(t, s, s.Outages)
	}
}

func testOutages(t *testing.T, s *Setup, outages []Outage) {
	c := Start(t, s, 3, nil)
	for _, o := range outages {
		c.AwaitLeader()
		c.AwaitFirings()
		o.Begin()
		c.AwaitNone(c.Nodes...)
		o.End()
		leader, took := c.AwaitLeader()
		t.Logf("%s leads %v after the store is back; the lease lasts %v", leader.NodeName, took, s.Timing.Duration)
		c.AwaitFirings()
	}
}

// Somebody takes the record away, again and again: what was given stays given.
func testHarmed(t *testing.T, s *Setup, harm func(testing.TB)) {
	c := Start(t, s, 5, nil)
	c.tampered.Store(true)
	for range 5 {
		c.AwaitLeader()
		c.AwaitFirings()
		start := time.Now()
		harm(t)
		leader, _ := c.AwaitLeader()
		t.Logf("%s leads after %v", leader.NodeName, time.Since(start))
	}
	c.AwaitFirings()
}

func testSessionRevoked(t *testing.T, s *Setup) {
	if s.Revoke != nil { // else the store has no sessions
		testHarmed(t, s, s.Revoke)
	}
}

// guard is the jobs that must not overlap and run on a node.
type guard struct {
	mu      sync.Mutex
	running []string
}

func (g *guard) jobs() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

func (g *guard) set(jobs ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = jobs
}
