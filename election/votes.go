package election

import (
	"time"
	"unique"
)

// The times of the voter.
const (
	// ClockSkew is how far the clocks of two nodes may be apart.
	ClockSkew = 2 * time.Second
	// VoteAge is how long a vote is kept at least, by either clock, and how old a
	// firing may be that is still voted on. Starting deadlines stay well below it.
	VoteAge = 10 * time.Minute
)

// Vote is one granted firing: the value that a durable voter writes.
type Vote struct {
	Firing     Firing
	InstanceID string // to whom it was granted
	// JobSetID is the other half of an @reboot one-shot's key; "" for a scheduled
	// firing. One-shots are not durable.
	JobSetID string
}

// Clock is the two clocks of a voter at one instant.
type Clock struct {
	Wall time.Time
	// Uptime is the monotonic time since this process started; it never goes back.
	Uptime time.Duration
}

// VoterContext is everything a voter needs besides its votes and the request.
type VoterContext struct {
	Clock    Clock
	Size     int // this node's N for claims
	JobSetID string
	Policy   Distribution
	// Bound: the requester is this node itself or the instance that a configured
	// host's authenticated session showed.
	Bound bool
	// Conflict: the requester is in a conflict with this node (name, size, policy).
	Conflict bool
	// LeaderJob reports whether a job of this node's set, known by name, has the
	// policy Leader and is enabled; nil means that none has.
	LeaderJob func(job string) bool
	// Running reports whether a job runs here now; nil means that none does.
	Running func(job string) bool
	// Exchanged is the number of configured peers whose state under JobSetID this
	// process has taken in (MarkRan included) since its start.
	Exchanged int
}

// VoterContext returns the context of a request by the given instance, as far as the
// view knows it; the caller fills in LeaderJob, Running and Exchanged, and may know
// of a binding that no exchange has confirmed yet.
func (v *View) VoterContext(requester string, c Clock) VoterContext {
	bound := requester != "" && requester == v.state.InstanceID
	for i := range v.state.Peers {
		bound = bound || requester != "" && v.state.Peers[i].InstanceID == requester
	}
	return VoterContext{
		Clock:    c,
		Size:     v.claimSize,
		JobSetID: v.state.JobSetID,
		Policy:   v.Distribution(),
		Bound:    bound,
		Conflict: v.ConflictsWith(requester),
	}
}

// firingKey is a scheduled firing without what makes equal instants differ (zone,
// monotonic reading). Names are interned: the same jobs fire again and again.
type firingKey struct {
	job unique.Handle[string]
	at  int64 // nanoseconds since the epoch; judged firings lie near the present
}

func keyOf(f Firing) firingKey {
	return firingKey{unique.Make(f.Job), f.At.UnixNano()}
}

func (k firingKey) firing() Firing {
	return Firing{Job: k.job.Value(), At: time.Unix(0, k.at).UTC()}
}

// grant is one vote as it is kept.
type grant struct {
	instance unique.Handle[string]
	cast     time.Duration // uptime at which it was recorded
}

// Votes is the memory of one voter. The zero value is not ready: use NewVotes or
// RestoreVotes. It is not safe for concurrent use, and a request must be judged and
// recorded before the next one is judged.
type Votes struct {
	grants   map[firingKey]grant
	lowWater time.Time
	fenced   bool
	oneShots oneShots
}

// NewVotes returns the empty memory of a node that may have voted in an earlier life
// and forgotten: firings from before its start are fenced off.
func NewVotes() *Votes {
	return &Votes{grants: make(map[firingKey]grant), fenced: true, oneShots: newOneShots()}
}

// RestoreVotes returns the memory as an earlier life of this node left it on disk. No
// fence is needed then, so it is only for a store that existed before this start and
// was written by this very node. Restored votes age from this start on.
func RestoreVotes(votes []Vote, lowWater time.Time) *Votes {
	v := NewVotes()
	v.fenced = false
	v.lowWater = lowWater
	v.Record(votes, Clock{})
	return v
}

// Ballot is the result of judging one request.
type Ballot struct {
	Answers []Answer // one per firing, in order
	Cast    []Vote   // new votes, to be recorded before any answer is sent
}

// Judge answers a request without changing anything. The package documentation says
// what has to happen before the answers are sent.
func (v *Votes) Judge(c VoterContext, r ClaimRequest) Ballot {
	b := Ballot{Answers: make([]Answer, len(r.Firings))}
	refusal := judgeRequest(c, r)
	lines := v.lines(c)
	for i, f := range r.Firings {
		a := &b.Answers[i]
		isNew := false
		switch {
		case refusal != "":
			a.Refusal = refusal
		case c.LeaderJob == nil || !c.LeaderJob(f.Job):
			a.Refusal = RefusedNotLeader
		case f.Reboot():
			*a, isNew = v.oneShots.judge(c, r, f.Job)
		default:
			*a, isNew = v.judgeFiring(lines, r, f)
		}
		if c.Bound && c.Running != nil {
			a.Running = c.Running(f.Job)
		}
		if isNew && !r.Probe {
			vote := Vote{Firing: f, InstanceID: r.InstanceID}
			if f.Reboot() {
				vote.JobSetID = r.JobSetID
			}
			b.Cast = append(b.Cast, vote)
		}
	}
	return b
}

