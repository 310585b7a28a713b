package election

import (
	"encoding/binary"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hostile draws text that no decoder of this repository lets through, and some that
// collides with what honest peers say.
var hostile = rapid.OneOf(
	rapid.SampledFrom([]string{"", "c", "c1", "a", "v1:same", "v1", ":", "\x00", "\xff", "a\nb", "％", "single-leader"}),
	rapid.String(),
	rapid.StringOfN(rapid.Just('x'), 0, 2000, -1),
)

// addSeeds gives a plain test run something to do.
func addSeeds(f *testing.F) {
	for seed := range 64 {
		rng := splitMix(seed)
		data := make([]byte, 0, 16<<10)
		for len(data) < cap(data) {
			data = binary.LittleEndian.AppendUint64(data, rng.next())
		}
		f.Add(data)
	}
}

func drawHostilePeer(t *rapid.T) Peer {
	p := Peer{
		Host:                hostile.Draw(t, "host"),
		Status:              rapid.OneOf(rapid.SampledFrom(Statuses()), rapid.Just(StatusAgreed), rapid.Just(Status("odd"))).Draw(t, "status"),
		NodeName:            hostile.Draw(t, "name"),
		InstanceID:          hostile.Draw(t, "instance"),
		JobSetID:            hostile.Draw(t, "job set"),
		MismatchStreak:      rapid.Int().Draw(t, "streak"),
		MutualAgreeing:      rapid.SliceOfN(hostile, 0, 8).Draw(t, "mutual"),
		QuorateVouched:      rapid.SliceOfN(hostile, 0, 8).Draw(t, "vouched"),
		DeclaredSize:        rapid.Int().Draw(t, "size"),
		DeclaredPolicy:      Distribution(hostile.Draw(t, "policy")),
		DeclaredElectLeader: rapid.Ptr(rapid.Bool(), true).Draw(t, "elect"),
		Stopping:            rapid.Bool().Draw(t, "stopping"),
	}
	for range rapid.IntRange(0, 8).Draw(t, "members") {
		p.Members = append(p.Members, Member{
			NodeName: hostile.Draw(t, "member"), InstanceID: hostile.Draw(t, "instance"),
			Agreed: rapid.Bool().Draw(t, "agreed"), Stopping: rapid.Bool().Draw(t, "member stopping"),
		})
	}
	return p
}

func FuzzView(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		s := State{
			NodeName: "c", InstanceID: "c1", JobSetID: "v1:same", ElectLeader: rapid.Bool().Draw(t, "elect"),
			Distribution:   Distribution(hostile.Draw(t, "distribution")),
			ConfiguredSize: rapid.IntRange(-3, 9).Draw(t, "configured"),
			Rounds:         rapid.IntRange(0, 4).Draw(t, "rounds"),
			Stopping:       rapid.Bool().Draw(t, "stopping"),
		}
		for range rapid.IntRange(0, 6).Draw(t, "peers") {
			s.Peers = append(s.Peers, drawHostilePeer(t))
		}
		v := NewView(s)
		checkView(t, v)
		r := v.Report(nil)
		if len(r.Members) > len(s.Peers)+1 {
			t.Errorf("%d members of %d peers", len(r.Members), len(s.Peers))
		}
	}))
}

func FuzzObserve(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		row := drawHostilePeer(t)
		p := drawHostilePeer(t)
		o := Observation{Scheduled: rapid.Bool().Draw(t, "scheduled"), Report: Report{
			NodeName: p.NodeName, InstanceID: p.InstanceID, JobSetID: p.JobSetID, Size: p.DeclaredSize, Policy: p.DeclaredPolicy,
			ElectLeader: p.DeclaredElectLeader, Members: p.Members, MutualAgreeing: p.MutualAgreeing,
			QuorateVouched: p.QuorateVouched, Stopping: p.Stopping,
		}}
		if rapid.Bool().Draw(t, "fails") {
			o.Failure = &Failure{Untrusted: rapid.Bool().Draw(t, "untrusted"), Text: p.Host}
		}
		next := Observe(row, testSelf, o)
		if next.Host != row.Host {
			t.Errorf("the row of %q became that of %q", row.Host, next.Host)
		}
		if o.Failure == nil && (!next.Status.Fresh() || next.LastError != "") || o.Failure != nil && next.LastError == "" {
			t.Errorf("%s with error %q after failure %v", next.Status, next.LastError, o.Failure)
		}
		if o.Failure == nil && next.Status == StatusAgreed && (p.JobSetID != testSelf.JobSetID || p.NodeName == testSelf.NodeName) {
			t.Errorf("agreed with %q of %q", p.JobSetID, p.NodeName)
		}
	}))
}

