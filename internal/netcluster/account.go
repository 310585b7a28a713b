package netcluster

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// Account is all that is known of a job's firings over some time.
type Account struct {
	From, To time.Time // both included
	Period   time.Duration
	Nodes    int

	Ran    testcluster.Entries // as the jobs wrote it
	Missed []Record            // recorded losses
	Denied []Record            // claims that were turned down
	Passed []Record            // firings that the job's own run kept from starting, as it forbids
	Grants []Grant             // votes on disk
	Deaths []Death
	// Absences are the times in which agents were not there.
	Absences []Absence
	// Deadline is how long after its instant a firing may start.
	Deadline time.Duration
	// Lasts is how long a run takes, of a job that forbids a second one beside it.
	Lasts time.Duration
}

// Balance is what an Account comes to.
type Balance struct {
	Firings int
	Ran     int
	// Doubled are the entries of firings that ran more than once.
	Doubled testcluster.Entries
	// Outvoted names firings that a majority granted to one process, and another
	// majority to another.
	Outvoted []string
	Lost     []Loss
	// Took is the longest time in which no firing ran, from one to the next.
	Took time.Duration
}

// Loss is a firing that did not run.
type Loss struct {
	Firing time.Time
	Cause  string // "" if nothing explains it
}

// Kind returns the cause without what differs between losses of one kind: names and
// times.
func (l Loss) Kind() string {
	cause := l.Cause
	if _, reason, found := strings.Cut(cause, ": "); found {
		cause = reason
	}
	return durations.ReplaceAllString(cause, "a while")
}

var durations = regexp.MustCompile(`\b[0-9.]+m?s\b`)

// Balance holds what ran against what was recorded. A firing that did not run is
// explained if any node has recorded it as missed, or as kept from starting by a run of
// its own job; if the process that it was granted to was killed after the instant, since
// it may have died before the job began; or if there is nobody who could have recorded
// it, because no agent was there from the instant to the deadline. What a job forbids
// beside itself is recorded in memory alone: then a run that went on and the death of a
// process explain it.
func (a *Account) Balance() Balance {
	b := Balance{Doubled: a.Ran.Duplicates(), Outvoted: a.outvoted()}
	times := a.Ran.Times(a.From, a.To, a.Period)
	last := a.From
	for _, at := range slices.SortedFunc(maps.Keys(times), time.Time.Compare) {
		b.Firings++
		if times[at] > 0 {
			b.Ran++
			b.Took = max(b.Took, at.Sub(last))
			last = at
			continue
		}
		b.Lost = append(b.Lost, Loss{Firing: at, Cause: a.cause(at)})
	}
	b.Took = max(b.Took, a.To.Sub(last))
	return b
}

// cause returns what explains that a firing did not run, "" if nothing does.
func (a *Account) cause(at time.Time) string {
	for _, r := range a.Missed {
		if r.covers(at) {
			return fmt.Sprintf("%s: %s", r.Node, r.Reason)
		}
	}
	for _, r := range a.Passed {
		if r.covers(at) {
			return fmt.Sprintf("%s: %s", r.Node, r.Reason)
		}
	}
	for _, r := range a.Denied {
		if !r.covers(at) {
			continue
		}
		if d, dead := a.died(r.Holder, at); dead {
			return "granted to " + d.Node + ", which was killed"
		}
	}
	for instance, n := range a.majorities(at) {
		if d, dead := a.died(instance, at); dead {
			return fmt.Sprintf("granted to %s by %d nodes, and it was killed", d.Node, n)
		}
	}
	if d, died := a.diedWith(at); died && a.ranInto(at) {
		return "a run of it went on, and what skipped it died with " + d.Node
	}
	if a.unseen(at) {
		return "no agent was there from its instant to its deadline"
	}
	return ""
}

// ranInto reports whether a run that began before the firing's instant may have gone on
// then.
func (a *Account) ranInto(at time.Time) bool {
	return a.Lasts > 0 && len(a.Ran.Between(at.Add(-a.Lasts-a.Deadline), at.Add(-1))) > 0
}

// diedWith returns the death of a process that may have taken the only record of the firing
// along: that a run forbids another is in its memory alone.
func (a *Account) diedWith(at time.Time) (Death, bool) {
	for _, d := range a.Deaths {
		if !d.At.Before(at) && !d.At.After(at.Add(a.Deadline)) {
			return d, true
		}
	}
	return Death{}, false
}

// unseen reports whether each agent was away at some time between the firing's instant
// and its deadline.
func (a *Account) unseen(at time.Time) bool {
	away := map[string]bool{}
	for _, x := range a.Absences {
		if x.From.Before(at.Add(a.Deadline)) && (x.To.IsZero() || x.To.After(at)) {
			away[x.Node] = true
		}
	}
	return len(away) == a.Nodes
}

// died returns the death of a process, told by its instance id or by the name of its
// node, after a firing's instant.
func (a *Account) died(process string, at time.Time) (Death, bool) {
	for _, d := range a.Deaths {
		if process != "" && (d.Instance == process || d.Node == process) && !d.At.Before(at) && !d.At.After(at.Add(a.Deadline)) {
			return d, true
		}
	}
	return Death{}, false
}

// majorities returns the instances to which a majority granted the firing, and how many
// nodes did.
func (a *Account) majorities(at time.Time) map[string]int {
	count := map[string]int{}
	for _, g := range a.Grants {
		if g.Firing.Equal(at) {
			count[g.Instance]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n <= a.Nodes/2 })
	return count
}

// outvoted returns the firings with two majorities.
func (a *Account) outvoted() []string {
	firings := map[time.Time]bool{}
	for _, g := range a.Grants {
		firings[g.Firing] = true
	}
	var bad []string
	for at := range firings {
		if m := a.majorities(at); len(m) > 1 {
			bad = append(bad, fmt.Sprintf("%s: %v", at.Format(time.TimeOnly), m))
		}
	}
	slices.Sort(bad)
	return bad
}

// Unexplained returns the firings that nothing explains.
func (b *Balance) Unexplained() []time.Time {
	var firings []time.Time
	for _, l := range b.Lost {
		if l.Cause == "" {
			firings = append(firings, l.Firing)
		}
	}
	return firings
}

// String returns the balance with the losses by their causes.
func (b *Balance) String() string {
	causes := map[string]int{}
	for _, l := range b.Lost {
		causes[cmp.Or(l.Kind(), "unexplained")]++
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d firings: %d ran, %d entries doubled, %d lost; longest gap %v", b.Firings, b.Ran, len(b.Doubled), len(b.Lost), b.Took)
	for _, c := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&s, "\n\t%4d  %s", causes[c], c)
	}
	return s.String()
}
