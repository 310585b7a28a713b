package election

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// verdicts lists everything that a view says, but for the order of the rows.
func verdicts(v *View) map[string]any {
	all := observed(v, []string{"a", "backup", "tick"})
	all["policies"] = v.ConflictingPolicies()
	all["claim size"] = v.ClaimSize()
	for _, policy := range []Policy{Leader, PreferLeader, EveryNode} {
		for _, job := range []string{"a", "backup"} {
			all[fmt.Sprint(policy, job)] = []Decision{
				Decide(policy, true, v, job), DecideRetry(policy, true, v, job), DecideReboot(policy, true, v, job, false),
			}
		}
	}
	return all
}

// drawState draws what a node may know of a cluster that is far from well.
func drawState(t *rapid.T) State {
	names := []string{"a", "b", "c", "d", "e", "f"}
	name := rapid.SampledFrom(names)
	list := rapid.SliceOfN(name, 0, 6)
	sizes := rapid.SampledFrom([]int{0, 3, 4, 5})
	s := State{
		Backend: "gossip", NodeName: "c", InstanceID: "c1", JobSetID: "v1:same",
		ElectLeader: true, Distribution: rapid.SampledFrom([]Distribution{SingleLeader, Spread}).Draw(t, "distribution"),
		Rounds: rapid.IntRange(0, 4).Draw(t, "rounds"), Stopping: rapid.IntRange(0, 9).Draw(t, "stopping") == 0,
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "peers") {
		p := Peer{
			Host:           fmt.Sprintf("h%d:1", i),
			Status:         rapid.SampledFrom(append(Statuses(), StatusAgreed, StatusAgreed, StatusAgreed)).Draw(t, "status"),
			NodeName:       name.Draw(t, "name"),
			DeclaredSize:   sizes.Draw(t, "declared size"),
			DeclaredPolicy: rapid.SampledFrom([]Distribution{"", s.Distribution, Spread}).Draw(t, "declared policy"),
			Stopping:       rapid.IntRange(0, 9).Draw(t, "peer stopping") == 0,
		}
		p.InstanceID = fmt.Sprintf("%s%d", p.NodeName, i+2) // each row another process
		if p.Status == StatusUnknown {
			p = Peer{Host: p.Host, Status: p.Status}
		}
		if p.Status.Fresh() {
			p.MutualAgreeing, p.QuorateVouched = list.Draw(t, "mutual"), list.Draw(t, "vouched")
			for _, m := range list.Draw(t, "members") {
				p.Members = append(p.Members, Member{
					NodeName: m, InstanceID: fmt.Sprintf("%s%d", m, rapid.IntRange(1, 4).Draw(t, "instance")), Agreed: rapid.Bool().Draw(t, "agreed"),
					Stopping: rapid.IntRange(0, 9).Draw(t, "member stopping") == 0,
				})
			}
		}
		s.Peers = append(s.Peers, p)
	}
	s.ConfiguredSize = len(s.Peers) + 1
	return s
}

func TestViewIsIndependentOfTheOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		want := verdicts(NewView(s))
		s.Peers = rapid.Permutation(s.Peers).Draw(t, "order")
		if got := verdicts(NewView(s)); !reflect.DeepEqual(got, want) {
			for k := range got {
				if !reflect.DeepEqual(got[k], want[k]) {
					t.Errorf("%s: %v, then %v", k, want[k], got[k])
				}
			}
		}
	})
}

