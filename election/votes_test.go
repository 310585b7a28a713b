package election

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// noon is the wall clock of the tests; the voter has been up for an hour then.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func voterAt(wall time.Time, up time.Duration) VoterContext {
	return VoterContext{
		Clock: Clock{Wall: wall, Uptime: up}, Size: 3, JobSetID: "v1:same", Policy: SingleLeader, Bound: true,
		LeaderJob: func(job string) bool { return job != "stranger" },
		Running:   func(job string) bool { return job == "long" },
		Exchanged: 2,
	}
}

func request(instance string, firings ...Firing) ClaimRequest {
	return ClaimRequest{InstanceID: instance, NodeName: "n-" + instance, Size: 3, JobSetID: "v1:same", Policy: SingleLeader, Firings: firings}
}

// ask judges and records one request for one firing.
func ask(v *Votes, c VoterContext, instance string, f Firing) Answer {
	b := v.Judge(c, request(instance, f))
	v.Record(b.Cast, c.Clock)
	return b.Answers[0]
}

func at(d time.Duration) Firing { return Firing{Job: "job", At: noon.Add(d)} }

func TestVoterRefusesWhatItMay(t *testing.T) {
	for _, c := range []struct {
		what   string
		f      Firing
		change func(*VoterContext, *ClaimRequest)
		want   Refusal
	}{
		{"a due firing", at(0), nil, ""},
		{"an unbound instance", at(0), func(c *VoterContext, _ *ClaimRequest) { c.Bound = false }, RefusedUnbound},
		{"no instance", at(0), func(_ *VoterContext, r *ClaimRequest) { r.InstanceID = "" }, RefusedUnbound},
		{"a conflict", at(0), func(c *VoterContext, _ *ClaimRequest) { c.Conflict = true }, RefusedConflict},
		{"another size", at(0), func(_ *VoterContext, r *ClaimRequest) { r.Size = 5 }, RefusedSize},
		{"another job set", at(0), func(_ *VoterContext, r *ClaimRequest) { r.JobSetID = "v1:other" }, RefusedJobSet},
		{"another policy", at(0), func(_ *VoterContext, r *ClaimRequest) { r.Policy = Spread }, RefusedPolicy},
		{"a stranger's job", Firing{Job: "stranger", At: noon}, nil, RefusedNotLeader},
		{"no jobs known", at(0), func(c *VoterContext, _ *ClaimRequest) { c.LeaderJob = nil }, RefusedNotLeader},
		{"2 s ahead", at(2 * time.Second), nil, ""},
		{"more than 2 s ahead", at(2*time.Second + 1), nil, RefusedTooEarly},
		{"10 min old", at(-10 * time.Minute), nil, ""},
		{"older than 10 min", at(-10*time.Minute - 1), nil, RefusedTooOld},
		{"far future", Firing{Job: "job", At: time.Unix(1<<40, 0)}, nil, RefusedTooEarly},
		{"far past", Firing{Job: "job", At: time.Unix(-1<<40, 0)}, nil, RefusedTooOld},
		{"just after the fence", at(0), func(c *VoterContext, _ *ClaimRequest) { c.Clock.Uptime = 2 * time.Second }, ""},
		{"before the fence", at(0), func(c *VoterContext, _ *ClaimRequest) { c.Clock.Uptime = 2*time.Second - 1 }, RefusedFenced},
		{"before the fence of a node alone", at(0), func(c *VoterContext, r *ClaimRequest) {
			c.Clock.Uptime, c.Size, r.Size = 2*time.Second-1, 1, 1
		}, RefusedFenced},
		{"a one-shot", Firing{Job: "job"}, nil, ""},
		{"a one-shot right after the start", Firing{Job: "job"}, func(c *VoterContext, _ *ClaimRequest) { c.Clock.Uptime = 0 }, ""},
		{"a one-shot before a quorum was heard", Firing{Job: "job"}, func(c *VoterContext, _ *ClaimRequest) { c.Exchanged = 0 }, RefusedNotSynced},
	} {
		ctx, r := voterAt(noon, time.Hour), request("i-1", c.f)
		if c.change != nil {
			c.change(&ctx, &r)
		}
		v := NewVotes()
		v.SetJobSet("v1:same")
		b := v.Judge(ctx, r)
		if got := b.Answers[0].Refusal; got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		if want := len(b.Cast) == 1; want != (c.want == "") {
			t.Errorf("%s: cast %v", c.what, b.Cast)
		}
		r.Probe = true
		if p := v.Judge(ctx, r); len(p.Cast) != 0 || !slices.Equal(p.Answers, b.Answers) {
			t.Errorf("%s: a probe cast %v and answered %v", c.what, p.Cast, p.Answers)
		}
	}
}

