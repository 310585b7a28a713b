package scheduler

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// leased is a view by a lease of this node, b.
func leased(l election.Lease) *election.View {
	l.Fresh = l.HolderID != "" || l.Fresh
	l.Leading = l.Holder == "b"
	l.Own = l.Leading
	return election.NewView(election.State{Backend: "etcd", NodeName: "b", InstanceID: "ib", JobSetID: "v1:a", ElectLeader: true, Lease: &l})
}

// A follower leaves what is due to the holder of the lease. Once it leads itself, or
// another one does, it finds out about what the former holder had claimed.
func TestFiringsUnderALease(t *testing.T) {
	first := leased(election.Lease{Holder: "a", HolderID: "7"})
	for name, c := range map[string]struct {
		then    *election.View // soon after the firing was due
		verdict election.Verdict
		heard   time.Duration // of the first holder, after the instant
		asked   []string
		missed  []string
		probed  bool
	}{
		"the same leads on":           {first, heldBy("7"), 0, nil, nil, false},
		"this one leads":              {leased(election.Lease{Holder: "b", HolderID: "9"}), heldBy(""), 0, []string{"00:01:00"}, nil, false},
		"another, and nobody ran it":  {leased(election.Lease{Holder: "c", HolderID: "9"}), heldBy(""), 0, nil, []string{"00:01:00 unclaimed"}, true},
		"another, and the first did":  {leased(election.Lease{Holder: "c", HolderID: "9"}), heldBy("7"), 3 * time.Second, nil, nil, true},
		"another, and it did itself":  {leased(election.Lease{Holder: "c", HolderID: "9"}), heldBy("9"), 0, nil, nil, true},
		"another; the first may have": {leased(election.Lease{Holder: "c", HolderID: "9"}), heldBy("7"), 0, nil, []string{"00:01:00 untold"}, true},
		"nobody for the whole time":   {leased(election.Lease{Fresh: true}), heldBy(""), 0, nil, []string{"00:01:00 no-leader"}, true},
		"the store is out of reach":   {leased(election.Lease{}), heldBy("7"), 0, nil, []string{"00:01:00 unknown"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				co := &probed{fakeCoordinator: newFakeCoordinator(first), verdict: c.verdict}
				h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.Leader), startsWithin(20*time.Second)))
				wait(time.Minute)
				co.heard = time.Now().Add(c.heard)
				wait(time.Second)
				co.set(c.then)
				wait(5 * time.Minute)
				equal(t, "asked", co.askedFor("j"), c.asked)
				equal(t, "missed", h.history.missedOf("j"), c.missed)
				if got := len(co.probes) > 0; got != c.probed {
					t.Errorf("probed %v", co.probes)
				}
			})
		})
	}
}

// A PreferLeader job runs late for what came after the former holder was last known to
// lead.
func TestPreferLeaderUnderALease(t *testing.T) {
	for seen, runs := range map[time.Duration]int{-time.Second: 1, time.Second: 0} {
		bubble(t, func(t *testing.T, h *harness) {
			co := &probed{fakeCoordinator: newFakeCoordinator(leased(election.Lease{Holder: "a", HolderID: "7"}))}
			h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.PreferLeader), startsWithin(20*time.Second)))
			wait(time.Minute)
			due := time.Now()
			wait(3 * time.Second)
			co.set(leased(election.Lease{Holder: "b", HolderID: "9", Former: "a", FormerSeen: due.Add(seen)}))
			wait(time.Minute)
			if got := len(h.runner.of("j")); got != runs {
				t.Errorf("the former holder was last seen %s after the instant: %d runs, want %d", seen, got, runs)
			}
		})
	}
}
