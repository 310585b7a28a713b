package election

import "time"

// Vote is one granted firing: the value that a durable voter writes.
type Vote struct {
	Firing     Firing
	InstanceID string // to whom it was granted
}

// Clock is the voter's two clocks at one instant.
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
	// policy Leader and is enabled.
	LeaderJob func(job string) bool
	// Running reports whether a job runs here now; nil means that none does.
	Running func(job string) bool
	// Exchanged is the number of configured peers with which this process has
	// exchanged state since its start.
	Exchanged int
}

// Votes is the memory of one voter. The zero value is not ready: use NewVotes or
// RestoreVotes. It is not safe for concurrent use.
type Votes struct{}

// NewVotes returns the empty memory of a node that may have voted in an earlier life
// and forgotten: firings from before its start are fenced off.
func NewVotes() *Votes { return &Votes{} }

// RestoreVotes returns the memory as an earlier life of this node left it on disk. No
// fence is needed then.
func RestoreVotes(votes []Vote, lowWater time.Time) *Votes { return &Votes{} }

// Ballot is the result of judging one request.
type Ballot struct {
	Answers []Answer // one per firing, in order
	Cast    []Vote   // new votes, to be recorded before any answer is sent
}

// Judge answers a request without changing anything.
func (v *Votes) Judge(c VoterContext, r ClaimRequest) Ballot { return Ballot{} }

// Record remembers votes. A durable voter writes them first or right after, and
// answers only when they are on disk.
func (v *Votes) Record(votes []Vote, c Clock) {}

// Withdraw forgets votes just recorded whose answers were never sent (the disk
// refused them).
func (v *Votes) Withdraw(votes []Vote) {}

// Pruning lists what may be forgotten and the low-water mark that replaces it.
type Pruning struct {
	Votes    []Vote
	LowWater time.Time
}

// Expired returns what may be forgotten by now, without changing anything.
func (v *Votes) Expired(c Clock) Pruning { return Pruning{} }

// Prune applies p, after a durable voter has written the new mark.
func (v *Votes) Prune(p Pruning) {}

// LowWater returns the highest scheduled instant that was ever pruned; zero if none.
func (v *Votes) LowWater() time.Time { return time.Time{} }

// Len returns the number of scheduled votes held.
func (v *Votes) Len() int { return 0 }

// SetJobSet scopes the @reboot records: under a new id they start empty.
func (v *Votes) SetJobSet(id string) {}

// MarkRan records @reboot jobs as run under the job-set id. Records under another id
// than the current one are ignored.
func (v *Votes) MarkRan(jobSetID string, jobs ...string) {}

// Ran reports whether the job's one-shot is known to have run (or been granted).
func (v *Votes) Ran(job string) bool { return false }

// RanJobs lists the jobs known to have run, sorted.
func (v *Votes) RanJobs() []string { return nil }