func FuzzJudge(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		v, c := rebooted(), voterAt(noon, time.Duration(rapid.Int64().Draw(t, "uptime")))
		c.Clock.Wall = time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "wall"), 0)
		c.Size = rapid.IntRange(-1, 9).Draw(t, "size")
		grantee := make(map[firingKey]string)
		for range rapid.IntRange(1, 4).Draw(t, "requests") {
			r := ClaimRequest{
				InstanceID: hostile.Draw(t, "instance"), Size: rapid.OneOf(rapid.Just(c.Size), rapid.Int()).Draw(t, "N"),
				JobSetID: rapid.OneOf(rapid.Just("v1:same"), hostile).Draw(t, "job set"), Policy: SingleLeader,
			}
			for range rapid.IntRange(0, 5).Draw(t, "firings") {
				near := c.Clock.Wall.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "near")))
				far := time.Unix(rapid.Int64().Draw(t, "far"), rapid.Int64().Draw(t, "nano"))
				at := rapid.SampledFrom([]time.Time{near, near, far, {}, c.Clock.Wall}).Draw(t, "at")
				r.Firings = append(r.Firings, Firing{Job: hostile.Draw(t, "job"), At: at})
			}
			b := v.Judge(c, r)
			if len(b.Answers) != len(r.Firings) || len(b.Cast) > len(r.Firings) {
				t.Fatalf("%d firings, %d answers, %d votes", len(r.Firings), len(b.Answers), len(b.Cast))
			}
			v.Record(b.Cast, c.Clock)
			for i, a := range b.Answers {
				if a.Refusal.Text() == "" {
					t.Errorf("%q has no words", a.Refusal)
				}
				if !a.Granted() {
					continue
				}
				if r.InstanceID == "" || r.JobSetID != c.JobSetID || r.Size != c.Size {
					t.Errorf("granted to %+v", r)
				}
				key := keyOf(r.Firings[i])
				if earlier, ok := grantee[key]; ok && earlier != r.InstanceID {
					t.Errorf("%v granted to %q and to %q", r.Firings[i], earlier, r.InstanceID)
				}
				grantee[key] = r.InstanceID
			}
		}
		v.Prune(v.Expired(c.Clock))
	}))
}

func FuzzTally(f *testing.F) {
	addSeeds(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		n := rapid.IntRange(-1, 9).Draw(t, "n")
		tally := NewTally(n)
		granting := make(map[string]bool) // instances
		for range rapid.IntRange(0, 20).Draw(t, "answers") {
			voter := Voter{Host: hostile.Draw(t, "host"), InstanceID: hostile.Draw(t, "instance"), NodeName: hostile.Draw(t, "name")}
			a := Answer{Refusal: Refusal(hostile.Draw(t, "refusal")), Holder: hostile.Draw(t, "holder"), Running: rapid.Bool().Draw(t, "running")}
			if rapid.Bool().Draw(t, "taken") {
				a.Refusal = RefusedTaken
			}
			tally.Add(voter, a)
			if a.Granted() {
				granting[voter.InstanceID] = true
			}
			v := tally.Verdict(nil)
			if v.Outcome == Granted && len(granting) < Quorum(n) {
				t.Fatalf("granted by %d of %d", len(granting), n)
			}
			if (v.Outcome == Granted) != (v.Code == "") || (v.Outcome == Granted) != (v.Reason == "") {
				t.Fatalf("%+v", v)
			}
			_ = tally.OwnVoteDue()
		}
	}))
}