func TestVoterTakesTenThousandFirings(t *testing.T) {
	firings := make([]Firing, MaxFirings+1)
	for i := range firings {
		firings[i] = Firing{Job: fmt.Sprint(i), At: noon}
	}
	v := NewVotes()
	if b := v.Judge(voterAt(noon, time.Hour), request("i-1", firings[:MaxFirings]...)); len(b.Cast) != MaxFirings {
		t.Errorf("cast %d votes", len(b.Cast))
	}
	b := v.Judge(voterAt(noon, time.Hour), request("i-1", firings...))
	if len(b.Cast) != 0 || len(b.Answers) != len(firings) || b.Answers[MaxFirings].Refusal != RefusedTooMany {
		t.Errorf("one too many: cast %d, %d answers", len(b.Cast), len(b.Answers))
	}
}

func TestVoterGrantsOnceAndTheSameAgain(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	if a := ask(v, c, "i-1", at(0)); !a.Granted() {
		t.Fatalf("first: %v", a)
	}
	if a := ask(v, c, "i-2", at(0)); a.Refusal != RefusedTaken || a.Holder != "i-1" {
		t.Errorf("another instance: %+v, want taken by i-1", a)
	}
	if b := v.Judge(c, request("i-1", at(0))); !b.Answers[0].Granted() || len(b.Cast) != 0 {
		t.Errorf("the same instance: %+v", b)
	}
	berlin := time.FixedZone("", 7200)
	same := Firing{Job: "job", At: noon.In(berlin)}
	if a := ask(v, c, "i-2", same); a.Refusal != RefusedTaken {
		t.Errorf("the same instant in another zone: %+v", a)
	}
	for _, other := range []Firing{at(time.Second), at(time.Nanosecond), {Job: "other", At: noon}} {
		if a := ask(v, c, "i-2", other); !a.Granted() {
			t.Errorf("%v: %+v", other, a)
		}
	}
	if v.Len() != 4 {
		t.Errorf("%d votes held", v.Len())
	}
}

func TestVoterRemembersBehindAFenceThatMoved(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, 3*time.Second)
	ask(v, c, "i-1", at(0))
	c.Clock.Wall = noon.Add(time.Minute) // the clock is put right, and the fence with it
	if a := ask(v, c, "i-1", at(0)); !a.Granted() {
		t.Errorf("what this life granted: %+v", a)
	}
	if a := ask(v, c, "i-2", at(0)); a.Refusal != RefusedTaken {
		t.Errorf("the same for another: %+v", a)
	}
	if a := ask(v, c, "i-1", at(30*time.Second)); a.Refusal != RefusedFenced {
		t.Errorf("a firing that an earlier life may have granted: %+v", a)
	}
}

func TestVoterJudgingChangesNothing(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	first := v.Judge(c, request("i-1", at(0), Firing{Job: "job"}))
	second := v.Judge(c, request("i-2", at(0), Firing{Job: "job"}))
	if !first.Answers[0].Granted() || !second.Answers[0].Granted() || v.Len() != 0 || v.Ran("job") {
		t.Errorf("judging left a trace: %+v, %+v", first, second)
	}
}

func TestVoterWithdrawsWhatTheDiskRefused(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	v.SetJobSet("v1:same")
	b := v.Judge(c, request("i-1", at(0), Firing{Job: "job"}))
	v.Record(b.Cast, c.Clock)
	v.Withdraw(b.Cast)
	if v.Len() != 0 || v.Ran("job") {
		t.Errorf("still held: %d votes, ran %v", v.Len(), v.RanJobs())
	}
	if a := ask(v, c, "i-2", at(0)); !a.Granted() {
		t.Errorf("a withdrawn vote still counts: %+v", a)
	}
	v.Withdraw(b.Cast) // now another holds it
	if a := ask(v, c, "i-1", at(0)); a.Refusal != RefusedTaken {
		t.Errorf("a late withdrawal freed another's firing: %+v", a)
	}
}

func TestVoterSaysWhatRunsHere(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	long := Firing{Job: "long", At: noon}
	b := v.Judge(c, request("i-1", long, at(0)))
	if !b.Answers[0].Running || b.Answers[1].Running {
		t.Errorf("%+v", b.Answers)
	}
	c.Size = 5 // a refusal says it too
	if b := v.Judge(c, request("i-1", long)); !b.Answers[0].Running {
		t.Errorf("%+v", b.Answers)
	}
	c.Bound = false // but not to strangers
	if b := v.Judge(c, request("i-1", long)); b.Answers[0].Running {
		t.Errorf("%+v", b.Answers)
	}
}

