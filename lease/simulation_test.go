package lease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

const (
	simTTL    = 5 * time.Second
	simLength = 60 * time.Second
)

func simTiming() Timing {
	return Timing{Duration: simTTL, Floor: 2 * time.Second, Renew: time.Second, Observe: time.Second,
		Retry: 300 * time.Millisecond, Call: 700 * time.Millisecond, RenewCall: 700 * time.Millisecond}
}

// simFault is something that happens to one node for a while.
type simFault struct {
	Node     int
	At, Last time.Duration
	Kind     string
}

// simulation is a run of some nodes with faults.
type simulation struct {
	Nodes               int
	Stands              bool
	Before, After, Late float64 // chances that a call or an answer is lost, or a call arrives late
	Slow                time.Duration
	Hour                int // the node whose wall clock is an hour ahead, -1 for none
	Faults              []simFault
}

func drawSimulation(t *rapid.T) simulation {
	s := simulation{
		Nodes:  rapid.IntRange(1, 5).Draw(t, "nodes"),
		Stands: rapid.Bool().Draw(t, "stands"),
		Before: rapid.SampledFrom([]float64{0, 0, 0.05, 0.3}).Draw(t, "lost calls"),
		After:  rapid.SampledFrom([]float64{0, 0, 0.05, 0.3}).Draw(t, "lost answers"),
		Late:   rapid.SampledFrom([]float64{0, 0.05, 0.2}).Draw(t, "late calls"),
		Slow:   rapid.SampledFrom([]time.Duration{0, 10, 200}).Draw(t, "slow") * time.Millisecond,
		Hour:   rapid.IntRange(-1, 4).Draw(t, "an hour ahead"),
	}
	for range rapid.IntRange(0, 8).Draw(t, "faults") {
		s.Faults = append(s.Faults, simFault{
			Node: rapid.IntRange(0, s.Nodes-1).Draw(t, "node"),
			At:   time.Duration(rapid.IntRange(0, 50_000).Draw(t, "at")) * time.Millisecond,
			Last: time.Duration(rapid.SampledFrom([]int{500, 3000, 6000, 12000}).Draw(t, "last")) * time.Millisecond,
			Kind: rapid.SampledFrom([]string{"cut", "cut", "stop", "kill", "outage"}).Draw(t, "kind"),
		})
	}
	slices.SortFunc(s.Faults, func(a, b simFault) int { return int(a.At - b.At) })
	return s
}

// simNode is one place for a process, which is replaced when it ends.
type simNode struct {
	number int
	store  *memoryStore
	m      *Manager
	kill   context.CancelFunc
	began  chan struct{} // closed once m has started
}

// simRun is a simulation as it runs.
type simRun struct {
	simulation
	world *memory
	start time.Time
	lives int
	nodes []*simNode

	mu      sync.Mutex
	granted map[election.Firing]string
	tokens  map[uint64]string // who had it
	wrong   []string
	claims  sync.WaitGroup
}

func (r *simRun) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf("%s: ", time.Since(r.start))+fmt.Sprintf(format, args...))
}

// run returns what went wrong. The clock is a bubble's.
func (s simulation) run(t *testing.T, mutant string) []string {
	r := &simRun{simulation: s, world: newMemory(s.Stands, simTTL), start: time.Now(),
		granted: map[election.Firing]string{}, tokens: map[uint64]string{}}
	r.world.mutant = mutant
	for i := range s.Nodes {
		r.nodes = append(r.nodes, &simNode{number: i})
		r.begin(r.nodes[i])
	}
	faults := s.Faults
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		at := now.Sub(r.start)
		for len(faults) > 0 && faults[0].At <= at {
			r.strike(faults[0])
			faults = faults[1:]
		}
		r.watch()
		if at%time.Second < 50*time.Millisecond {
			r.fire(now.Truncate(time.Second), at)
		}
		if at >= simLength {
			break
		}
	}
	r.heal(t)
	return r.wrong
}

