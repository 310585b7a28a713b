package election

import (
	"strings"
	"testing"
)

func peerVoter(name string) Voter {
	return Voter{Host: name + ":1", InstanceID: "i-" + name, NodeName: name}
}

var ownVoter = Voter{InstanceID: "i-me", NodeName: "me"}

func yes() Answer                  { return Answer{} }
func no(r Refusal) Answer          { return Answer{Refusal: r} }
func takenBy(holder string) Answer { return Answer{Refusal: RefusedTaken, Holder: holder} }

func TestTally(t *testing.T) {
	type given struct {
		voter Voter
		a     Answer
	}
	b, c, d, e := peerVoter("b"), peerVoter("c"), peerVoter("d"), peerVoter("e")
	for _, tc := range []struct {
		what    string
		n       int
		answers []given
		outcome Outcome
		code    string
		holder  string
		says    string
	}{
		{"nothing yet", 3, nil, Pending, CodeUnanswered, "", "0 of 3 votes so far, 2 are needed; no answer from 3"},
		{"alone", 1, []given{{ownVoter, yes()}}, Granted, "", "", ""},
		{"majority", 3, []given{{b, yes()}, {ownVoter, yes()}}, Granted, "", "", ""},
		{"majority of peers", 3, []given{{b, yes()}, {c, yes()}}, Granted, "", "", ""},
		{"one short", 5, []given{{b, yes()}, {ownVoter, yes()}}, Pending, CodeUnanswered, "", "2 of 5"},
		{"half is no majority", 4, []given{{b, yes()}, {ownVoter, yes()}}, Pending, CodeUnanswered, "", "3 are needed"},
		{"taken", 3, []given{{b, takenBy("i-b")}, {c, takenBy("i-b")}}, Denied, "taken", "node b", "node b holds it (2 of 3"},
		{"taken by one vote, and own vote gone there too", 3, []given{{b, takenBy("i-b")}, {ownVoter, takenBy("i-b")}}, Denied, "taken", "node b", "holds"},
		{"taken by one vote alone", 3, []given{{b, takenBy("i-b")}}, Pending, "taken", "", "1 had given their vote to another"},
		{"split", 4, []given{{b, yes()}, {ownVoter, yes()}, {c, takenBy("i-c")}, {d, takenBy("i-c")}}, Denied, CodeSplit, "", "2 of 4 for this node, 2 for others"},
		{"split three ways", 3, []given{{b, takenBy("i-b")}, {c, takenBy("i-c")}, {ownVoter, yes()}}, Denied, CodeSplit, "", "split"},
		{"split may yet be won by another", 5, []given{{b, yes()}, {c, takenBy("i-c")}, {d, takenBy("i-c")}, {e, takenBy("i-c")}}, Denied, "taken", "node c", "3 of 5"},
		{"fenced", 3, []given{{b, no(RefusedFenced)}, {c, no(RefusedFenced)}}, Denied, "fenced", "",
			"2 of 3 nodes had started too recently to know whether they voted before (b, c)"},
		{"no room for votes", 3, []given{{c, no(RefusedStorage)}, {ownVoter, no(RefusedStorage)}, {b, yes()}}, Pending, "storage", "",
			"2 could not store their vote (c, me)"},
		{"too old", 3, []given{{b, no(RefusedTooOld)}, {c, no(RefusedTooOld)}}, Denied, "too-old", "", "too old"},
		{"ran", 2, []given{{b, no(RefusedAlreadyRan)}}, Denied, "already-ran", "", "had run"},
		{"may change", 3, []given{{b, no(RefusedJobSet)}, {c, no(RefusedJobSet)}}, Pending, "job-set", "", "2 had another job set (b, c); no answer from 1"},
		{"a newer version's word", 3, []given{{b, no("moon-phase")}, {c, no("moon-phase")}}, Pending, "moon-phase", "", "does not know"},
		{"one host, two lives", 3, []given{{b, yes()}, {Voter{Host: b.Host, InstanceID: "i-b2"}, yes()}}, Pending, CodeUnanswered, "", "1 of 3"},
		{"two hosts, one process", 3, []given{{b, yes()}, {Voter{Host: "alias:1", InstanceID: "i-b"}, yes()}}, Pending, CodeUnanswered, "", "1 of 3"},
		{"this very process behind a host", 3, []given{{Voter{Host: "alias:1", InstanceID: "i-me"}, yes()}, {ownVoter, yes()}}, Pending, CodeUnanswered, "", "1 of 3"},
		{"a grant outlives its voter", 3, []given{{b, yes()}, {Voter{Host: b.Host, InstanceID: "i-b2"}, no(RefusedFenced)}, {ownVoter, yes()}}, Granted, "", "", ""},
		{"a refusal does not", 3, []given{{b, no(RefusedJobSet)}, {b, yes()}, {ownVoter, yes()}}, Granted, "", "", ""},
	} {
		tally := NewTally(tc.n)
		for _, g := range tc.answers {
			tally.Add(g.voter, g.a)
		}
		v := tally.Verdict(func(id string) string {
			if name, ok := strings.CutPrefix(id, "i-"); ok {
				return "node " + name
			}
			return ""
		})
		if v.Outcome != tc.outcome || v.Code != tc.code || v.Holder != tc.holder || !strings.Contains(v.Reason, tc.says) {
			t.Errorf("%s: %+v; want %v %q held by %q, saying %q", tc.what, v, tc.outcome, tc.code, tc.holder, tc.says)
		}
		if (v.Reason == "") != (v.Outcome == Granted) || v.Token != 0 {
			t.Errorf("%s: %+v", tc.what, v)
		}
	}
}