// checkView checks what holds for every view, whatever peers tell.
func checkView(t interface{ Errorf(string, ...any) }, v *View) {
	sets := map[string][]string{
		"mutual": v.MutualAgreeing(), "bridges": v.BridgeCandidates(), "eligible": v.Eligible(),
		"unconfirmed": v.UnconfirmedContenders(), "available": v.AvailableContenders(), "conflicts": v.ConflictNames(),
	}
	for what, set := range sets {
		if !slices.IsSorted(set) {
			t.Errorf("%s is not sorted: %q", what, set)
		}
		if slices.Contains(set, "") {
			t.Errorf("%s names nobody: %q", what, set)
		}
	}
	for _, what := range []string{"bridges", "eligible", "unconfirmed", "available"} {
		if slices.Contains(sets[what], v.NodeName()) {
			t.Errorf("%s names this node: %q", what, sets[what])
		}
	}
	if v.Size() < 1 || v.ClaimSize() < v.Size() || 2*v.Quorum() <= v.Size() || v.Quorum() > v.Size() {
		t.Errorf("size %d, claim size %d, quorum %d", v.Size(), v.ClaimSize(), v.Quorum())
	}
	if v.Quorate() != (1+len(v.MutualAgreeing()) >= v.Quorum()) {
		t.Errorf("quorate %v with %q of %d", v.Quorate(), v.MutualAgreeing(), v.Size())
	}
	leader := v.Leader()
	if leader != "" && (!v.Quorate() || leader != v.NodeName() && !slices.Contains(v.Eligible(), leader)) {
		t.Errorf("leader %q is neither this node nor eligible", leader)
	}
	if v.Stopping() && (v.IsLeader() || v.IsAvailableLeader() || v.IsJobOwner("x") || v.IsAvailableOwner("x")) {
		t.Errorf("a stopping node leads")
	}
	if !v.Settled() && (v.IsAvailableLeader() || v.IsAvailableOwner("x")) {
		t.Errorf("a held view takes itself for the available leader")
	}
	for _, policy := range []Policy{Leader, PreferLeader, EveryNode, ""} {
		d, retry, boot := Decide(policy, true, v, "x"), DecideRetry(policy, true, v, "x"), DecideReboot(policy, true, v, "x", false)
		for _, d := range []Decision{d, retry, boot} {
			if d.Code == "" || d.Reason == "" || len(d.Reason) > 4096 {
				t.Errorf("%s: decision %+v", policy, d)
			}
		}
		if d.Action != Run && d.Action != Skip || retry.Action == Skip || boot.Action == Skip || boot.Action == Abandon ||
			(d.Action == Run) != (retry.Action == Run) || boot.Action == Run && d.Action != Run {
			t.Errorf("%s: %s, retry %s, @reboot %s", policy, d.Action, retry.Action, boot.Action)
		}
		if policy == Leader && d.Action == Run && (v.Conflict() || !v.Quorate()) {
			t.Errorf("a Leader job runs in a conflict or without a quorum")
		}
	}
}

func TestViewInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkView(t, NewView(drawState(t))) })
}

// settle lets a cluster with the given reach (reach[i][j]: i reads j's state) exchange
// until nothing changes, and returns the views.
func settle(t *rapid.T, reach [][]bool, d Distribution) []*View {
	n := len(reach)
	rows := make([][]Peer, n)
	views := make([]*View, n)
	compute := func(i int) *View {
		return NewView(State{
			NodeName: fmt.Sprintf("n%d", i), InstanceID: fmt.Sprintf("i%d", i), JobSetID: "v1:same",
			ElectLeader: true, Distribution: d, ConfiguredSize: n, Rounds: 9, Peers: slices.Clone(rows[i]),
		})
	}
	for i := range n {
		for j := range n {
			if i != j {
				rows[i] = append(rows[i], Peer{Host: fmt.Sprintf("n%d:1", j), Status: StatusUnknown})
			}
		}
		views[i] = compute(i)
	}
	for round := 0; ; round++ {
		if round > 3*n+3 {
			t.Fatalf("views still change after %d rounds", round)
		}
		before := make([]Report, n)
		for i := range n {
			before[i] = views[i].Report(nil)
		}
		for i := range n {
			k := 0
			for j := range n {
				if i == j {
					continue
				}
				o := Observation{Scheduled: true, Report: before[j]}
				if !reach[i][j] {
					o = Observation{Scheduled: true, Failure: &Failure{Text: "cut"}}
				}
				rows[i][k] = Observe(rows[i][k], Self{NodeName: fmt.Sprintf("n%d", i), InstanceID: fmt.Sprintf("i%d", i), JobSetID: "v1:same"}, o)
				k++
			}
			views[i] = compute(i)
		}
		same := true
		for i := range n {
			same = same && reflect.DeepEqual(before[i], views[i].Report(nil))
		}
		if same {
			return views
		}
	}
}

func drawDistribution(t *rapid.T) Distribution {
	return rapid.SampledFrom([]Distribution{SingleLeader, Spread}).Draw(t, "distribution")
}