func TestVoterPrunesByBothClocks(t *testing.T) {
	start := Clock{Wall: noon, Uptime: time.Hour}
	for _, c := range []struct {
		what          string
		wall, up      time.Duration // since the vote
		forgets, next bool          // the vote; whether a firing of that wall clock is granted after
	}{
		{"young", time.Minute, time.Minute, false, true},
		{"old by both", VoteAge + 1, VoteAge, true, true},
		{"old by the wall clock alone", time.Hour, time.Minute, false, true},
		{"old by the monotonic clock alone", time.Minute, time.Hour, false, true},
		{"exactly old by the wall clock", VoteAge, VoteAge, false, true},
	} {
		v, ctx := NewVotes(), voterAt(noon, time.Hour)
		ask(v, ctx, "i-1", at(0))
		now := Clock{Wall: start.Wall.Add(c.wall), Uptime: start.Uptime + c.up}
		p := v.Expired(now)
		if v.Len() != 1 {
			t.Fatalf("%s: Expired changed the votes", c.what)
		}
		v.Prune(p)
		if forgot := v.Len() == 0; forgot != c.forgets {
			t.Errorf("%s: forgot %v, want %v", c.what, forgot, c.forgets)
		}
		if c.forgets != v.LowWater().Equal(noon) {
			t.Errorf("%s: low-water mark %v", c.what, v.LowWater())
		}
		ctx.Clock = now
		if a := ask(v, ctx, "i-2", Firing{Job: "job", At: now.Wall}); a.Granted() != c.next {
			t.Errorf("%s: the next firing: %+v", c.what, a)
		}
		// Whatever was pruned: the clock goes back, and the firing stays taken.
		ctx.Clock.Wall = noon
		ctx.Clock.Uptime += time.Hour
		if a := ask(v, ctx, "i-3", at(0)); a.Granted() {
			t.Errorf("%s: granted twice after the clock went back", c.what)
		}
	}
}

func TestVoterClockThatJumpedAheadDoesNotDenyTheNextHour(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	ask(v, c, "i-1", at(0))
	jumped := Clock{Wall: noon.Add(time.Hour), Uptime: time.Hour + VoteAge}
	v.Prune(v.Expired(jumped))
	back := voterAt(noon.Add(VoteAge), jumped.Uptime)
	if a := ask(v, back, "i-1", at(VoteAge)); !a.Granted() {
		t.Errorf("after the clock was put right: %+v", a)
	}
	if a := ask(v, back, "i-2", at(0)); a.Refusal != RefusedTooOld {
		t.Errorf("the pruned firing: %+v", a)
	}
}

func TestVoterRestored(t *testing.T) {
	votes := []Vote{{Firing: at(0), InstanceID: "i-1"}}
	v := RestoreVotes(votes, noon.Add(-time.Minute))
	c := voterAt(noon.Add(time.Second), time.Millisecond)
	if a := ask(v, c, "i-2", at(0)); a.Refusal != RefusedTaken || a.Holder != "i-1" {
		t.Errorf("a restored vote: %+v", a)
	}
	if a := ask(v, c, "i-2", at(-time.Second)); !a.Granted() {
		t.Errorf("no fence is needed: %+v", a)
	}
	if a := ask(v, c, "i-2", at(-time.Minute)); a.Refusal != RefusedTooOld {
		t.Errorf("at the restored mark: %+v", a)
	}
	if p := v.Expired(Clock{Wall: noon.Add(time.Hour), Uptime: VoteAge - 1}); len(p.Votes) != 0 {
		t.Errorf("restored votes must age anew: %v", p.Votes)
	}
}

func TestPruningListsWhatADurableVoterDeletes(t *testing.T) {
	v, c := NewVotes(), voterAt(noon, time.Hour)
	ask(v, c, "i-1", at(0))
	ask(v, c, "i-1", at(time.Second))
	p := v.Expired(Clock{Wall: noon.Add(VoteAge + 500*time.Millisecond), Uptime: 2 * time.Hour})
	want := Pruning{Votes: []Vote{{Firing: at(0), InstanceID: "i-1"}}, LowWater: noon}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
}

func TestViewMakesRequestAndContext(t *testing.T) {
	v := converged("yacron-a", abc, func(s *State) { s.Peers[1].DeclaredSize = 9 })
	firings := []Firing{at(0)}
	r := v.ClaimRequest(firings)
	want := ClaimRequest{InstanceID: "i-yacron-a", NodeName: "yacron-a", Size: 3, JobSetID: "v1:same", Policy: SingleLeader, Firings: firings}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	clock := Clock{Wall: noon, Uptime: time.Hour}
	for instance, want := range map[string][2]bool{ // bound, conflict
		"i-yacron-a": {true, false}, "i-yacron-b": {true, false}, "i-yacron-c": {true, true}, "i-x": {false, false}, "": {false, false},
	} {
		c := v.VoterContext(instance, clock)
		if c.Bound != want[0] || c.Conflict != want[1] || c.Clock != clock || c.Size != 3 || c.JobSetID != "v1:same" || c.Policy != SingleLeader {
			t.Errorf("%q: %+v", instance, c)
		}
	}
}
