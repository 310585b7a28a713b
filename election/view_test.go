package election

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// converged returns the view of node me in a cluster of the given names in which all
// see each other. change, if any, alters the state before the view is computed.
func converged(me string, names []string, change func(*State)) *View {
	s := State{
		Backend: "gossip", NodeName: me, InstanceID: "i-" + me, JobSetID: "v1:same",
		ElectLeader: true, Distribution: SingleLeader, ConfiguredSize: len(names), Rounds: 10,
	}
	var members []Member
	for _, name := range names {
		members = append(members, Member{NodeName: name, InstanceID: "i-" + name, Agreed: true})
	}
	for _, name := range names {
		if name == me {
			continue
		}
		elect := true
		s.Peers = append(s.Peers, Peer{
			Host: name + ":1", Status: StatusAgreed, NodeName: name, InstanceID: "i-" + name, JobSetID: "v1:same",
			Members: members, MutualAgreeing: others(names, name), QuorateVouched: others(names, name),
			DeclaredSize: len(names), DeclaredPolicy: SingleLeader, DeclaredElectLeader: &elect,
		})
	}
	if change != nil {
		change(&s)
	}
	return NewView(s)
}

func others(names []string, but string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == but })
}

var abc = []string{"yacron-a", "yacron-b", "yacron-c"}

// spread makes a converged state, told policies included, one with owners per job.
func spread(s *State) {
	s.Distribution = Spread
	for i := range s.Peers {
		s.Peers[i].DeclaredPolicy = Spread
	}
}

func TestViewOwnersOfTheWorkedExample(t *testing.T) {
	for job, want := range map[string]string{"tick-leader-only": "yacron-c", "tick-prefer-leader": "yacron-b"} {
		for _, me := range abc {
			v := converged(me, abc, spread)
			if got := v.JobOwner(job); got != want {
				t.Errorf("%s: owner of %s = %q, want %q", me, job, got, want)
			}
			if got := v.AvailableOwner(job); got != want {
				t.Errorf("%s: available owner of %s = %q, want %q", me, job, got, want)
			}
			if v.IsJobOwner(job) != (me == want) || v.IsAvailableOwner(job) != (me == want) {
				t.Errorf("%s: takes itself for the owner of %s: %v, %v", me, job, v.IsJobOwner(job), v.IsAvailableOwner(job))
			}
		}
	}
}

func TestViewOfAloneNode(t *testing.T) {
	v := NewView(State{NodeName: "a", InstanceID: "i", ElectLeader: true, ConfiguredSize: 1})
	if !v.Quorate() || !v.IsLeader() || v.Size() != 1 || v.Quorum() != 1 || !v.Settled() || !v.IsAvailableLeader() {
		t.Fatalf("quorate %v, leads %v, size %d, quorum %d", v.Quorate(), v.IsLeader(), v.Size(), v.Quorum())
	}
}

func TestViewLeavesStoppingNodesOut(t *testing.T) {
	stopping := func(s *State) {
		s.Stopping = s.NodeName == "yacron-a"
		for i := range s.Peers {
			s.Peers[i].Stopping = s.Peers[i].NodeName == "yacron-a"
		}
	}
	for _, me := range abc {
		v := converged(me, abc, stopping)
		if v.Leader() != "yacron-b" || v.AvailableLeader() != "yacron-b" {
			t.Errorf("%s: leader %q, available leader %q; want yacron-b", me, v.Leader(), v.AvailableLeader())
		}
		if v.IsLeader() != (me == "yacron-b") || v.IsAvailableLeader() != (me == "yacron-b") {
			t.Errorf("%s: leads %v, available %v", me, v.IsLeader(), v.IsAvailableLeader())
		}
		if !v.Quorate() || len(v.MutualAgreeing()) != 2 || v.Size() != 3 {
			t.Errorf("%s: a stopping node does not count for the quorum any more: %v", me, v.MutualAgreeing())
		}
		if slices.Contains(v.Eligible(), "yacron-a") {
			t.Errorf("%s vouches for a stopping node", me)
		}
		v = converged(me, abc, func(s *State) { spread(s); stopping(s) })
		for _, job := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			if v.JobOwner(job) == "yacron-a" || v.AvailableOwner(job) == "yacron-a" {
				t.Errorf("%s: %s is owned by a stopping node", me, job)
			}
		}
	}
}