// TestViewsUnderACleanPartitionAgree: at most one side has a quorum, and all its
// members name the same leader and owners.
func TestViewsUnderACleanPartitionAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		side := rapid.SliceOfN(rapid.IntRange(0, 2), n, n).Draw(t, "sides")
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
			for j := range reach[i] {
				reach[i][j] = side[i] == side[j]
			}
		}
		var first *View
		quorate := 0
		for i, v := range settle(t, reach, drawDistribution(t)) {
			checkView(t, v)
			if !v.Quorate() {
				continue
			}
			quorate++
			if v.Conflict() {
				t.Fatalf("n%d sees a conflict", i)
			}
			if first == nil {
				first = v
				continue
			}
			if v.Leader() != first.Leader() || v.AvailableLeader() != first.AvailableLeader() {
				t.Fatalf("%s names %s, %s names %s", first.NodeName(), first.Leader(), v.NodeName(), v.Leader())
			}
			for _, job := range []string{"a", "b", "c", "d"} {
				if v.JobOwner(job) != first.JobOwner(job) || v.AvailableOwner(job) != first.AvailableOwner(job) {
					t.Fatalf("%s gives %s to %s, %s to %s", first.NodeName(), job, first.JobOwner(job), v.NodeName(), v.JobOwner(job))
				}
			}
		}
		most := 0
		for s := range 3 {
			size := 0
			for _, x := range side {
				if x == s {
					size++
				}
			}
			most = max(most, size)
		}
		if want := most >= Quorum(n); want != (quorate == most && quorate > 0) {
			t.Fatalf("the largest side has %d of %d, and %d nodes are quorate", most, n, quorate)
		}
	})
}

// TestViewsOfMutualPeersElectOneOfThem: over any links, two nodes that agree with each
// other, or that enough common peers bridge, do not both lead or own the same job.
func TestViewsOfMutualPeersElectOneOfThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "n")
		reach := make([][]bool, n)
		for i := range reach {
			reach[i] = make([]bool, n)
		}
		for i := range n {
			for j := range n {
				reach[i][j] = i == j || rapid.IntRange(0, 3).Draw(t, fmt.Sprintf("%d reaches %d", i, j)) > 0
			}
		}
		views := settle(t, reach, drawDistribution(t))
		for i, v := range views {
			checkView(t, v)
			for _, u := range views[i+1:] {
				mutual := slices.Contains(v.MutualAgreeing(), u.NodeName())
				common := 0
				for _, name := range v.MutualAgreeing() {
					if slices.Contains(u.MutualAgreeing(), name) {
						common++
					}
				}
				if !mutual && common < v.Quorum()-1 {
					continue
				}
				if v.IsLeader() && u.IsLeader() {
					t.Fatalf("%s and %s both lead", v.NodeName(), u.NodeName())
				}
				for _, job := range []string{"a", "b", "c", "d"} {
					if v.IsJobOwner(job) && u.IsJobOwner(job) {
						t.Fatalf("%s and %s both own %s", v.NodeName(), u.NodeName(), job)
					}
				}
			}
		}
	})
}

func drawReport(t *rapid.T) Report {
	name := rapid.SampledFrom([]string{"a", "b", ""})
	return Report{
		NodeName: name.Draw(t, "name"), InstanceID: rapid.SampledFrom([]string{"ia", "ib", ""}).Draw(t, "instance"),
		JobSetID: rapid.SampledFrom([]string{"v1:same", "v1:other", "v2:same", ""}).Draw(t, "job set"),
	}
}

// TestObserveIsIdempotentBetweenRounds: an extra exchange that tells the same again
// changes nothing.
func TestObserveIsIdempotentBetweenRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := Peer{Host: "h:1", Status: StatusUnknown}
		for range rapid.IntRange(0, 6).Draw(t, "rounds") {
			o := Observation{Scheduled: rapid.Bool().Draw(t, "scheduled"), Report: drawReport(t)}
			if rapid.Bool().Draw(t, "fails") {
				o = Observation{Failure: &Failure{Untrusted: rapid.Bool().Draw(t, "untrusted"), Text: "x"}}
			}
			before := row
			row = Observe(row, testSelf, o)
			if row.MismatchStreak > before.MismatchStreak && !o.Scheduled {
				t.Fatal("an extra exchange added to the streak")
			}
			o.Scheduled = false
			if again := Observe(row, testSelf, o); !reflect.DeepEqual(again, row) {
				t.Fatalf("once %+v\ntwice %+v", row, again)
			}
		}
	})
}

