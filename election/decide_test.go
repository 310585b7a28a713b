package election

import (
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	lead := converged("yacron-a", abc, nil)
	follow := converged("yacron-b", abc, nil)
	noQuorum := converged("yacron-a", abc, func(s *State) {
		for i := range s.Peers {
			s.Peers[i] = Observe(s.Peers[i], Self{}, Observation{Failure: &Failure{Text: "refused"}})
		}
	})
	conflict := converged("yacron-a", abc, func(s *State) { s.Peers[0].DeclaredSize = 5 })
	held := converged("yacron-a", abc, func(s *State) { s.Peers[0] = Peer{Host: "b:1", Status: StatusUnknown} })
	twin := converged("yacron-a", abc, func(s *State) {
		s.Peers[0].Status, s.Peers[0].NodeName, s.Peers[0].InstanceID = StatusConflict, "yacron-a", "h-lower"
		s.Peers[0].MutualAgreeing = nil
	})
	stopping := converged("yacron-a", abc, func(s *State) { s.Stopping = true })
	owner, other := converged("yacron-c", abc, spread), converged("yacron-a", abc, spread)
	lease := func(l Lease) *View { return NewView(State{NodeName: "yacron-a", InstanceID: "i", Lease: &l}) }
	holder := lease(Lease{Fresh: true, Leading: true, Own: true, Holder: "yacron-a"})
	follower := lease(Lease{Fresh: true, Holder: "yacron-b"})
	storeGone := lease(Lease{Holder: "yacron-b"})
	nobody := lease(Lease{Fresh: true})
	namesake := lease(Lease{Fresh: true, Holder: "yacron-a"})

	const job = "tick-leader-only" // of yacron-c under spread
	for _, c := range []struct {
		what   string
		policy Policy
		elect  bool
		v      *View
		action Action
		code   string
		owner  string
		says   string // part of the reason
	}{
		{"election off", Leader, false, nil, Run, CodeElectionOff, "", "all of its jobs"},
		{"election off, with a view", Leader, false, follow, Run, CodeElectionOff, "", "all of its jobs"},
		{"every node", EveryNode, true, nil, Run, CodeEveryNode, "", "every node"},
		{"every node in a conflict", EveryNode, true, conflict, Run, CodeEveryNode, "", "every node"},
		{"no manager", Leader, true, nil, Skip, CodeNoManager, "", "not running"},
		{"no manager", PreferLeader, true, nil, Run, CodeNoManager, "", "anyway"},
		{"a policy from nowhere", "Sometimes", true, lead, Skip, CodeUnknownPolicy, "", "Sometimes"},

		{"leads", Leader, true, lead, Run, CodeLeader, "yacron-a", "leads"},
		{"follows", Leader, true, follow, Skip, CodeNotLeader, "yacron-a", "yacron-a leads"},
		{"no quorum", Leader, true, noQuorum, Skip, CodeNoQuorum, "", "1 of 3"},
		{"conflict", Leader, true, conflict, Skip, CodeConflict, "yacron-a", "count 5"},
		{"held", Leader, true, held, Run, CodeLeader, "yacron-a", "leads"},
		{"stopping", Leader, true, stopping, Skip, CodeStopping, "yacron-b", "yacron-b takes over"},
		{"owns", Leader, true, owner, Run, CodeOwner, "yacron-c", "owns"},
		{"another owns", Leader, true, other, Skip, CodeNotOwner, "yacron-c", "yacron-c owns"},

		{"leads", PreferLeader, true, lead, Run, CodeLeader, "yacron-a", "leads"},
		{"follows", PreferLeader, true, follow, Skip, CodeNotLeader, "yacron-a", "yacron-a leads"},
		{"no quorum", PreferLeader, true, noQuorum, Run, CodeLeader, "yacron-a", "leads"},
		{"conflict", PreferLeader, true, conflict, Run, CodeLeader, "yacron-a", "leads"},
		{"held", PreferLeader, true, held, Skip, CodeHold, "yacron-a", "converging"},
		{"twin", PreferLeader, true, twin, Skip, CodeTwin, "yacron-a", "h-lower"},
		{"stopping", PreferLeader, true, stopping, Skip, CodeStopping, "yacron-b", "stopping"},
		{"owns", PreferLeader, true, owner, Run, CodeOwner, "yacron-c", "owns"},
		{"another owns", PreferLeader, true, other, Skip, CodeNotOwner, "yacron-c", "yacron-c owns"},

		{"lease holder", Leader, true, holder, Run, CodeLeader, "yacron-a", "leads"},
		{"lease follower", Leader, true, follower, Skip, CodeNotLeader, "yacron-b", "yacron-b leads"},
		{"store gone", Leader, true, storeGone, Skip, CodeNoQuorum, "", "lease store"},
		{"nobody holds", Leader, true, nobody, Skip, CodeNoLeader, "", "no node"},
		{"a namesake holds", Leader, true, namesake, Skip, CodeNotLeader, "yacron-a", "does not hold"},
		{"lease holder", PreferLeader, true, holder, Run, CodeLeader, "yacron-a", "leads"},
		{"lease follower", PreferLeader, true, follower, Skip, CodeNotLeader, "yacron-b", "yacron-b leads"},
		{"a namesake holds", PreferLeader, true, namesake, Skip, CodeTwin, "yacron-a", "another process"},
		{"store gone", PreferLeader, true, storeGone, Run, CodeNoHolder, "yacron-a", "anyway"},
		{"nobody holds", PreferLeader, true, nobody, Run, CodeNoHolder, "yacron-a", "anyway"},
	} {
		d := Decide(c.policy, c.elect, c.v, job)
		if d.Action != c.action || d.Code != c.code || d.Owner != c.owner || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s, %s: %s %s (owner %q, %q); want %s %s (owner %q, %q)", c.policy, c.what,
				d.Action, d.Code, d.Owner, d.Reason, c.action, c.code, c.owner, c.says)
		}
	}
}