func TestViewStoppingNodeIsNoContender(t *testing.T) {
	// yacron-c is out of this node's reach and stopping; yacron-b still agrees with it.
	gone := func(s *State) {
		for i := range s.Peers {
			if s.Peers[i].NodeName == "yacron-c" {
				s.Peers[i] = Observe(s.Peers[i], Self{}, Observation{Failure: &Failure{}})
				s.Peers[i].Stopping = true
			}
		}
	}
	v := converged("yacron-a", abc, gone)
	for _, set := range [][]string{v.BridgeCandidates(), v.Eligible(), v.UnconfirmedContenders(), v.AvailableContenders()} {
		if slices.Contains(set, "yacron-c") {
			t.Errorf("a stopping node is still in %v", set)
		}
	}
	// The node comes back as another process: it counts again.
	v = converged("yacron-a", abc, nil)
	if !slices.Contains(v.Eligible(), "yacron-c") {
		t.Error("a node that came back is not eligible")
	}
}

func TestViewHearsThatANodeOutOfReachStops(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	unreachable := func(s *State, name string) {
		for i := range s.Peers {
			if s.Peers[i].NodeName == name {
				s.Peers[i] = Observe(s.Peers[i], Self{}, Observation{Failure: &Failure{}})
			}
		}
	}
	// c sees b, d and e; they all see a, which c can't reach.
	if v := converged("c", names, func(s *State) { unreachable(s, "a") }); v.Leader() != "a" || v.AvailableLeader() != "a" {
		t.Fatalf("leader %q, available leader %q; want the bridged a", v.Leader(), v.AvailableLeader())
	}
	tell := func(s *State, teller string) {
		for i := range s.Peers {
			if s.Peers[i].NodeName == teller {
				s.Peers[i].Members = slices.Clone(s.Peers[i].Members)
				s.Peers[i].Members[0].Stopping = true // a's entry
			}
		}
	}
	for _, teller := range []string{"b", "d", "e"} { // one of them is up to date
		v := converged("c", names, func(s *State) { tell(s, teller); unreachable(s, "a") })
		if v.Leader() != "b" || v.AvailableLeader() != "b" {
			t.Errorf("%s tells that a stops: leader %q, available leader %q", teller, v.Leader(), v.AvailableLeader())
		}
	}
	// What a tells itself counts more.
	if v := converged("c", names, func(s *State) { tell(s, "b"); tell(s, "d") }); v.Leader() != "a" {
		t.Errorf("leader %q: others talked a out of it", v.Leader())
	}
	// It comes back as another process, and d has met that.
	v := converged("c", names, func(s *State) {
		tell(s, "b")
		unreachable(s, "a")
		for i := range s.Peers {
			if s.Peers[i].NodeName == "d" {
				s.Peers[i].Members = append([]Member{{NodeName: "a", InstanceID: "i-new", Agreed: true}}, s.Peers[i].Members[1:]...)
			}
		}
	})
	if v.Leader() != "a" {
		t.Errorf("leader %q: a is back", v.Leader())
	}
}

func TestViewNamesakeOfAStoppingNodeStaysElectable(t *testing.T) {
	v := converged("yacron-b", abc, func(s *State) {
		for i := range s.Peers {
			s.Peers[i].Stopping = s.Peers[i].NodeName == "yacron-a"
		}
		s.Peers = append(s.Peers, Peer{
			Host: "new-a:1", Status: StatusAgreed, NodeName: "yacron-a", InstanceID: "i-new", JobSetID: "v1:same",
			MutualAgreeing: []string{"yacron-b", "yacron-c"},
		})
		s.ConfiguredSize = 4
		for i := range s.Peers {
			s.Peers[i].DeclaredSize = 4
		}
	})
	if v.Leader() != "yacron-a" {
		t.Fatalf("leader %q, want the yacron-a that goes on", v.Leader())
	}
}