// judgeRequest judges what holds for all firings of a request.
func judgeRequest(c VoterContext, r ClaimRequest) Refusal {
	switch {
	case !c.Bound || r.InstanceID == "":
		return RefusedUnbound
	case len(r.Firings) > MaxFirings:
		return RefusedTooMany
	case c.Conflict:
		return RefusedConflict
	case r.Size != c.Size:
		return RefusedSize
	case r.Policy != c.Policy:
		return RefusedPolicy
	case r.JobSetID != c.JobSetID:
		return RefusedJobSet
	}
	return ""
}

// timeLines bound the instants on which a voter votes.
type timeLines struct {
	latest   time.Time
	oldest   time.Time
	lowWater time.Time // at or below: pruned
	fence    time.Time // before: possibly voted on in an earlier life; zero: no fence
}

// lines computes the bounds anew for each request, so that a corrected clock corrects
// them too.
func (v *Votes) lines(c VoterContext) timeLines {
	now := c.Clock.Wall.Round(0)
	l := timeLines{latest: now.Add(ClockSkew), oldest: now.Add(-VoteAge), lowWater: v.lowWater}
	if v.fenced {
		// The earlier life could vote on firings up to ClockSkew ahead of its end, or, if
		// this node is the only one, the clock may have been set back by that since.
		l.fence = now.Add(-c.Clock.Uptime).Add(ClockSkew)
	}
	return l
}

func (v *Votes) judgeFiring(l timeLines, r ClaimRequest, f Firing) (a Answer, isNew bool) {
	switch {
	case f.At.After(l.latest):
		return Answer{Refusal: RefusedTooEarly}, false
	case f.At.Before(l.oldest), !l.lowWater.IsZero() && !f.At.After(l.lowWater):
		return Answer{Refusal: RefusedTooOld}, false
	}
	// The fence comes after the votes: what this life granted, it remembers.
	if g, ok := v.grants[keyOf(f)]; ok {
		if holder := g.instance.Value(); holder != r.InstanceID {
			return Answer{Refusal: RefusedTaken, Holder: holder}, false
		}
		return Answer{}, false
	}
	if f.At.Before(l.fence) {
		return Answer{Refusal: RefusedFenced}, false
	}
	return Answer{}, true
}

// Voted returns to whom this voter gave its vote for a scheduled firing, and how long ago
// at uptime; "" if it did not.
func (v *Votes) Voted(f Firing, uptime time.Duration) (instance string, ago time.Duration) {
	g, ok := v.grants[keyOf(f)]
	if !ok {
		return "", 0
	}
	return g.instance.Value(), uptime - g.cast
}

// Record remembers votes. It is called before the next request is judged, and with a
// durable voter the answers wait until the votes are on disk too.
func (v *Votes) Record(votes []Vote, c Clock) {
	for _, vote := range votes {
		if vote.Firing.Reboot() {
			v.oneShots.grant(vote)
			continue
		}
		v.grants[keyOf(vote.Firing)] = grant{unique.Make(vote.InstanceID), c.Uptime}
	}
}

// Withdraw forgets votes just recorded whose answers were never sent, because the disk
// refused them; the answers become RefusedStorage. A vote that reached the disk all
// the same does no harm: it can only refuse.
func (v *Votes) Withdraw(votes []Vote) {
	for _, vote := range votes {
		if vote.Firing.Reboot() {
			v.oneShots.withdraw(vote)
			continue
		}
		if g, ok := v.grants[keyOf(vote.Firing)]; ok && g.instance.Value() == vote.InstanceID {
			delete(v.grants, keyOf(vote.Firing))
		}
	}
}

// Pruning lists what may be forgotten and the low-water mark that stands for it.
type Pruning struct {
	Votes    []Vote
	LowWater time.Time
}

// Expired returns what may be forgotten by now, without changing anything: votes that
// are VoteAge old by the monotonic clock and whose instants are that old by the wall
// clock. Both, because a wall clock that once jumped ahead must neither free a firing
// that could still be claimed nor (as a mark at its now would) deny the next hour.
func (v *Votes) Expired(c Clock) Pruning {
	p := Pruning{LowWater: v.lowWater}
	oldest := c.Wall.Round(0).Add(-VoteAge)
	for key, g := range v.grants {
		f := key.firing()
		if c.Uptime-g.cast < VoteAge || !f.At.Before(oldest) {
			continue
		}
		p.Votes = append(p.Votes, Vote{Firing: f, InstanceID: g.instance.Value()})
		if f.At.After(p.LowWater) {
			p.LowWater = f.At
		}
	}
	return p
}

// Prune forgets the votes of p and raises the mark, after a durable voter has written
// both.
func (v *Votes) Prune(p Pruning) {
	for _, vote := range p.Votes {
		delete(v.grants, keyOf(vote.Firing))
	}
	if p.LowWater.After(v.lowWater) {
		v.lowWater = p.LowWater
	}
}

// LowWater returns the highest scheduled instant that was ever pruned; zero if none.
func (v *Votes) LowWater() time.Time { return v.lowWater }

// Len returns the number of scheduled votes held.
func (v *Votes) Len() int { return len(v.grants) }
