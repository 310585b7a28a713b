package election

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Voter names one node that answers a claim.
type Voter struct {
	// Host is the configured host that was asked; "" for the claimant's own vote.
	// One host is one vote, whichever of its instances answers.
	Host       string
	InstanceID string
	NodeName   string
}

func (v Voter) own() bool { return v.Host == "" }

// Codes of verdicts that no single voter's refusal describes; the others are those of
// Refusal.
const (
	// CodeSplit: competing claimants hold so many votes each that none can win.
	CodeSplit = "split"
	// CodeUnanswered: too few voters have answered.
	CodeUnanswered = "unanswered"
)

// Tally counts the answers on one firing. It is not safe for concurrent use.
type Tally struct {
	n       int
	answers []counted
}

type counted struct {
	voter  Voter
	answer Answer
}

// NewTally returns the empty tally of one firing in a cluster of n voters, the
// claimant among them; n below 1 counts as 1.
func NewTally(n int) *Tally { return &Tally{n: max(n, 1)} }

// Add counts one answer. A later answer of the same host replaces a refusal, never a
// grant: a grant is for ever, even if the voter has died since.
func (t *Tally) Add(voter Voter, a Answer) {
	i := slices.IndexFunc(t.answers, func(c counted) bool { return c.voter.Host == voter.Host })
	switch {
	case i < 0:
		t.answers = append(t.answers, counted{voter, a})
	case !t.answers[i].answer.Granted():
		t.answers[i] = counted{voter, a}
	default:
		t.answers[i].answer.Running = a.Running
	}
}

// Answered reports whether the configured host ("" for the claimant itself) has
// answered, whatever it said.
func (t *Tally) Answered(host string) bool {
	return slices.ContainsFunc(t.answers, func(c counted) bool { return c.voter.Host == host })
}

// OwnVoteDue reports whether the peers' grants and the claimant's own vote would make
// a majority: now is the time to cast it.
func (t *Tally) OwnVoteDue() bool { return !t.Answered("") && t.granted()+1 >= Quorum(t.n) }

// granted returns the number of nodes that granted. Two hosts behind which one
// instance answers are one node.
func (t *Tally) granted() int {
	n := 0
	for i, c := range t.answers {
		if c.answer.Granted() && !slices.ContainsFunc(t.answers[:i], func(e counted) bool {
			return e.answer.Granted() && e.voter.InstanceID == c.voter.InstanceID
		}) {
			n++
		}
	}
	return n
}

// Outcome says where the claim stands, without the words of Verdict.
func (t *Tally) Outcome() Outcome {
	refused := 0
	for _, c := range t.answers {
		if c.answer.Refusal.Final() {
			refused++
		}
	}
	switch quorum := Quorum(t.n); {
	case t.granted() >= quorum:
		return Granted
	case t.n-refused < quorum:
		return Denied
	}
	return Pending
}

// Verdict says where the claim stands, and why. name translates an instance id into a node
// name; nil, or a name of "", leaves the id.
func (t *Tally) Verdict(name func(instanceID string) string) Verdict {
	v := Verdict{Outcome: t.Outcome(), RunningOn: t.runningOn()}
	if v.Outcome == Granted {
		return v
	}
	votes, taken := t.holders()
	if taken > 0 {
		v.HolderID = slices.MinFunc(slices.Sorted(maps.Keys(votes)), func(a, b string) int {
			return cmp.Compare(votes[b], votes[a]) // the first of those with most votes
		})
		certain := votes[v.HolderID] >= Quorum(t.n)
		v.Held = certain || votes[v.HolderID]+t.silent(v.HolderID) >= Quorum(t.n)
		v.Presumed = v.Held && !certain
	}
	switch granted := t.granted(); v.Outcome {
	case Denied:
		t.explainDenial(&v, granted, votes, taken, name)
	case Pending:
		t.explainPending(&v, granted)
	}
	return v
}

