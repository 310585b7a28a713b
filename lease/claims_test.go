package lease

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func drawInstant(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()
}

func TestClaimKeysSortByInstantAndTellIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawInstant(t), drawInstant(t)
		job := rapid.String().Draw(t, "job")
		x, y := ClaimKey(job, a), ClaimKey(rapid.String().Draw(t, "other job"), b)
		if got, err := ParseClaimKey(x); err != nil || !got.Equal(a) {
			t.Fatalf("%s is of %s: %v, %v", x, a, got, err)
		}
		if a.Before(b) && x >= y || a.After(b) && x <= y {
			t.Fatalf("%s and %s do not sort like %s and %s", x, y, a, b)
		}
		if !strings.HasPrefix(x, ClaimPrefix(a)) || !a.Equal(b) && strings.HasPrefix(y, ClaimPrefix(a)) {
			t.Fatalf("prefix %s of %s, beside %s", ClaimPrefix(a), x, y)
		}
	})
}

func TestParseClaimKeyRefuses(t *testing.T) {
	for _, key := range []string{"", "x", "20261130T120000.000000000Z", "20261130T120000.000000000Z/", "20261130T120000.000000000Z/8",
		"20261130T120000.000000000Z/-1", "20261130T120000Z/1", "20261330T120000.000000000Z/1", "20261130T120000.000000000Z/1/2"} {
		if at, err := ParseClaimKey(key); err == nil {
			t.Errorf("%q is taken for %s", key, at)
		}
	}
}

func TestShardsShareTheWork(t *testing.T) {
	shards := map[string]int{}
	for i := range 8000 {
		shards[ClaimKey(fmt.Sprintf("job-%d", i), noon)]++
	}
	for key, n := range shards {
		if n < 800 || n > 1200 {
			t.Errorf("%s has %d of 8000 jobs", key, n)
		}
	}
	if len(shards) != ClaimShards {
		t.Errorf("%d shards, want %d", len(shards), ClaimShards)
	}
}

func TestDecodeClaimsRefusesNonsense(t *testing.T) {
	for _, data := range []string{"x", "[]", `{"jobs":{"a":0}}`, `{"claimants":[{}],"jobs":{"a":1}}`, `{"claimants":[{}],"jobs":{"a":-1}}`, `{"claimants":[{"token":-1}]}`} {
		if c, err := DecodeClaims([]byte(data)); err == nil {
			t.Errorf("%s is taken for %+v", data, c)
		}
	}
}