func TestTallyOwnVoteIsCastLast(t *testing.T) {
	alone := NewTally(1)
	if !alone.OwnVoteDue() {
		t.Error("alone: the own vote decides")
	}
	tally := NewTally(5)
	for i, name := range []string{"b", "c"} {
		if tally.OwnVoteDue() {
			t.Fatalf("due after %d peers", i)
		}
		tally.Add(peerVoter(name), yes())
	}
	if !tally.OwnVoteDue() {
		t.Fatal("not due although it decides")
	}
	tally.Add(ownVoter, yes())
	if tally.OwnVoteDue() {
		t.Error("due twice")
	}
	if !tally.Answered("") || !tally.Answered("b:1") || tally.Answered("d:1") {
		t.Error("Answered is wrong")
	}
}

func TestTallyRunningOn(t *testing.T) {
	tally := NewTally(3)
	tally.Add(Voter{Host: "z:1", InstanceID: "i-z"}, Answer{Refusal: RefusedFenced, Running: true})
	if v := tally.Verdict(nil); v.RunningOn != "z:1" {
		t.Errorf("running on %q, want the host of a node without a name", v.RunningOn)
	}
	tally.Add(peerVoter("c"), Answer{Running: true})
	tally.Add(ownVoter, Answer{Running: true})
	if v := tally.Verdict(nil); v.RunningOn != "c" || v.Outcome != Granted {
		t.Errorf("%+v, want running on c", v)
	}
	tally.Add(peerVoter("c"), Answer{}) // it has ended meanwhile
	if v := tally.Verdict(nil); v.RunningOn != "z:1" || v.Outcome != Granted {
		t.Errorf("%+v, want running on z alone", v)
	}
}

func TestRefusals(t *testing.T) {
	all := []Refusal{RefusedSize, RefusedJobSet, RefusedPolicy, RefusedUnbound, RefusedConflict, RefusedTooMany,
		RefusedNotLeader, RefusedTooEarly, RefusedTooOld, RefusedFenced, RefusedTaken, RefusedAlreadyRan,
		RefusedNotSynced, RefusedStorage, RefusedOther}
	texts := make(map[string]Refusal)
	for _, r := range all {
		if earlier, ok := texts[r.Text()]; ok || r.Text() == "" {
			t.Errorf("%s and %s read the same: %q", r, earlier, r.Text())
		}
		texts[r.Text()] = r
		if ParseRefusal(string(r)) != r {
			t.Errorf("%s does not parse", r)
		}
	}
	for _, r := range []Refusal{RefusedTooOld, RefusedFenced, RefusedTaken, RefusedAlreadyRan} {
		if !r.Final() {
			t.Errorf("%s can change", r)
		}
	}
	for _, r := range []Refusal{"", RefusedSize, RefusedJobSet, RefusedPolicy, RefusedUnbound, RefusedConflict,
		RefusedTooEarly, RefusedNotSynced, RefusedStorage, RefusedOther, "moon-phase"} {
		if r.Final() {
			t.Errorf("%q can't change", r)
		}
	}
	if ParseRefusal("moon-phase") != RefusedOther || ParseRefusal("") != "" || Refusal("").Text() == "" || Refusal("x").Text() == "" {
		t.Error("unknown codes")
	}
}

// Whether a process holds a firing can be told although it is gone: it casts its own vote
// when that makes the majority.
func TestTallyKnowsWhoHolds(t *testing.T) {
	b, c, d := peerVoter("b"), peerVoter("c"), peerVoter("d")
	taken := takenBy("i-b")
	type given struct {
		voter Voter
		a     Answer
	}
	for _, tc := range []struct {
		what    string
		n       int
		answers []given
		holder  string
		held    bool
		certain bool
	}{
		{"nobody", 3, []given{{c, yes()}, {ownVoter, no(RefusedFenced)}}, "", false, false},
		{"the holder says so itself", 3, []given{{b, taken}, {c, taken}}, "i-b", true, true},
		{"the holder is gone", 3, []given{{c, taken}, {ownVoter, taken}}, "i-b", true, true},
		{"one vote and that of the holder who is gone", 3, []given{{c, taken}, {ownVoter, yes()}}, "i-b", true, false},
		{"the holder does not know of it", 3, []given{{c, taken}, {b, yes()}}, "i-b", false, false},
		{"half", 4, []given{{b, taken}, {c, taken}, {d, takenBy("i-d")}}, "i-b", false, false},
		{"a process that is no voter", 3, []given{{b, takenBy("i-x")}, {c, no(RefusedFenced)}, {ownVoter, no(RefusedFenced)}}, "i-x", false, false},
	} {
		tally := NewTally(tc.n)
		for _, g := range tc.answers {
			tally.Add(g.voter, g.a)
		}
		if v := tally.Verdict(nil); v.HolderID != tc.holder || v.Held != tc.held || (v.Held && !v.Presumed) != tc.certain {
			t.Errorf("%s: %+v", tc.what, v)
		}
	}
}