// TestOneShotRecordsMergeInAnyOrder: what peers tell is taken in to the same effect in
// any order and any number of times.
func TestOneShotRecordsMergeInAnyOrder(t *testing.T) {
	type told struct{ Job, Holder string }
	gen := rapid.Custom(func(t *rapid.T) told {
		return told{rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "job"), rapid.SampledFrom([]string{"i1", "i2", ""}).Draw(t, "holder")}
	})
	learn := func(all []told, own bool) *Votes {
		v := rebooted()
		if own {
			v.Record([]Vote{{Firing: Firing{Job: "x"}, InstanceID: "i9", JobSetID: "v1:same"}}, Clock{})
		}
		for _, r := range all {
			v.LearnRan("v1:same", []string{r.Job}, map[string]string{r.Job: r.Holder})
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		all, own := rapid.SliceOfN(gen, 0, 6).Draw(t, "told"), rapid.Bool().Draw(t, "own vote")
		want := learn(all, own)
		other := append(rapid.Permutation(all).Draw(t, "order"), all...)
		got := learn(other, own)
		if !slices.Equal(got.RanJobs(), want.RanJobs()) || !maps.Equal(got.RanHolders(), want.RanHolders()) {
			t.Fatalf("%v held by %v, then %v held by %v", want.RanJobs(), want.RanHolders(), got.RanJobs(), got.RanHolders())
		}
	})
}

// TestTallyIsIndependentOfTheOrderOfAnswers also checks the outcome against a count by
// hand.
func TestTallyIsIndependentOfTheOrderOfAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		type given struct {
			Voter  Voter
			Answer Answer
		}
		var all []given
		yes, final := 0, 0
		for i := range rapid.IntRange(0, n).Draw(t, "answers") {
			voter := ownVoter
			if i > 0 {
				voter = peerVoter(fmt.Sprint("p", i))
			}
			a := Answer{Refusal: rapid.SampledFrom([]Refusal{"", "", RefusedTaken, RefusedFenced, RefusedJobSet}).Draw(t, "refusal"), Running: rapid.Bool().Draw(t, "running")}
			if a.Refusal == RefusedTaken {
				a.Holder = rapid.SampledFrom([]string{"i1", "i2"}).Draw(t, "holder")
			}
			switch {
			case a.Granted():
				yes++
			case a.Refusal.Final():
				final++
			}
			all = append(all, given{voter, a})
		}
		count := func(all []given) Verdict {
			tally := NewTally(n)
			for _, g := range all {
				tally.Add(g.Voter, g.Answer)
			}
			return tally.Verdict(nil)
		}
		want := count(all)
		switch {
		case 2*yes > n:
			if want.Outcome != Granted {
				t.Fatalf("%d of %d votes: %+v", yes, n, want)
			}
		case 2*(n-final) <= n:
			if want.Outcome != Denied {
				t.Fatalf("%d of %d refuse for good: %+v", final, n, want)
			}
		case want.Outcome != Pending:
			t.Fatalf("%d of %d votes, %d refuse for good: %+v", yes, n, final, want)
		}
		if got := count(rapid.Permutation(all).Draw(t, "order")); got != want {
			t.Fatalf("%+v, then %+v", want, got)
		}
	})
}

// TestVoterNeverGrantsTwice: whatever is asked in whatever order, with the clock going
// anywhere and votes pruned at any time, one firing is granted to one instance.
func TestVoterNeverGrantsTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, c := rebooted(), voterAt(noon, time.Hour)
		grantee := make(map[Firing]string)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				c.Clock.Wall = c.Clock.Wall.Add(rapid.SampledFrom([]time.Duration{time.Second, -time.Minute, VoteAge, -VoteAge, time.Hour}).Draw(t, "clock"))
			case 1:
				c.Clock.Uptime += rapid.SampledFrom([]time.Duration{time.Second, VoteAge}).Draw(t, "time")
			case 2:
				v.Prune(v.Expired(c.Clock))
			default:
				f := Firing{Job: "job"}
				if rapid.IntRange(0, 5).Draw(t, "scheduled") > 0 {
					f.At = c.Clock.Wall.Truncate(time.Minute)
				}
				instance := rapid.SampledFrom([]string{"i1", "i2", "i3"}).Draw(t, "instance")
				if !ask(v, c, instance, f).Granted() {
					continue
				}
				if earlier, ok := grantee[f]; ok && earlier != instance {
					t.Fatalf("%v granted to %s and to %s", f, earlier, instance)
				}
				grantee[f] = instance
			}
		}
	})
}
