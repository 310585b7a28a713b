package election

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAttestationVectors(t *testing.T) {
	type round struct {
		Kind       string
		Untrusted  bool
		NodeName   string `json:"node_name"`
		InstanceID string `json:"instance_id"`
		JobSetID   string `json:"job_set_id"`
		Scheme     string
		Status     Status
		Streak     int `json:"mismatch_streak"`
	}
	for _, file := range vectorFiles(t, "attestation.json") {
		var cases []struct {
			DriftAfter int `json:"drift_after"`
			Self       round
			Rounds     []round
		}
		readVectors(t, file, &cases)
		if len(cases) == 0 {
			t.Fatalf("%s: no cases", file)
		}
		for i, c := range cases {
			self := Self{NodeName: c.Self.NodeName, InstanceID: c.Self.InstanceID, JobSetID: c.Self.JobSetID, DriftAfter: c.DriftAfter}
			row := Peer{Host: "peer:1", Status: StatusUnknown}
			for j, r := range c.Rounds {
				o := Observation{Scheduled: true}
				switch r.Kind {
				case "success":
					// The vectors keep the scheme apart from the id.
					id := r.Scheme + ":" + strings.TrimPrefix(r.JobSetID, "v1:")
					o.Report = Report{NodeName: r.NodeName, InstanceID: r.InstanceID, JobSetID: id}
				case "failure":
					o.Failure = &Failure{Untrusted: r.Untrusted, Text: "x"}
				default:
					t.Fatalf("%s: case %d round %d: kind %q", file, i, j, r.Kind)
				}
				row = Observe(row, self, o)
				if row.Status != r.Status || row.MismatchStreak != r.Streak {
					t.Fatalf("%s: case %d round %d: %s with streak %d, want %s with %d",
						file, i, j, row.Status, row.MismatchStreak, r.Status, r.Streak)
				}
			}
		}
	}
}

var testSelf = Self{NodeName: "a", InstanceID: "ia", JobSetID: "v1:same", DriftAfter: 3}

// seen returns an answered scheduled exchange.
func seen(r Report) Observation { return Observation{Scheduled: true, Report: r} }

func TestObserveExtraExchangesNeverAddToTheStreak(t *testing.T) {
	row := Observe(Peer{}, testSelf, seen(Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:other"}))
	for range 10 {
		row = Observe(row, testSelf, Observation{Report: Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:other"}})
		if row.Status != StatusSyncing || row.MismatchStreak != 1 {
			t.Fatalf("an extra exchange led to %s, streak %d", row.Status, row.MismatchStreak)
		}
	}
	row = Observe(row, testSelf, Observation{Report: Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:same"}})
	if row.Status != StatusAgreed || row.MismatchStreak != 0 {
		t.Fatalf("an extra exchange with agreement led to %s, streak %d", row.Status, row.MismatchStreak)
	}
}

func TestObserveFirstContactByAnExtraExchangeIsSyncing(t *testing.T) {
	self := testSelf
	self.DriftAfter = 1
	row := Observe(Peer{}, self, Observation{Report: Report{NodeName: "b", InstanceID: "ib", JobSetID: "v1:other"}})
	if row.Status != StatusSyncing || row.MismatchStreak != 0 {
		t.Fatalf("%s, streak %d; want syncing, 0", row.Status, row.MismatchStreak)
	}
}

func TestObserveFailureDropsWhatWasTold(t *testing.T) {
	elect := true
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	report := Report{
		NodeName: "b", InstanceID: "ib", JobSetID: "v1:same", Size: 3, Policy: Spread, ElectLeader: &elect,
		Members:        []Member{{NodeName: "b", InstanceID: "ib", Agreed: true}},
		MutualAgreeing: []string{"a"}, QuorateVouched: []string{"a"}, RanRebootJobs: []string{"warm"}, Stopping: true,
	}
	row := Observe(Peer{Host: "b:1"}, testSelf, Observation{At: at, Report: report})
	got := Observe(row, testSelf, Observation{At: at.Add(time.Minute), Failure: &Failure{Untrusted: true, Text: "expired"}})
	want := Peer{
		Host: "b:1", Status: StatusUntrusted, NodeName: "b", InstanceID: "ib", JobSetID: "v1:same",
		LastSeen: at, LastError: "expired",
		DeclaredSize: 3, DeclaredPolicy: Spread, DeclaredElectLeader: &elect, Stopping: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	got = Observe(got, testSelf, Observation{At: at, Report: Report{NodeName: "b", InstanceID: "ib2", JobSetID: "v1:same"}})
	want = Peer{Host: "b:1", Status: StatusAgreed, NodeName: "b", InstanceID: "ib2", JobSetID: "v1:same", LastSeen: at}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("after the next answer\ngot  %+v\nwant %+v", got, want)
	}
}

func TestObserveFailureWithoutTextIsStillAFailure(t *testing.T) {
	if row := Observe(Peer{}, testSelf, Observation{Failure: &Failure{}}); row.LastError == "" || row.Status != StatusUnreachable {
		t.Fatalf("%s, error %q", row.Status, row.LastError)
	}
}

func TestObserveSelfIsLatchedUntilAnAnswerSaysOtherwise(t *testing.T) {
	row := Observe(Peer{}, testSelf, seen(Report{NodeName: "a", InstanceID: "ia", JobSetID: "v1:same"}))
	for range 3 {
		if row = Observe(row, testSelf, Observation{Scheduled: true, Failure: &Failure{}}); row.Status != StatusSelf {
			t.Fatalf("a failure made self %s", row.Status)
		}
	}
	if row = Observe(row, testSelf, seen(Report{NodeName: "a", InstanceID: "ix", JobSetID: "v1:same"})); row.Status != StatusConflict {
		t.Fatalf("another instance made self %s", row.Status)
	}
}
