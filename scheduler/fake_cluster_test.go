package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/yacron2/yacron2/election"
)

// fakeCoordinator answers claims as the test says.
type fakeCoordinator struct {
	updates chan struct{}

	mu     sync.Mutex
	view   *election.View
	answer func(election.Firing) election.Verdict
	wait   time.Duration // before a claim is answered
	asked  []election.Firing
	calls  int
	ran    map[string]bool
	marks  []string
	fail   error // of MarkRebootRan
}

var _ Coordinator = (*fakeCoordinator)(nil)

func newFakeCoordinator(v *election.View) *fakeCoordinator {
	return &fakeCoordinator{
		updates: make(chan struct{}, 1), view: v, ran: map[string]bool{},
		answer: func(election.Firing) election.Verdict { return election.Verdict{Outcome: election.Granted} },
	}
}

func (c *fakeCoordinator) Start(context.Context) error  { return nil }
func (c *fakeCoordinator) Resign(context.Context) error { return nil }
func (c *fakeCoordinator) Stop(context.Context) error   { return nil }
func (c *fakeCoordinator) Updates() <-chan struct{}     { return c.updates }

func (c *fakeCoordinator) View() *election.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

func (c *fakeCoordinator) set(v *election.View) {
	c.mu.Lock()
	c.view = v
	c.mu.Unlock()
	select {
	case c.updates <- struct{}{}:
	default:
	}
}

func (c *fakeCoordinator) answers(f func(election.Firing) election.Verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

func (c *fakeCoordinator) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	c.mu.Lock()
	c.calls++
	c.asked = append(c.asked, firings...)
	answer, wait := c.answer, c.wait
	c.mu.Unlock()
	if wait > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	verdicts := make([]election.Verdict, len(firings))
	for i, f := range firings {
		verdicts[i] = answer(f)
	}
	return verdicts
}

// askedFor lists how often each instant of a job was asked for, in the order asked.
func (c *fakeCoordinator) askedFor(job string) (at []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.asked {
		if f.Job == job {
			at = append(at, f.At.Format("15:04:05"))
		}
	}
	return at
}

func (c *fakeCoordinator) RebootRan(job string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[job]
}

func (c *fakeCoordinator) MarkRebootRan(_ context.Context, job string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.marks = append(c.marks, job)
	c.ran[job] = true
	return nil
}

// The nodes of the test cluster are a, b and c; the tests are b.
const me = "b"

// clusterOf returns b's view of the three: what is named in gone is unreachable since
// the instant, and what is named in stopping hands over.
func clusterOf(lastSeen time.Time, gone, stopping []string) *election.View {
	members := func() (m []election.Member) {
		for _, n := range []string{"a", "b", "c"} {
			m = append(m, election.Member{NodeName: n, InstanceID: "i" + n, Agreed: true})
		}
		return m
	}
	s := election.State{
		Backend: "gossip", NodeName: me, InstanceID: "i" + me, JobSetID: "v1:x", ElectLeader: true,
		Distribution: election.SingleLeader, ConfiguredSize: 3, Rounds: 10,
	}
	for _, n := range []string{"a", "c"} {
		p := election.Peer{Host: n + ":1", NodeName: n, InstanceID: "i" + n, LastSeen: lastSeen, JobSetID: "v1:x"}
		if slices.Contains(gone, n) {
			p.Status = election.StatusUnreachable
		} else {
			p.Status = election.StatusAgreed
			p.Members = members()
			p.MutualAgreeing = slices.DeleteFunc([]string{"a", "b", "c"}, func(x string) bool { return x == n || slices.Contains(gone, x) })
			p.QuorateVouched = p.MutualAgreeing
			p.DeclaredSize, p.DeclaredPolicy = 3, election.SingleLeader
			p.Stopping = slices.Contains(stopping, n)
		}
		s.Peers = append(s.Peers, p)
	}
	return election.NewView(s)
}

// following is b's view while a leads, leading while a is gone, alone without quorum.
func following() *election.View                    { return clusterOf(time.Now(), nil, nil) }
func leading(lastSeenOfA time.Time) *election.View { return clusterOf(lastSeenOfA, []string{"a"}, nil) }
func alone(lastSeen time.Time) *election.View      { return clusterOf(lastSeen, []string{"a", "c"}, nil) }

// conflicted is b's view as the leader while a peer declares another size.
func conflicted() *election.View {
	s := leading(time.Now()).State()
	s.Peers = slices.Clone(s.Peers)
	for i := range s.Peers {
		if s.Peers[i].NodeName == "c" {
			s.Peers[i].DeclaredSize = 5
		}
	}
	return election.NewView(s)
}
