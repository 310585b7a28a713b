package election

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// rebooted returns a voter under the job set of the tests.
func rebooted() *Votes {
	v := NewVotes()
	v.SetJobSet("v1:same")
	return v
}

var oneShotFiring = Firing{Job: "warm"}

func TestOneShotGrantIsARecord(t *testing.T) {
	v, c := rebooted(), voterAt(noon, 0)
	if a := ask(v, c, "i-1", oneShotFiring); !a.Granted() {
		t.Fatalf("%+v", a)
	}
	if !v.Ran("warm") || !slices.Equal(v.RanJobs(), []string{"warm"}) || v.RanHolders()["warm"] != "i-1" {
		t.Errorf("ran %v, held by %v", v.RanJobs(), v.RanHolders())
	}
	if v.RanElsewhere("warm", "i-1") || !v.RanElsewhere("warm", "i-2") || v.RanElsewhere("cold", "i-2") {
		t.Error("RanElsewhere must leave out what stands for the process itself")
	}
	if a := ask(v, c, "i-2", oneShotFiring); a.Refusal != RefusedTaken || a.Holder != "i-1" {
		t.Errorf("another instance: %+v", a)
	}
	if a := ask(v, c, "i-1", oneShotFiring); !a.Granted() {
		t.Errorf("the same instance: %+v", a)
	}
	if v.Len() != 0 {
		t.Error("a one-shot counts among the scheduled votes")
	}
}

func TestOneShotRecordsOfPeers(t *testing.T) {
	for _, c := range []struct {
		what  string
		learn func(*Votes)
		want  Refusal // for i-1
	}{
		{"nothing told", func(*Votes) {}, ""},
		{"told without a holder", func(v *Votes) { v.MarkRan("v1:same", "warm") }, RefusedAlreadyRan},
		{"told for the claimant", func(v *Votes) { v.LearnRan("v1:same", []string{"warm"}, map[string]string{"warm": "i-1"}) }, ""},
		{"told for another", func(v *Votes) { v.LearnRan("v1:same", []string{"warm"}, map[string]string{"warm": "i-2"}) }, RefusedTaken},
		{"told for two", func(v *Votes) {
			v.LearnRan("v1:same", []string{"warm"}, map[string]string{"warm": "i-1"})
			v.LearnRan("v1:same", []string{"warm"}, map[string]string{"warm": "i-2"})
		}, RefusedAlreadyRan},
		{"told under another job set", func(v *Votes) { v.MarkRan("v1:other", "warm") }, ""},
		{"another job told", func(v *Votes) { v.MarkRan("v1:same", "cold", "") }, ""},
	} {
		v := rebooted()
		c.learn(v)
		if a := ask(v, voterAt(noon, 0), "i-1", oneShotFiring); a.Refusal != c.want {
			t.Errorf("%s: %+v, want %q", c.what, a, c.want)
		}
	}
}

func TestOneShotOwnVoteOutlastsWhatPeersTell(t *testing.T) {
	v, c := rebooted(), voterAt(noon, 0)
	ask(v, c, "i-1", oneShotFiring)
	v.MarkRan("v1:same", "warm")
	v.LearnRan("v1:same", []string{"warm"}, map[string]string{"warm": "i-2"})
	if a := ask(v, c, "i-1", oneShotFiring); !a.Granted() {
		t.Errorf("the holder of the vote: %+v", a)
	}
	if a := ask(v, c, "i-2", oneShotFiring); a.Refusal != RefusedTaken {
		t.Errorf("another: %+v", a)
	}
}

func TestOneShotWaitsForAQuorum(t *testing.T) {
	for _, c := range []struct {
		size, exchanged int
		want            Refusal
	}{{1, 0, ""}, {2, 0, RefusedNotSynced}, {2, 1, ""}, {3, 0, RefusedNotSynced}, {3, 1, ""}, {5, 1, RefusedNotSynced}, {5, 2, ""}} {
		ctx, r := voterAt(noon, 0), request("i-1", oneShotFiring)
		ctx.Size, r.Size, ctx.Exchanged = c.size, c.size, c.exchanged
		if a := rebooted().Judge(ctx, r).Answers[0]; a.Refusal != c.want {
			t.Errorf("%d of %d heard: %+v, want %q", c.exchanged, c.size, a, c.want)
		}
	}
}

func TestOneShotRecordsBelongToAJobSet(t *testing.T) {
	v, c := rebooted(), voterAt(noon, 0)
	ask(v, c, "i-1", oneShotFiring)
	v.SetJobSet("v1:next")
	if v.Ran("warm") {
		t.Error("a new job set begins with old records")
	}
	c.JobSetID = "v1:next"
	r := request("i-2", oneShotFiring)
	r.JobSetID = "v1:next"
	b := v.Judge(c, r)
	if v.Record(b.Cast, c.Clock); !b.Answers[0].Granted() {
		t.Errorf("under the new job set: %+v", b.Answers[0])
	}
	v.SetJobSet("v1:same") // taken back
	c.JobSetID = "v1:same"
	if a := ask(v, c, "i-2", oneShotFiring); a.Refusal != RefusedTaken || a.Holder != "i-1" {
		t.Errorf("under the old job set again: %+v", a)
	}
}

func TestOneShotMemoryIsBounded(t *testing.T) {
	v := rebooted()
	for i := range 2 * maxRanRecords {
		v.MarkRan("v1:same", fmt.Sprint("job-", i))
	}
	if n := len(v.RanJobs()); n != maxRanRecords {
		t.Errorf("%d records, want %d", n, maxRanRecords)
	}
	if a := ask(v, voterAt(noon, 0), "i-1", oneShotFiring); !a.Granted() || !v.Ran("warm") {
		t.Errorf("own votes must find room: %+v", a)
	}
	for i := range 100 {
		v.SetJobSet(fmt.Sprint("v1:", i))
	}
	if n := len(v.oneShots.sets); n != maxJobSets || len(v.oneShots.ids) != n {
		t.Errorf("%d job sets kept, want %d", n, maxJobSets)
	}
	if v.SetJobSet("v1:99"); !slices.Equal(slices.Sorted(maps.Keys(v.oneShots.sets)), slices.Sorted(slices.Values(v.oneShots.ids))) {
		t.Error("ids and sets differ")
	}
}

func TestOneShotIsNotDurable(t *testing.T) {
	v := rebooted()
	b := v.Judge(voterAt(noon, time.Hour), request("i-1", at(0), oneShotFiring))
	if len(b.Cast) != 2 || b.Cast[0].JobSetID != "" || b.Cast[1].JobSetID != "v1:same" || !b.Cast[1].Firing.Reboot() {
		t.Errorf("cast %+v", b.Cast)
	}
}