func TestViewStoppingLoneNodeHasNoSuccessor(t *testing.T) {
	v := NewView(State{NodeName: "a", InstanceID: "i", ElectLeader: true, ConfiguredSize: 1, Stopping: true})
	if v.Leader() != "" || v.AvailableLeader() != "" || v.IsLeader() || v.IsAvailableLeader() {
		t.Fatalf("leader %q, available leader %q", v.Leader(), v.AvailableLeader())
	}
}

func TestViewClaimSizeOutlivesADNSFlip(t *testing.T) {
	v := converged("yacron-a", abc, func(s *State) { s.Peers[1].InstanceID = s.Peers[0].InstanceID })
	if v.Size() != 2 || v.ClaimSize() != 3 {
		t.Fatalf("two rows of one instance: size %d, claim size %d; want 2 and 3", v.Size(), v.ClaimSize())
	}
	if !slices.Equal(v.ConflictingSizes(), []int{3}) {
		t.Fatalf("conflicting sizes %v, want the 3 that the peer declares", v.ConflictingSizes())
	}
	v = converged("yacron-a", abc, func(s *State) { s.Peers[1].Status = StatusSelf })
	if v.Size() != 2 || v.ClaimSize() != 2 {
		t.Fatalf("a self row: size %d, claim size %d; want 2 and 2", v.Size(), v.ClaimSize())
	}
}

func TestViewConflictNeedsTwoTellersOrOwnSight(t *testing.T) {
	ghost := Member{NodeName: "yacron-z", InstanceID: "i-z1"}
	twin := Member{NodeName: "yacron-z", InstanceID: "i-z2"}
	tell := func(s *State, i int, members ...Member) {
		s.Peers[i].Members = append(slices.Clone(s.Peers[i].Members), members...)
	}
	for _, c := range []struct {
		what   string
		change func(*State)
		want   bool
	}{
		{"one teller of both", func(s *State) { tell(s, 0, ghost, twin) }, false},
		{"each told once", func(s *State) { tell(s, 0, ghost); tell(s, 1, twin) }, false},
		{"both told twice", func(s *State) { tell(s, 0, ghost, twin); tell(s, 1, ghost, twin) }, true},
		{"one instance told twice", func(s *State) { tell(s, 0, ghost); tell(s, 1, ghost) }, false},
		{"the same peer twice", func(s *State) { tell(s, 0, ghost, twin, ghost, twin) }, false},
		{"one row, seen as two hosts", func(s *State) {
			tell(s, 0, ghost, twin)
			s.Peers[1] = s.Peers[0]
		}, false},
		{"my name, told twice", func(s *State) {
			m := Member{NodeName: "yacron-a", InstanceID: "i-other"}
			tell(s, 0, m)
			tell(s, 1, m)
		}, true},
		{"my name, told once", func(s *State) { tell(s, 0, Member{NodeName: "yacron-a", InstanceID: "i-other"}) }, false},
		{"my name, met", func(s *State) {
			s.Peers[0].Status, s.Peers[0].NodeName = StatusConflict, "yacron-a"
		}, true},
		{"a dead peer's word", func(s *State) {
			tell(s, 0, ghost, twin)
			tell(s, 1, ghost, twin)
			s.Peers[1].Status = StatusUnreachable
		}, false},
	} {
		if got := len(converged("yacron-a", abc, c.change).ConflictNames()) > 0; got != c.want {
			t.Errorf("%s: conflict %v, want %v", c.what, got, c.want)
		}
	}
}

