package gossip

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// agreed starts a, b and c and waits until they agree. change applies to all.
func agreed(t testing.TB, change ...func(*Config)) *testCluster {
	t.Helper()
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, append([]func(*Config){rarely}, change...)...)
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	return c
}

// unfenced returns the first whole second that no voter fences, and waits until it may
// be voted on.
func unfenced(t testing.TB) time.Time {
	t.Helper()
	at := time.Now().Add(election.ClockSkew + time.Second).Truncate(time.Second)
	wait(t, "the instant may be voted on", func() bool { return time.Until(at) < election.ClockSkew-100*time.Millisecond })
	return at
}

// batch returns n firings of one instant, with the names of their jobs.
func batch(at time.Time, n int) (firings []election.Firing, jobs []string) {
	for i := range n {
		job := fmt.Sprintf("job-%04d", i)
		jobs = append(jobs, job)
		firings = append(firings, election.Firing{Job: job, At: at})
	}
	return firings, jobs
}

// Whoever believes to own the firings, each is granted to one node at most; alone, a
// claimant is granted all of them.
func TestClaimOnce(t *testing.T) {
	_, jobs := batch(time.Time{}, 1000)
	c := agreed(t, func(c *Config) { c.LeaderJobs = jobs })
	at := unfenced(t)

	firings, _ := batch(at, 1000)
	for i, v := range c.nodes["b"].Claim(context.Background(), firings) {
		if v.Outcome != election.Granted || v.Token != 0 || v.RunningOn != "" {
			t.Fatalf("%v: %+v", firings[i], v)
		}
	}
	for i, v := range c.nodes["c"].Claim(context.Background(), firings) {
		if v.Outcome != election.Denied || v.Holder != "b" || v.Reason == "" {
			t.Fatalf("%v claimed again by another: %+v", firings[i], v)
		}
	}

	contested, _ := batch(at.Add(time.Millisecond), 300)
	var mu sync.Mutex
	granted := make(map[string]string)
	var wg sync.WaitGroup
	for h, n := range c.nodes {
		wg.Go(func() {
			for i, v := range n.Claim(context.Background(), contested) {
				if v.Outcome != election.Granted {
					continue
				}
				mu.Lock()
				if other := granted[contested[i].Job]; other != "" {
					t.Errorf("%v granted to %s and %s", contested[i], other, h)
				}
				granted[contested[i].Job] = h
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d contested firings were granted", len(granted), len(contested))
}

// A firing that a voter can't grant says why.
func TestClaimRefusals(t *testing.T) {
	t.Parallel()
	c := agreed(t)
	a := c.nodes["a"]
	at := unfenced(t)
	for _, test := range []struct {
		what    string
		firing  election.Firing
		outcome election.Outcome
		code    election.Refusal
	}{
		{"from before the start", election.Firing{Job: "job", At: at.Add(-time.Minute)}, election.Denied, election.RefusedFenced},
		{"long ago", election.Firing{Job: "job", At: at.Add(-time.Hour)}, election.Denied, election.RefusedTooOld},
		{"in the future", election.Firing{Job: "job", At: at.Add(time.Hour)}, election.Pending, election.RefusedTooEarly},
		{"of no Leader job", election.Firing{Job: "unheard of", At: at}, election.Pending, election.RefusedNotLeader},
	} {
		if v := a.Claim(context.Background(), []election.Firing{test.firing})[0]; v.Outcome != test.outcome || v.Code != string(test.code) {
			t.Errorf("%s: %+v", test.what, v)
		}
	}
	a.SetJobSet("v1:other", []string{"job"})
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]; v.Outcome != election.Pending || v.Code != string(election.RefusedJobSet) {
		t.Errorf("under another job set: %+v", v)
	}
	a.SetJobSet("v1:same", []string{"job"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v := a.Claim(ctx, []election.Firing{{Job: "job", At: at}})[0]; v.Outcome != election.Pending {
		t.Errorf("with a context that has ended: %+v", v)
	}
	c.nodes["b"].kill()
	c.nodes["c"].kill()
	a.sees("b", election.StatusUnreachable)
	a.sees("c", election.StatusUnreachable)
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]; v.Outcome != election.Pending || v.Code != election.CodeUnanswered {
		t.Errorf("alone: %+v", v)
	}
}

// A node that does not elect gives no vote, also before it has heard who asks.
func TestNoVoteWithoutElection(t *testing.T) {
	for elect, want := range map[bool]election.Refusal{true: "", false: election.RefusedConflict} {
		c := newTestCluster(t)
		n := c.node("a", func(c *Config) { c.ElectLeader = elect }).prepare()
		r := n.View().ClaimRequest([]election.Firing{{Job: "job", At: time.Now().Add(election.ClockSkew)}}) // no fence
		r.InstanceID = newInstanceID()
		if got := n.vote(n.voterContext(true, false), r)[0].Refusal; got != want {
			t.Errorf("election %t: %q, want %q", elect, got, want)
		}
	}
}

// A majority is enough: a peer that does not answer holds nobody up.
func TestClaimSlowPeer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely)
	}
	c.nodes["c"].config.Running = func(string) bool { <-release; return false }
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	f := []election.Firing{{Job: "job", At: unfenced(t)}}
	for range 3 { // each leaves one request behind at c
		done := make(chan election.Verdict, 1)
		go func() { done <- c.nodes["a"].Claim(context.Background(), f)[0] }()
		select {
		case v := <-done:
			if v.Outcome != election.Granted {
				t.Errorf("%+v", v)
			}
		case <-time.After(requestTimeout):
			t.Fatal("the claim waited for the slow peer")
		}
	}
}

// The claim of a job that must not overlap learns where it still runs, and waits for
// that no longer than a second.
func TestClaimLearnsRunning(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	running := map[string]bool{}
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely, func(c *Config) {
			c.LeaderJobs = []string{"forbid", "allow"}
			c.NeedRunning = func(job string) bool { return job == "forbid" }
			c.Running = func(job string) bool {
				mu.Lock()
				defer mu.Unlock()
				return running[h+"/"+job]
			}
		})
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	at := unfenced(t)
	for i, where := range []string{"", "b", "c"} {
		mu.Lock()
		running = map[string]bool{where + "/forbid": true, "a/allow": true}
		mu.Unlock()
		var v []election.Verdict
		wait(t, "all have said in time what runs there", func() bool {
			v = a.Claim(context.Background(), []election.Firing{
				{Job: "forbid", At: at.Add(time.Duration(i) * time.Millisecond)}, {Job: "allow", At: at.Add(time.Duration(i) * time.Millisecond)},
			})
			return where == "" || v[0].RunningOn != ""
		})
		if v[0].Outcome != election.Granted || v[0].RunningOn != where {
			t.Errorf("running on %q: %+v", where, v[0])
		}
		if v[1].Outcome != election.Granted || v[1].RunningOn != "" {
			t.Errorf("a job that runs here only: %+v", v[1])
		}
	}
	// No reply counts as not running.
	c.wires.set("a", "c", cutSilent)
	v := a.Claim(context.Background(), []election.Firing{{Job: "forbid", At: at.Add(9 * time.Millisecond)}})[0]
	if v.Outcome != election.Granted || v.RunningOn != "" {
		t.Errorf("a silent peer: %+v", v)
	}
}

