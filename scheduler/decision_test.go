package scheduler

import (
	"testing"
	"time"
)

func TestDecisionsCoalesce(t *testing.T) {
	var r decisionRing
	at := time.Unix(1_900_000_000, 0)
	step := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	for i := range 100 {
		r.add(Decided{Firing: step(i), At: step(i), Outcome: DecidedSkipped, Code: "not-leader", Owner: "a"})
	}
	r.add(Decided{Firing: step(100), Outcome: DecidedSkipped, Code: "not-leader", Owner: "c"})
	r.add(Decided{Firing: step(101), Outcome: DecidedPending, Code: "unsettled"})
	r.add(Decided{Firing: step(101), Outcome: DecidedPending, Code: "conflict"})
	r.add(Decided{Firing: step(101), Outcome: DecidedRun, Code: "granted"})
	if len(r.rows) != 3 {
		t.Fatalf("%+v", r.rows)
	}
	if v := r.rows[0]; v.Count != 100 || !v.First.Equal(at) || !v.Firing.Equal(step(99)) || !v.At.Equal(step(99)) {
		t.Errorf("%+v", v)
	}
	if v := r.newest(); v.Code != "granted" || v.Count != 1 {
		t.Errorf("%+v", v)
	}
	for i := range 100 {
		r.add(Decided{Firing: step(200 + i), Outcome: DecidedRun, Code: time.Duration(i).String()})
	}
	if len(r.rows) != decisionsKept || r.rows[0].Code != "84ns" {
		t.Errorf("%d rows from %+v", len(r.rows), r.rows[0])
	}
	if (&decisionRing{}).newest() != nil {
		t.Error("newest of nothing")
	}
}