func TestViewConflictsWith(t *testing.T) {
	v := converged("yacron-a", abc, func(s *State) { s.Peers[0].DeclaredSize = 5 })
	if !v.ConflictsWith("i-yacron-b") || v.ConflictsWith("i-yacron-c") || v.ConflictsWith("i-yacron-a") {
		t.Error("a size conflict must touch the peer that declares it, and it alone")
	}
	v = converged("yacron-a", abc, func(s *State) {
		s.Peers[1].Status, s.Peers[1].NodeName = StatusConflict, "yacron-a"
	})
	if !v.ConflictsWith("i-yacron-c") || v.ConflictsWith("i-yacron-b") || v.ConflictsWith("i-yacron-a") {
		t.Error("a name conflict must touch the namesakes, and them alone")
	}
	no := false
	v = converged("yacron-a", abc, func(s *State) {
		s.Peers[1].DeclaredPolicy, s.Peers[1].DeclaredElectLeader = Spread, &no
	})
	want := []string{"distribution 'spread' != 'single-leader'", "electLeader False != True"}
	if !v.ConflictsWith("i-yacron-c") || !slices.Equal(v.ConflictingPolicies(), want) {
		t.Errorf("policies %q, want %q", v.ConflictingPolicies(), want)
	}
}

func TestViewTwinRunsInsteadOfTheHigherInstance(t *testing.T) {
	twin := func(id string, mutual ...string) func(*State) {
		return func(s *State) {
			s.Peers[0].Status, s.Peers[0].NodeName, s.Peers[0].InstanceID = StatusConflict, "yacron-a", id
			s.Peers[0].MutualAgreeing = mutual
		}
	}
	if converged("yacron-a", abc, twin("h-lower", "yacron-c")).IsAvailableLeader() {
		t.Error("both namesakes run PreferLeader jobs")
	}
	if !converged("yacron-a", abc, twin("j-higher", "yacron-c")).IsAvailableLeader() {
		t.Error("no namesake runs PreferLeader jobs")
	}
	if !converged("yacron-a", abc, twin("h-lower", "aardvark")).IsAvailableLeader() {
		t.Error("the lower namesake defers to another node, so this one must run")
	}
}

func TestViewLease(t *testing.T) {
	lease := func(l Lease, stopping bool) *View {
		return NewView(State{Backend: "etcd", NodeName: "a", InstanceID: "i", Stopping: stopping, Lease: &l})
	}
	for _, c := range []struct {
		what                    string
		v                       *View
		leader                  string
		leads, quorate, prefers bool
	}{
		{"holder", lease(Lease{Fresh: true, Leading: true, Own: true, Holder: "a"}, false), "a", true, true, true},
		{"follower", lease(Lease{Fresh: true, Holder: "b"}, false), "b", false, true, false},
		{"nobody holds", lease(Lease{Fresh: true}, false), "", false, true, true},
		{"store gone", lease(Lease{Holder: "b"}, false), "", false, false, true},
		{"own deadline passed", lease(Lease{Fresh: true, Own: true, Holder: "a"}, false), "a", false, true, true},
		{"a namesake holds", lease(Lease{Fresh: true, Holder: "a"}, false), "a", false, true, false},
		{"stopping holder", lease(Lease{Fresh: true, Leading: true, Own: true, Holder: "a"}, true), "a", false, true, false},
		{"stopping, store gone", lease(Lease{}, true), "", false, false, false},
	} {
		v := c.v
		if v.Leader() != c.leader || v.IsLeader() != c.leads || v.Quorate() != c.quorate || v.IsAvailableLeader() != c.prefers {
			t.Errorf("%s: leader %q leads %v quorate %v prefers %v; want %q %v %v %v", c.what,
				v.Leader(), v.IsLeader(), v.Quorate(), v.IsAvailableLeader(), c.leader, c.leads, c.quorate, c.prefers)
		}
		if v.JobOwner("x") != v.Leader() || v.IsJobOwner("x") != v.IsLeader() ||
			v.AvailableOwner("x") != v.AvailableLeader() || v.IsAvailableOwner("x") != v.IsAvailableLeader() {
			t.Errorf("%s: a job has another owner than the leader", c.what)
		}
		if v.Size() != 1 || v.Quorum() != 1 || v.Conflict() || len(v.Peers()) != 0 || !v.Settled() ||
			!v.ElectLeader() || v.Distribution() != SingleLeader {
			t.Errorf("%s: not the shape of a lease view: %+v", c.what, v)
		}
	}
}