// A one-shot is granted to one node, everybody learns of it, and that outlives the node.
func TestReboot(t *testing.T) {
	c := agreed(t, func(c *Config) { c.LeaderJobs = []string{"boot"} })
	a, b, third := c.nodes["a"], c.nodes["b"], c.nodes["c"]
	claim := func(n *testNode) election.Verdict {
		return n.Claim(context.Background(), []election.Firing{{Job: "boot"}})[0]
	}
	if a.RebootRan("boot") {
		t.Error("ran before it was claimed")
	}
	if v := claim(a); v.Outcome != election.Granted {
		t.Fatalf("%+v", v)
	}
	if a.RebootRan("boot") {
		t.Error("the grant itself counts as having run elsewhere")
	}
	if v := claim(a); v.Outcome != election.Granted {
		t.Errorf("the holder asks again: %+v", v)
	}
	for _, n := range []*testNode{b, third} {
		wait(t, n.host+" knows that it ran", func() bool { return n.RebootRan("boot") })
		if v := claim(n); v.Outcome != election.Denied {
			t.Errorf("%s claims it too: %+v", n.host, v)
		}
	}
	a.kill()
	c.settled(2, "b", "b", "c")
	if v := claim(b); v.Outcome == election.Granted || !b.RebootRan("boot") {
		t.Errorf("after the death of the one that ran it: %+v", v)
	}
	a.start()
	c.settled(3, "a", "a", "b", "c")
	wait(t, "the restarted node learns that it ran", func() bool { return a.RebootRan("boot") })

	// What PreferLeader jobs did is told without a claim, and known when it returns.
	if err := b.MarkRebootRan(context.Background(), "prefer"); err != nil {
		t.Fatal(err)
	}
	for h, n := range c.nodes {
		if !n.RebootRan("prefer") {
			t.Errorf("%s does not know", h)
		}
	}
	// Another job set has other one-shots.
	for _, n := range c.nodes {
		n.SetJobSet("v1:next", []string{"boot"})
	}
	c.settled(3, "a", "a", "b", "c")
	for h, n := range c.nodes {
		if n.RebootRan("boot") || n.RebootRan("prefer") {
			t.Errorf("%s knows runs of a job set that has not run", h)
		}
	}
	wait(t, "the one-shot of the next job set is granted", func() bool { return claim(third).Outcome == election.Granted })
}