// runningOn returns the lowest name of the peers where the job runs.
func (t *Tally) runningOn() string {
	var on string
	for _, c := range t.answers {
		if !c.answer.Running || c.voter.own() {
			continue
		}
		if where := cmp.Or(c.voter.NodeName, c.voter.Host); on == "" || where < on {
			on = where
		}
	}
	return on
}

// holders returns how many voters had given their vote to which other process, and how
// many there are in all.
func (t *Tally) holders() (votes map[string]int, taken int) {
	votes = make(map[string]int)
	for _, c := range t.answers {
		if c.answer.Refusal == RefusedTaken {
			votes[c.answer.Holder]++
			taken++
		}
	}
	return votes, taken
}

// silent returns 1 if the instance is a voter that has not answered: a claimant that
// others voted for has cast its own vote when that made the majority.
func (t *Tally) silent(instance string) int {
	if instance == "" || len(t.answers) == t.n || slices.ContainsFunc(t.answers, func(c counted) bool { return c.voter.InstanceID == instance }) {
		return 0
	}
	return 1
}

// explainDenial fills in why no majority can be had any more.
func (t *Tally) explainDenial(v *Verdict, granted int, votes map[string]int, taken int, name func(string) string) {
	if taken == 0 {
		refusal, n := t.mostFrequent(Refusal.Final)
		v.Code = string(refusal)
		v.Reason = fmt.Sprintf("no majority can be had: %d of %d nodes %s%s", n, t.n, refusal.Text(), t.refusers(refusal))
		return
	}
	holder := v.HolderID
	// Nodes that have not answered, or not for good, may all have voted for it.
	decided := 0
	for _, c := range t.answers {
		if c.answer.Granted() || c.answer.Refusal.Final() {
			decided++
		}
	}
	open := t.n - decided
	if votes[holder]+open < Quorum(t.n) && (granted > 0 || len(votes) > 1) {
		v.Code = CodeSplit
		v.Reason = fmt.Sprintf("competing claims split the votes: %d of %d for this node, %d for others", granted, t.n, taken)
		return
	}
	v.Code = string(RefusedTaken)
	v.Holder = holder
	if name != nil {
		v.Holder = cmp.Or(name(holder), holder)
	}
	v.Reason = fmt.Sprintf("%s holds it (%d of %d votes seen)", v.Holder, votes[holder], t.n)
}

// explainPending fills in what is still missing.
func (t *Tally) explainPending(v *Verdict, granted int) {
	v.Code = CodeUnanswered
	v.Reason = fmt.Sprintf("%d of %d votes so far, %d are needed", granted, t.n, Quorum(t.n))
	if refusal, n := t.mostFrequent(func(Refusal) bool { return true }); n > 0 {
		v.Code = string(refusal)
		v.Reason += fmt.Sprintf("; %d %s%s", n, refusal.Text(), t.refusers(refusal))
	}
	if silent := t.n - len(t.answers); silent > 0 {
		v.Reason += fmt.Sprintf("; no answer from %d", silent)
	}
}

// refusers names the voters with a refusal, in brackets: somebody has to look there. What
// came of a vote that another process has got is no fault of theirs.
func (t *Tally) refusers(refusal Refusal) string {
	if refusal == RefusedTaken {
		return ""
	}
	var names []string
	for _, c := range t.answers {
		if c.answer.Refusal == refusal {
			names = append(names, cmp.Or(c.voter.NodeName, c.voter.Host))
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	if len(names) == 0 {
		return ""
	}
	return " (" + listed(names) + ")"
}

// mostFrequent returns the refusal given most often among those that count, the first
// by code if several are, and how often; 0 if there is none.
func (t *Tally) mostFrequent(counts func(Refusal) bool) (refusal Refusal, n int) {
	times := make(map[Refusal]int)
	for _, c := range t.answers {
		if r := c.answer.Refusal; r != "" && counts(r) {
			times[r]++
		}
	}
	for _, r := range slices.Sorted(maps.Keys(times)) {
		if times[r] > n {
			refusal, n = r, times[r]
		}
	}
	return refusal, n
}