func TestViewReport(t *testing.T) {
	v := converged("yacron-a", abc, func(s *State) {
		s.Peers[0].Stopping = true
		s.Peers[1].Status = StatusSyncing
		s.Peers = append(s.Peers,
			Peer{Host: "x:1", Status: StatusUnreachable, NodeName: "x", InstanceID: "i-x"},
			Peer{Host: "y:1", Status: StatusUnknown},
			Peer{Host: "me:1", Status: StatusSelf, NodeName: "yacron-a", InstanceID: "i-yacron-a"})
	})
	r := v.Report([]string{"warm"})
	want := []Member{
		{NodeName: "yacron-a", InstanceID: "i-yacron-a", Agreed: true},
		{NodeName: "yacron-b", InstanceID: "i-yacron-b", Agreed: true, Stopping: true},
		{NodeName: "yacron-c", InstanceID: "i-yacron-c"},
	}
	if !slices.Equal(r.Members, want) {
		t.Errorf("members %v, want %v", r.Members, want)
	}
	if r.NodeName != "yacron-a" || r.InstanceID != "i-yacron-a" || r.JobSetID != "v1:same" || r.Size != v.Size() ||
		r.Policy != SingleLeader || r.ElectLeader == nil || !*r.ElectLeader || r.Stopping ||
		!slices.Equal(r.MutualAgreeing, v.MutualAgreeing()) || !slices.Equal(r.QuorateVouched, v.Eligible()) ||
		!slices.Equal(r.RanRebootJobs, []string{"warm"}) {
		t.Errorf("report %+v", r)
	}
}

func TestViewTakesBoundedPartsOfHugeLists(t *testing.T) {
	huge := make([]string, 100_000)
	members := make([]Member, len(huge))
	for i := range huge {
		huge[i] = fmt.Sprintf("node-%06d", i)
		members[i] = Member{NodeName: huge[i], InstanceID: huge[i], Agreed: true}
	}
	v := converged("yacron-a", abc, func(s *State) {
		s.Peers[0].MutualAgreeing, s.Peers[0].QuorateVouched, s.Peers[0].Members = huge, huge, members
	})
	if n := len(v.AvailableContenders()); n == 0 || n > maxTold {
		t.Errorf("%d available contenders, want at most %d", n, maxTold)
	}
	if n := len(v.UnconfirmedContenders()); n > maxTold {
		t.Errorf("%d unconfirmed contenders, want at most %d", n, maxTold)
	}
}

func TestRendezvousMovesOnlyTheJobsOfANodeThatGoes(t *testing.T) {
	nodes := []string{"a", "b", "c", "d", "e"}
	share := make(map[string]int)
	for i := range 5000 {
		job := fmt.Sprintf("job-%d", i)
		owner := rendezvous(job, nodes)
		share[owner]++
		for _, gone := range nodes {
			if after := rendezvous(job, others(nodes, gone)); gone != owner && after != owner {
				t.Fatalf("%s moved from %s to %s when %s went", job, owner, after, gone)
			}
		}
	}
	for _, n := range nodes {
		if share[n] < 800 || share[n] > 1200 {
			t.Errorf("%s owns %d of 5000 jobs", n, share[n])
		}
	}
}

func TestRendezvousLongNames(t *testing.T) {
	// Names beyond the stack buffer must hash like any other.
	job, a, b := strings.Repeat("j", 200), strings.Repeat("a", 300), strings.Repeat("b", 300)
	first, second := score([]byte(job+"\x00"+a)), score([]byte(job+"\x00"+b))
	want := a
	if second > first {
		want = b
	}
	if got := rendezvous(job, []string{a, b}); got != want {
		t.Error("another winner than by the definition")
	}
	if got := rendezvous(job, []string{b, a}); got != want {
		t.Error("the winner depends on the order")
	}
}