// Nobody grants a one-shot before it has heard a quorum, and an early attempt leaves no
// vote behind.
func TestRebootTooEarly(t *testing.T) {
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely, func(c *Config) { c.LeaderJobs = []string{"boot"} })
	}
	c.nodes["b"].start()
	b := c.nodes["b"]
	b.sees("a", election.StatusUnreachable)
	if v := b.Claim(context.Background(), []election.Firing{{Job: "boot"}})[0]; v.Outcome != election.Pending {
		t.Errorf("alone: %+v", v)
	}
	c.startAll("a", "c")
	c.settled(3, "a", "a", "b", "c")
	wait(t, "the leader is granted it", func() bool {
		return c.nodes["a"].Claim(context.Background(), []election.Firing{{Job: "boot"}})[0].Outcome == election.Granted
	})
}

// memoryStore is a VoteStore that can fail.
type memoryStore struct {
	mu     sync.Mutex
	votes  []election.Vote
	known  bool
	fail   error
	writes int
	pruned election.Pruning
}

func (s *memoryStore) Load() ([]election.Vote, time.Time, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.votes, time.Time{}, s.known, s.fail
}

func (s *memoryStore) Append(votes []election.Vote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.votes = append(s.votes, votes...)
	s.writes++
	return nil
}

func (s *memoryStore) Prune(p election.Pruning) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned = p
	return s.fail
}

// A vote that can't be made durable is no vote; one that was is kept over a restart,
// and needs no fence then.
func TestDurableVotes(t *testing.T) {
	stores := map[string]*memoryStore{}
	voter := func(h string) *Voter {
		v, err := NewVoter(stores[h])
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		stores[h] = &memoryStore{known: true}
		c.node(h, rarely, func(c *Config) { c.Voter = voter(h) })
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	at := time.Now().Truncate(time.Second).Add(-30 * time.Second) // no fence
	ask := func(h string, at time.Time) election.Verdict {
		return c.nodes[h].Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]
	}
	if v := ask("a", at); v.Outcome != election.Granted {
		t.Fatalf("%+v", v)
	}
	for _, h := range []string{"a", "b", "c"} {
		c.nodes[h].kill()
		c.nodes[h].config.Voter = voter(h)
		c.nodes[h].start()
	}
	c.settled(3, "a", "a", "b", "c")
	if v := ask("b", at); v.Outcome == election.Granted {
		t.Errorf("granted again after a restart of everybody: %+v", v)
	}
	full := errors.New("no space left on device")
	for _, h := range []string{"a", "b", "c"} {
		stores[h].mu.Lock()
		stores[h].fail = full
		stores[h].mu.Unlock()
	}
	if v := ask("a", at.Add(time.Second)); v.Outcome == election.Granted || v.Code != string(election.RefusedStorage) {
		t.Errorf("granted without a durable vote: %+v", v)
	}
	if _, err := NewVoter(stores["a"]); !errors.Is(err, full) {
		t.Errorf("a store that can't be read: %v", err)
	}
}

// A voter shared by successive managers remembers.
func TestSharedVoter(t *testing.T) {
	c := agreed(t)
	b := c.nodes["b"]
	at := unfenced(t)
	voter := b.voter
	b.kill()
	b.config.Voter, b.config.InstanceID = voter, b.InstanceID()
	b.start()
	c.settled(3, "a", "a", "b", "c")
	f := []election.Firing{{Job: "job", At: at}}
	if v := c.nodes["a"].Claim(context.Background(), f)[0]; v.Outcome != election.Granted {
		t.Fatalf("%+v", v)
	}
	c.nodes["c"].kill()
	b.kill()
	b.start() // the same process, once more
	c.settled(2, "a", "a", "b")
	if v := b.Claim(context.Background(), f)[0]; v.Outcome == election.Granted {
		t.Errorf("granted to the same voter's node: %+v", v)
	}
	// Its news is followed although it counts versions anew.
	b.SetJobSet("v1:other", nil)
	c.nodes["a"].sees("b", election.StatusSyncing)
}

func TestSplitClaim(t *testing.T) {
	at := time.Now().UTC()
	count := func(parts [][]election.Firing) (n int) {
		for _, p := range parts {
			n += len(p)
		}
		return n
	}
	long := strings.Repeat("\u00e9", maxJobLen)
	var wide []election.Firing
	for range 3000 {
		wide = append(wide, election.Firing{Job: long, At: at})
	}
	many, _ := batch(at, election.MaxFirings+1)
	some, _ := batch(at, 1000)
	for _, test := range []struct {
		firings []election.Firing
		parts   int
	}{{nil, 0}, {some, 1}, {many, 2}, {wide, 4}} {
		parts := splitClaim(test.firings)
		if count(parts) != len(test.firings) || len(parts) != test.parts {
			t.Errorf("%d firings in %d parts, want %d", len(test.firings), len(parts), test.parts)
		}
		for _, p := range parts {
			c := &wireClaim{Firings: groupFirings(p)}
			if err := writeMessage(new(strings.Builder), &request{Type: typeClaim, Claim: c}); err != nil {
				t.Error(err)
			}
			back, err := c.firings()
			if err != nil || len(back) != len(p) || back[0].Job != p[0].Job || !back[0].At.Equal(p[0].At) {
				t.Errorf("not the same on the other end: %v", err)
			}
		}
	}
}
