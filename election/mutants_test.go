package election

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// mutants are voters and claimants that each break one rule. The simulation is worth
// something only if it catches every one of them.
func mutants() map[string]rules {
	const longAgo = 10_000 * time.Hour
	uptime := func(more time.Duration) func(*Votes, VoterContext, ClaimRequest) Ballot {
		return func(v *Votes, c VoterContext, r ClaimRequest) Ballot {
			c.Clock.Uptime += more
			return v.Judge(c, r)
		}
	}
	return map[string]rules{
		"no fence":                    {judge: uptime(longAgo)},
		"fence without clock skew":    {judge: uptime(ClockSkew)},
		"vote twice":                  {judge: judgeTwice},
		"majority one short":          {tallySize: func(n int) int { return n - 2 }},
		"low-water mark ignored":      {pruned: func(v *Votes) { v.lowWater = time.Time{} }},
		"answer before the sync":      {answerBeforeSync: true},
		"claim again what was run":    {forgetConsumed: true},
		"one-shot granted unrecorded": {judge: judgeUnrecorded},
	}
}

// judgeTwice grants what another process holds.
func judgeTwice(v *Votes, c VoterContext, r ClaimRequest) Ballot {
	b := v.Judge(c, r)
	for i := range b.Answers {
		if b.Answers[i].Refusal == RefusedTaken {
			b.Answers[i] = Answer{}
		}
	}
	return b
}

// judgeUnrecorded forgets each grant of a one-shot.
func judgeUnrecorded(v *Votes, c VoterContext, r ClaimRequest) Ballot {
	b := v.Judge(c, r)
	kept := b.Cast[:0]
	for _, vote := range b.Cast {
		if !vote.Firing.Reboot() {
			kept = append(kept, vote)
		}
	}
	b.Cast = kept
	return b
}

// caught returns the first of up to n scenarios in which the simulation sees the
// mutant; -1 if it never does.
func caught(r rules, n int) int {
	kinds := []*rapid.Generator[scenario]{rapid.Custom(drawScenario), rapid.Custom(drawStepBack), rapid.Custom(drawRestarts)}
	for i := range n {
		sc := kinds[i%len(kinds)].Example(i)
		if w := simulate(sc, r); len(w.doubled()) > 0 && !sc.crashes() || len(w.scheduledDoubles()) > 0 {
			return i
		}
	}
	return -1
}

func TestSimulationCatchesMutants(t *testing.T) {
	for name, r := range mutants() {
		t.Run(name, func(t *testing.T) {
			if i := caught(r, 600); i < 0 {
				t.Error("not caught")
			} else {
				t.Logf("caught in scenario %d", i)
			}
		})
	}
}