// begin starts a new process at a node.
func (r *simRun) begin(n *simNode) {
	r.lives++
	n.store = r.world.open(n.number)
	n.store.who.InstanceID = fmt.Sprintf("%032x", r.lives)
	n.store.before, n.store.after, n.store.late, n.store.slow = r.Before, r.After, r.Late, r.Slow
	start := r.start
	now := time.Now
	if n.number == r.Hour {
		now = func() time.Time { return time.Now().Add(time.Hour) }
	}
	m, err := New(Config{Backend: "memory", Identity: n.store.who, JobSetID: "v1:a", Timing: simTiming(), Store: n.store,
		Now: now, Clock: r.clock(start)})
	if err != nil {
		r.fail("%v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.m, n.kill, n.began = m, cancel, make(chan struct{})
	began := n.began
	r.claims.Go(func() {
		defer close(began)
		if err := m.Start(ctx); err != nil {
			r.fail("%v", err)
		}
	})
	synctest.Wait()
}

// clock is the steady clock of the processes.
func (r *simRun) clock(start time.Time) func() time.Duration {
	if r.world.mutant == "slow clock" {
		return func() time.Duration { return time.Since(start) / 2 }
	}
	return func() time.Duration { return time.Since(start) }
}

// strike lets a fault begin, and end.
func (r *simRun) strike(f simFault) {
	n := r.nodes[f.Node]
	switch f.Kind {
	case "cut", "outage":
		hit := []*simNode{n}
		if f.Kind == "outage" {
			hit = r.nodes
		}
		for _, n := range hit {
			store := n.store
			store.setCut(true)
			r.claims.Go(func() {
				<-time.After(f.Last)
				store.setCut(false)
			})
		}
	case "stop", "kill":
		old, store, began := n.m, n.store, n.began
		if f.Kind == "kill" {
			store.setCut(true) // it does nothing any more
		}
		r.claims.Go(func() {
			<-began
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			_ = old.Stop(ctx) // its store may be out of reach
		})
		r.begin(n)
	}
}

func (s *memoryStore) setCut(cut bool) {
	s.line.Lock()
	defer s.line.Unlock()
	s.cut = cut
}

// watch checks that no two processes take themselves for the leader.
func (r *simRun) watch() {
	var leaders []string
	for _, n := range r.nodes {
		if v := n.m.View(); v != nil && v.IsLeader() {
			leaders = append(leaders, n.store.who.NodeName)
		}
	}
	if len(leaders) > 1 {
		r.fail("%v lead at once", leaders)
	}
}

// fire lets every node that leads claim the firings of an instant, and the late ones.
func (r *simRun) fire(instant time.Time, at time.Duration) {
	var firings []election.Firing
	for _, job := range []string{"a", "b"} {
		for late := range 3 {
			firings = append(firings, election.Firing{Job: job, At: instant.Add(-time.Duration(2-late) * time.Second).UTC()})
		}
	}
	for _, n := range r.nodes {
		m, who := n.m, n.store.who
		// Some act on a view that is not new any more.
		delay := time.Duration(0)
		if (int(at/time.Second)+n.number)%3 == 0 {
			delay = 900 * time.Millisecond
		}
		if v := m.View(); v == nil || !v.IsLeader() {
			continue
		}
		r.claims.Go(func() {
			<-time.After(delay)
			r.account(who, firings, m.Claim(context.Background(), firings))
		})
	}
}

// account notes what was granted.
func (r *simRun) account(who Identity, firings []election.Firing, verdicts []election.Verdict) {
	for i, v := range verdicts {
		if v.Outcome != election.Granted {
			continue
		}
		f := firings[i]
		r.mu.Lock()
		before, known := r.granted[f]
		r.granted[f] = who.InstanceID
		had, used := r.tokens[v.Token]
		r.tokens[v.Token] = who.InstanceID
		r.mu.Unlock()
		if known && before != who.InstanceID {
			r.fail("%v was granted to %s and to %s", f, before, who.InstanceID)
		}
		if used && had != who.InstanceID {
			r.fail("token %d was used by %s and by %s", v.Token, had, who.InstanceID)
		}
		if v.Token == 0 {
			r.fail("%v was granted without a token", f)
		}
	}
}

// heal ends all faults: somebody must lead, everybody agree on who, and what is due then
// must be granted.
func (r *simRun) heal(t *testing.T) {
	for _, n := range r.nodes {
		n.store.line.Lock()
		n.store.before, n.store.after, n.store.late, n.store.cut = 0, 0, 0, false
		n.store.line.Unlock()
	}
	r.claims.Wait()
	r.world.onTheWay.Wait()
	<-time.After(3 * simTTL)
	leaders := map[string]bool{}
	var leader *simNode
	for _, n := range r.nodes {
		v := n.m.View()
		leaders[v.Leader()] = true
		if v.IsLeader() {
			leader = n
		}
	}
	if leader == nil || len(leaders) != 1 {
		r.fail("after all faults, the leaders are %v", slices.Sorted(maps.Keys(leaders)))
	} else {
		f := []election.Firing{{Job: "last", At: time.Now().UTC().Truncate(time.Second)}}
		v := leader.m.Claim(t.Context(), f)
		if v[0].Outcome != election.Granted || v[0].Token == 0 {
			r.fail("after all faults, a claim came to %+v", v[0])
		}
	}
	for _, wrong := range r.world.stale {
		r.fail("%s", wrong)
	}
	if !slices.IsSorted(r.world.tokens) {
		r.fail("tokens did not grow: %v", r.world.tokens)
	}
	for _, n := range r.nodes {
		if err := n.m.Stop(t.Context()); err != nil {
			r.fail("stop: %v", err)
		}
		n.kill()
	}
}

// Whatever happens to the nodes and on the way to the store, no two nodes act as the
// leader at once, no firing is given to two, and in the end somebody leads.
func TestSimulation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSimulation(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = s.run(t, "") })
		if len(wrong) > 0 {
			rt.Fatalf("%+v\n%s", s, strings.Join(wrong, "\n"))
		}
	})
}

// The simulation finds what it is there to find: each broken rule within a few runs.
func TestSimulationFindsMutants(t *testing.T) {
	for _, mutant := range []string{"claims without proof", "claims forgotten", "takes over early", "slow clock", "indexes restart"} {
		t.Run(mutant, func(t *testing.T) {
			scenarios := rapid.Custom(drawSimulation)
			for seed := range 300 {
				s := scenarios.Example(seed)
				var wrong []string
				synctest.Test(t, func(t *testing.T) { wrong = s.run(t, mutant) })
				if len(wrong) > 0 {
					t.Logf("found in run %d: %s", seed+1, wrong[0])
					return
				}
			}
			t.Error("not found in 300 runs")
		})
	}
}
