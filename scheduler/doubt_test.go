package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// probed is a coordinator that knows who holds firings.
type probed struct {
	*fakeCoordinator
	verdict election.Verdict // of every firing
	heard   time.Time        // from any holder
	voted   time.Time
	probes  []string
}

func (p *probed) Probe(_ context.Context, firings []election.Firing) []election.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdicts := make([]election.Verdict, len(firings))
	for i, f := range firings {
		p.probes = append(p.probes, f.Job+" "+f.At.Format("15:04:05"))
		verdicts[i] = p.verdict
	}
	return verdicts
}

func (p *probed) Witness(election.Firing, string) (voted, heard time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.voted, p.heard
}

// heldBy is the verdict on a firing for which an instance has a majority; "": nobody.
func heldBy(instance string) election.Verdict {
	if instance == "" {
		return election.Verdict{Outcome: election.Granted}
	}
	return election.Verdict{Outcome: election.Denied, Code: string(election.RefusedTaken), Holder: instance[1:],
		HolderID: instance, Held: true, Reason: "votes are taken"}
}

// What a node could not run because it was cut off is a loss only if nobody else had it.
// That is asked when the node is back, and for two minutes at most.
func TestFiringsOfANodeThatWasCutOff(t *testing.T) {
	lost := func() *election.View { return alone(time.Now()) }
	for name, c := range map[string]struct {
		verdict election.Verdict
		after   time.Duration // until it is back; 0: never
		missed  []string
	}{
		"another node ran it":        {heldBy("ic"), 40 * time.Second, nil},
		"nobody ran it":              {heldBy(""), 40 * time.Second, []string{"00:01:00 no-quorum"}},
		"votes were split":           {election.Verdict{Outcome: election.Denied, Code: election.CodeSplit}, 40 * time.Second, []string{"00:01:00 split"}},
		"back before the deadline":   {heldBy("ic"), 5 * time.Second, nil},
		"too few can tell":           {election.Verdict{Code: election.CodeUnanswered}, 40 * time.Second, []string{"00:01:00 unknown"}},
		"another had too few votes":  {election.Verdict{Code: "taken", HolderID: "ic", Holder: "c"}, 40 * time.Second, []string{"00:01:00 unknown"}},
		"this node, and too late":    {heldBy("ib"), 40 * time.Second, []string{"00:01:00 no-quorum"}},
		"its own vote is not told":   {election.Verdict{Code: "taken", HolderID: "ic", Holder: "c", Held: true, Presumed: true}, 40 * time.Second, []string{"00:01:00 untold"}},
		"never back":                 {heldBy("ic"), 0, []string{"00:01:00 unknown"}},
		"the others are in conflict": {election.Verdict{Code: "conflict"}, 40 * time.Second, []string{"00:01:00 no-quorum"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				co := &probed{fakeCoordinator: newFakeCoordinator(lost()), verdict: c.verdict}
				h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.Leader), startsWithin(20*time.Second)))
				wait(time.Minute + c.after)
				if c.after != 0 {
					co.set(following())
				}
				wait(time.Minute)
				if len(c.missed) > 0 && c.missed[0] == "00:01:00 unknown" {
					equal(t, "missed before it is certain", h.history.missedOf("j"), nil)
				}
				wait(2 * time.Minute)
				equal(t, "missed", h.history.missedOf("j"), c.missed)
			})
		})
	}
}

// A firing that another process holds is lost if that process ended before it started the
// job. It runs if the process goes on, or was heard from long enough after it was due.
func TestFiringsOfAHolderThatDied(t *testing.T) {
	gone := func() *election.View { return leading(time.Now()) }
	reborn := func() *election.View {
		s := following().State()
		s.Peers = slices.Clone(s.Peers)
		s.Peers[0].InstanceID = "ia2"
		return election.NewView(s)
	}
	stopped := func() *election.View {
		s := leading(time.Now()).State()
		s.Peers = slices.Clone(s.Peers)
		s.Peers[0].Stopping = true
		return election.NewView(s)
	}
	for name, c := range map[string]struct {
		then   func() *election.View // after the takeover
		heard  time.Duration         // after the instant, for the last time
		voted  time.Duration         // likewise
		missed []string
		probes int // 0: nobody is asked
	}{
		"it lives":                                {following, 0, 0, nil, 0},
		"it stopped in peace":                     {stopped, 0, 0, nil, 0},
		"it is gone":                              {gone, 0, 0, []string{"00:01:00 untold"}, 1},
		"another process came":                    {reborn, 0, 0, []string{"00:01:00 untold"}, 1},
		"it went on for a while":                  {gone, 3 * time.Second, 0, nil, 1},
		"it went on, but had it only at the end":  {gone, 3 * time.Second, 2500 * time.Millisecond, []string{"00:01:00 untold"}, 1},
		"another process came, after it had gone": {reborn, 3 * time.Second, 0, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, h *harness) {
				co := &probed{fakeCoordinator: newFakeCoordinator(following()), verdict: heldBy("ia")}
				co.answers(func(election.Firing) election.Verdict { return heldBy("ia") })
				h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.Leader), startsWithin(20*time.Second)))
				wait(time.Minute)
				due := time.Now()
				co.heard, co.voted = due.Add(c.heard), due.Add(c.voted)
				wait(4 * time.Second)
				co.set(gone())
				wait(time.Second)
				co.set(c.then())
				wait(10 * time.Minute)
				equal(t, "asked", co.askedFor("j"), []string{"00:01:00"})
				equal(t, "missed", h.history.missedOf("j"), c.missed)
				if got := len(co.probes); got > 0 != (c.probes > 0) {
					t.Errorf("probed %v", co.probes)
				}
			})
		})
	}
}

// The process that leads does not know of a firing if it came when its clock had passed
// the instant.
func TestFiringsFromBeforeTheLeaderCame(t *testing.T) {
	for before, missed := range map[time.Duration][]string{time.Second: {"00:01:00 unclaimed"}, 10 * time.Second: nil} {
		bubble(t, func(t *testing.T, h *harness) {
			co := &probed{fakeCoordinator: newFakeCoordinator(leading(time.Now()))}
			h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.Leader), startsWithin(20*time.Second)))
			wait(time.Minute - before)
			s := following().State()
			s.Peers = slices.Clone(s.Peers)
			s.Peers[0].InstanceID = "ia2"
			for i := range s.Peers {
				s.Peers[i].Members = nil
			}
			co.set(election.NewView(s))
			wait(5 * time.Minute)
			equal(t, "missed", h.history.missedOf("j"), missed)
		})
	}
}

// What is in doubt when the agent stops is written down as such.
func TestDoubtsEndWithTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T, h *harness) {
		co := &probed{fakeCoordinator: newFakeCoordinator(alone(time.Now()))}
		h.begin(true, co, testJob(t, "j", "1 0 * * *", policy(election.Leader), startsWithin(20*time.Second)))
		wait(90 * time.Second)
		equal(t, "missed", h.history.missedOf("j"), nil)
		h.Quiesce()
		wait(0)
		equal(t, "missed", h.history.missedOf("j"), []string{"00:01:00 unknown"})
	})
}