func TestDecideRetry(t *testing.T) {
	const job = "tick-leader-only"
	// A peer vouches for a better owner that this node can't confirm.
	better := "yacron-x"
	for rendezvous(job, []string{"yacron-c", better}) != better {
		better += "x"
	}
	unconfirmed := converged("yacron-c", abc, func(s *State) {
		spread(s)
		s.Peers[0].QuorateVouched = []string{better}
	})
	for _, c := range []struct {
		what   string
		policy Policy
		elect  bool
		v      *View
		want   Action
	}{
		{"election off", Leader, false, nil, Run},
		{"leads", Leader, true, converged("yacron-a", abc, nil), Run},
		{"another leads", Leader, true, converged("yacron-b", abc, nil), Abandon},
		{"another leads", PreferLeader, true, converged("yacron-b", abc, nil), Abandon},
		{"another owns", Leader, true, converged("yacron-a", abc, spread), Abandon},
		{"an unconfirmed node owns", Leader, true, unconfirmed, Defer},
		{"no manager", Leader, true, nil, Defer},
		{"no manager", PreferLeader, true, nil, Run},
		{"conflict", Leader, true, converged("yacron-b", abc, func(s *State) { s.Peers[0].DeclaredSize = 9 }), Defer},
		{"hold", PreferLeader, true, converged("yacron-b", abc, func(s *State) {
			s.Peers = append(s.Peers, Peer{Status: StatusUnknown})
			s.ConfiguredSize = 3
		}), Defer},
		{"no quorum", Leader, true, NewView(State{NodeName: "b", InstanceID: "i", ElectLeader: true, ConfiguredSize: 3}), Defer},
		{"stopping with a successor", Leader, true, converged("yacron-a", abc, func(s *State) { s.Stopping = true }), Abandon},
		{"stopping alone", Leader, true, NewView(State{NodeName: "a", InstanceID: "i", ConfiguredSize: 1, Stopping: true}), Defer},
		{"store gone", Leader, true, NewView(State{NodeName: "a", Lease: &Lease{Holder: "b"}}), Defer},
		{"store gone", PreferLeader, true, NewView(State{NodeName: "a", Lease: &Lease{Holder: "b"}}), Run},
		{"lease elsewhere", Leader, true, NewView(State{NodeName: "a", Lease: &Lease{Fresh: true, Holder: "b"}}), Abandon},
		{"lease nowhere", Leader, true, NewView(State{NodeName: "a", Lease: &Lease{Fresh: true}}), Defer},
	} {
		if d := DecideRetry(c.policy, c.elect, c.v, job); d.Action != c.want || d.Code == "" || d.Reason == "" {
			t.Errorf("%s, %s: %+v, want %s", c.policy, c.what, d, c.want)
		}
	}
}

func TestDecideReboot(t *testing.T) {
	const job = "tick-leader-only"
	lead, follow := converged("yacron-a", abc, nil), converged("yacron-b", abc, nil)
	held := converged("yacron-a", abc, func(s *State) { s.Peers[0] = Peer{Host: "b:1", Status: StatusUnknown} })
	early := func(rounds int) *View {
		return converged("yacron-a", abc, func(s *State) {
			s.Rounds = rounds
			s.Peers[0].MutualAgreeing = nil // sees no quorum yet
		})
	}
	for _, c := range []struct {
		what   string
		policy Policy
		elect  bool
		v      *View
		ran    bool
		want   Action
	}{
		{"election off", Leader, false, nil, false, Run},
		{"election off, ran", Leader, false, nil, true, Run},
		{"every node", EveryNode, true, nil, false, Run},
		{"leads", Leader, true, lead, false, Run},
		{"leads, ran", Leader, true, lead, true, Abandon},
		{"follows", Leader, true, follow, false, Defer},
		{"follows, ran", PreferLeader, true, follow, true, Abandon},
		{"no manager", Leader, true, nil, false, Defer},
		{"no manager", PreferLeader, true, nil, false, Run},
		{"hold", Leader, true, held, false, Defer},
		{"hold", PreferLeader, true, held, false, Defer},
		{"a peer has not told its quorum", Leader, true, early(1), false, Defer},
		{"a peer never tells its quorum", Leader, true, early(holdRounds), false, Run},
		{"lease", Leader, true, NewView(State{NodeName: "a", Lease: &Lease{Fresh: true, Leading: true, Holder: "a"}}), false, Run},
		{"stopping", Leader, true, converged("yacron-a", abc, func(s *State) { s.Stopping = true }), false, Defer},
	} {
		if d := DecideReboot(c.policy, c.elect, c.v, job, c.ran); d.Action != c.want || d.Code == "" || d.Reason == "" {
			t.Errorf("%s, %s: %+v, want %s", c.policy, c.what, d, c.want)
		}
	}
}

func TestDecideNamesFewOfManyConflicts(t *testing.T) {
	v := converged("yacron-a", abc, func(s *State) {
		var ghosts []Member
		for _, c := range strings.Split("abcdefghij", "") {
			ghosts = append(ghosts, Member{NodeName: "ghost-" + c, InstanceID: "1"}, Member{NodeName: "ghost-" + c, InstanceID: "2"})
		}
		s.Peers[0].Members = append(ghosts, s.Peers[0].Members...)
		s.Peers[1].Members = append(ghosts, s.Peers[1].Members...)
	})
	d := Decide(Leader, true, v, "x")
	if d.Code != CodeConflict || !strings.Contains(d.Reason, "ghost-e, and 5 more") || strings.Contains(d.Reason, "ghost-f") {
		t.Errorf("%+v", d)
	}
}