func FuzzDecodeClaims(f *testing.F) {
	f.Add([]byte(`{"claimants":[{"token":7,"instance":"i","node":"n"}],"jobs":{"a":0}}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeClaims(data)
		if err != nil {
			return
		}
		for job := range c.Jobs {
			if _, given := c.Claimant(job); !given {
				t.Fatalf("%q is in the record and not given", job)
			}
		}
		encoded, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeClaims(encoded)
		if err != nil || len(again.Jobs) != len(c.Jobs) {
			t.Fatalf("%s decodes to %+v, %v", encoded, again, err)
		}
	})
}

func FuzzDecodeRan(f *testing.F) {
	f.Add([]byte(`[{"jobSetId":"v1:a","jobs":{"boot":"i"}}]`), "v1:a", "boot")
	f.Add([]byte(`[null]`), "", "")
	f.Fuzz(func(t *testing.T, data []byte, set, job string) {
		r, err := DecodeRan(data)
		if err != nil {
			return
		}
		if by, ran := r.Add(set, job, "me").Ran(set, job); by != "me" || !ran {
			t.Fatalf("%s after adding %q under %q: %q, %v", data, job, set, by, ran)
		}
	})
}

// A batch never gives what is given, however its writes fail, and settles everything once
// they do not.
func TestBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := map[string]memoryRecord{}
		owners := map[election.Firing]string{}
		var version uint64
		for round := range rapid.IntRange(1, 6).Draw(t, "claimants") {
			me := Claimant{Token: uint64(round + 1), Instance: fmt.Sprintf("i%d", round%3), Node: "n"}
			var firings []election.Firing
			for i := range rapid.IntRange(1, 40).Draw(t, "firings") {
				firings = append(firings, election.Firing{Job: fmt.Sprintf("job-%d", i), At: noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "instant")) * time.Second)})
			}
			b := NewBatch(me, firings)
			limit := rapid.IntRange(1, 9).Draw(t, "records at once")
			for {
				writes, err := b.Next(noon.Add(-time.Second), limit, rapid.IntRange(1, 4000).Draw(t, "bytes"))
				if err != nil {
					t.Fatal(err)
				}
				if len(writes) == 0 {
					break
				}
				if len(writes) > limit {
					t.Fatalf("%d records at once, the limit is %d", len(writes), limit)
				}
				if slices.ContainsFunc(writes, func(w ClaimWrite) bool { return records[w.Key].version != w.Revision }) {
					for _, w := range writes {
						if err := b.Saw(w.Key, records[w.Key].data, records[w.Key].version); err != nil {
							t.Fatal(err)
						}
					}
					continue
				}
				for _, w := range writes {
					version++
					records[w.Key] = memoryRecord{w.Data, version}
				}
				if rapid.Bool().Draw(t, "answered") {
					b.Written(writes)
				}
			}
			for i, v := range b.Verdicts() {
				f := firings[i]
				switch owner := owners[f]; {
				case v.Outcome == election.Pending:
					t.Fatalf("%v is not settled", f)
				case v.Outcome == election.Granted && owner != "" && owner != me.Instance:
					t.Fatalf("%v was given to %s and to %s", f, owner, me.Instance)
				case v.Outcome == election.Denied && (owner == "" || owner == me.Instance):
					t.Fatalf("%v of %q was denied to %s", f, owner, me.Instance)
				case v.Outcome == election.Granted:
					owners[f] = me.Instance
				}
			}
		}
	})
}

func TestFloorDeniesWhatMayHaveBeenGiven(t *testing.T) {
	at := func(s int) election.Firing {
		return election.Firing{Job: "a", At: noon.Add(time.Duration(s) * time.Second)}
	}
	b := NewBatch(Claimant{Token: 1, Instance: "i"}, []election.Firing{at(-1), at(0), at(1)})
	writes, err := b.Next(noon, 100, 1<<20)
	if err != nil || len(writes) != 1 || writes[0].Key != ClaimKey("a", noon.Add(time.Second)) {
		t.Fatalf("writes %+v, %v", writes, err)
	}
	b.Written(writes)
	for i, want := range []election.Outcome{election.Denied, election.Denied, election.Granted} {
		if v := b.Verdicts()[i]; v.Outcome != want || want == election.Denied && v.Code != string(election.RefusedTooOld) {
			t.Errorf("firing %d: %+v, want %s", i, v, want)
		}
	}
}

// A record goes only when it has been seen for long enough by the steady clock and the
// wall clock says that it is old, and none goes before an older one.
func TestPruning(t *testing.T) {
	keys := []string{ClaimKey("a", noon), ClaimKey("a", noon.Add(time.Minute)), ClaimKey("a", noon.Add(2*time.Minute))}
	var p Pruning
	for i, step := range []struct {
		now, clock time.Duration // after noon, after the start
		keys       int
		floor      time.Duration // after noon; -1: none
	}{
		{0, 0, 1, -1},
		{time.Hour, time.Minute, 2, -1},        // the wall clock has jumped
		{ClaimAge - 1, ClaimAge, 2, -1},        // and back
		{ClaimAge, ClaimAge, 3, 0},             // the first is old by both clocks
		{ClaimAge + time.Hour, ClaimAge, 3, 0}, // the second was seen later
		{ClaimAge + time.Hour, ClaimAge + time.Minute, 3, time.Minute},
		{0, 3 * ClaimAge, 3, -1},
		{time.Hour, 3 * ClaimAge, 3, 2 * time.Minute},
	} {
		floor, err := p.Due(keys[:step.keys], noon.Add(step.now), step.clock)
		want := noon.Add(step.floor)
		if step.floor < 0 {
			want = time.Time{}
		}
		if err != nil || !floor.Equal(want) {
			t.Errorf("step %d: floor %s, %v; want %s", i, floor, err, want)
		}
	}
	if _, err := p.Due([]string{"nonsense"}, noon, 0); err == nil {
		t.Error("a key that is none went unnoticed")
	}
}

func TestRanRecordForgetsTheOldestSets(t *testing.T) {
	var r RanRecord
	for i := range maxRanSets + 1 {
		r = r.Add(fmt.Sprint("set-", i), "boot", "i")
		r = r.Add(fmt.Sprint("set-", i), "warm", "j")
	}
	if _, ran := r.Ran("set-0", "boot"); ran {
		t.Error("the oldest set is still there")
	}
	if got := r.Jobs("set-1"); !reflect.DeepEqual(got, []string{"boot", "warm"}) {
		t.Errorf("jobs of the second set: %v", got)
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeRan(data)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%s decodes to %+v, %v", data, again, err)
	}
	if !json.Valid(data) {
		t.Errorf("%s", data)
	}
	if empty, err := (RanRecord{}).Encode(); err != nil || string(empty) != "[]" {
		t.Errorf("an empty record is %s, %v", empty, err)
	}
}
