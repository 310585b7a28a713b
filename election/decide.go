package election

import "fmt"

// Action is what a node does with one firing, retry or one-shot.
type Action int

// The actions.
const (
	// Skip: not here, not now; the firing is over for this node unless it gains
	// ownership within the starting deadline.
	Skip Action = iota
	// Run it here. A scheduled Leader firing under election still needs its claim.
	Run
	// Defer: ask again later (a retry or a pending @reboot one-shot).
	Defer
	// Abandon: give the retry or the one-shot up for good.
	Abandon
)

// String returns the action in lower case.
func (a Action) String() string {
	switch a {
	case Run:
		return "run"
	case Defer:
		return "defer"
	case Abandon:
		return "abandon"
	}
	return "skip"
}

// The codes of decisions: stable, for the API, metrics and tests.
const (
	CodeElectionOff   = "election-off"   // no election: every node runs everything
	CodeEveryNode     = "every-node"     // the policy runs on every node
	CodeNoManager     = "no-manager"     // election configured, but no coordination
	CodeStopping      = "stopping"       // this node hands over
	CodeConflict      = "conflict"       // a conflict pauses Leader jobs
	CodeNoQuorum      = "no-quorum"      // no majority (gossip), no fresh read (lease)
	CodeNoLeader      = "no-leader"      // quorate, but no node can lead or own
	CodeLeader        = "leader"         // this node leads
	CodeOwner         = "owner"          // this node owns the job (spread)
	CodeNotLeader     = "not-leader"     // another node leads
	CodeNotOwner      = "not-owner"      // another node owns the job (spread)
	CodeHold          = "hold"           // the view of a fresh manager still converges
	CodeTwin          = "twin"           // a lower instance of this node's name runs it
	CodeNoHolder      = "no-holder"      // lease: no holder to be seen, so never skip
	CodeAlreadyRan    = "already-ran"    // the one-shot ran in this cluster
	CodeUnknownPolicy = "unknown-policy" // no such policy: fail closed
)

// Decision is the verdict on one firing, with its reason.
type Decision struct {
	Action Action
	Code   string // one of the Code constants
	Reason string // for people: API, log, dashboard
	Owner  string // the node whose firing it is as far as known, this one included
}

// Decide says whether this node runs a due firing of a job under policy. elect is
// whether election is configured; v is nil while there is no coordination ("no
// manager"). The action is Run or Skip.
func Decide(policy Policy, elect bool, v *View, job string) Decision {
	switch {
	case !elect:
		return Decision{Action: Run, Code: CodeElectionOff, Reason: "no election is configured: this node runs all of its jobs"}
	case policy == EveryNode:
		return Decision{Action: Run, Code: CodeEveryNode, Reason: "every node runs this job"}
	case policy == Leader && v == nil:
		return Decision{Code: CodeNoManager, Reason: "the cluster backend is not running, so Leader jobs stay idle"}
	case policy == PreferLeader && v == nil:
		return Decision{Action: Run, Code: CodeNoManager, Reason: "the cluster backend is not running; a PreferLeader job runs anyway"}
	case policy == Leader:
		return v.decideLeader(job)
	case policy == PreferLeader:
		return v.decidePreferLeader(job)
	}
	return Decision{Code: CodeUnknownPolicy, Reason: fmt.Sprintf("unknown cluster policy %q", policy)}
}

// DecideRetry asks the same before a retry is launched. The action is Run, Defer (the
// cause is transient, ask again) or Abandon (another node positively owns the job, so
// that running here could double).
func DecideRetry(policy Policy, elect bool, v *View, job string) Decision {
	d := Decide(policy, elect, v, job)
	if d.Action == Run {
		return d
	}
	d.Action = Defer
	if v == nil || v.Conflict() || !v.Quorate() || !v.Settled() {
		return d
	}
	if owner := v.availableFor(job); owner != "" && !v.isMe(owner) {
		d.Action = Abandon
	}
	return d
}

// DecideReboot asks for a pending @reboot one-shot; ran is whether the cluster knows it
// to have run under the current job-set id. The action is Run, Defer (keep pending) or
// Abandon (retire). A Leader one-shot still needs its claim, and it waits for a settled
// view: it has one chance only, so nodes that for a moment all take themselves for the
// leader must not split the votes for it.
func DecideReboot(policy Policy, elect bool, v *View, job string, ran bool) Decision {
	if ran && elect && policy != EveryNode {
		return Decision{Action: Abandon, Code: CodeAlreadyRan, Reason: "it has run in this cluster already"}
	}
	d := Decide(policy, elect, v, job)
	switch {
	case d.Action != Run:
		d.Action = Defer
	case elect && policy == Leader && v.converging():
		d.Action, d.Code, d.Reason = Defer, CodeHold, holdReason
	}
	return d
}

const holdReason = "the cluster view is still converging after the start"

func (v *View) decideLeader(job string) Decision {
	owner := v.Leader()
	if v.spreads() {
		owner = v.JobOwner(job)
	}
	switch {
	case v.Stopping():
		return v.stopping(owner)
	case v.Conflict():
		return Decision{Code: CodeConflict, Reason: "Leader jobs are paused: " + v.ConflictText(), Owner: owner}
	case !v.Quorate() && v.Lease() != nil:
		return Decision{Code: CodeNoQuorum, Reason: "the lease store has not answered for a whole lease duration"}
	case !v.Quorate():
		return Decision{Code: CodeNoQuorum, Reason: fmt.Sprintf("no quorum: %d of %d nodes agree with each other, %d are needed",
			1+len(v.mutual), v.size, v.quorum)}
	case v.Lease() != nil && !v.IsLeader() && owner == v.NodeName():
		// A namesake, or this process past its own deadline.
		return Decision{Code: CodeNotLeader, Reason: "this process does not hold the lease", Owner: owner}
	case owner == "":
		return Decision{Code: CodeNoLeader, Reason: "no node can lead at the moment"}
	}
	return v.owned(owner)
}

func (v *View) decidePreferLeader(job string) Decision {
	owner := v.availableFor(job)
	twin := v.lowerTwin()
	if v.spreads() {
		twin = v.lowerTwinOf(job)
	}
	switch l := v.Lease(); {
	case v.Stopping():
		return v.stopping(owner)
	case v.heldElsewhere() && owner == v.NodeName():
		return Decision{Code: CodeTwin, Reason: "another process that bears this node's name holds the lease", Owner: owner}
	case l != nil && v.isMe(owner) && !l.Leading && !l.Fresh:
		return Decision{Action: Run, Code: CodeNoHolder, Owner: owner,
			Reason: "the lease store has not answered for a whole lease duration; a PreferLeader job runs anyway"}
	case l != nil && v.isMe(owner) && !l.Leading:
		return Decision{Action: Run, Code: CodeNoHolder, Owner: owner,
			Reason: "no other node holds the lease; a PreferLeader job runs anyway"}
	case !v.Settled():
		return Decision{Code: CodeHold, Reason: holdReason, Owner: owner}
	case v.isMe(owner) && twin != "":
		return Decision{Code: CodeTwin, Owner: owner,
			Reason: fmt.Sprintf("another process bears the name %s and a lower instance id (%s): it runs the job", owner, twin)}
	}
	return v.owned(owner)
}

// owned is the verdict once it is clear whose job it is.
func (v *View) owned(owner string) Decision {
	d := Decision{Owner: owner}
	switch mine := v.isMe(owner); {
	case mine && v.spreads():
		d.Action, d.Code, d.Reason = Run, CodeOwner, "this node owns the job"
	case mine:
		d.Action, d.Code, d.Reason = Run, CodeLeader, "this node leads"
	case v.spreads():
		d.Code, d.Reason = CodeNotOwner, owner+" owns the job"
	default:
		d.Code, d.Reason = CodeNotLeader, owner+" leads"
	}
	return d
}

func (v *View) stopping(owner string) Decision {
	d := Decision{Code: CodeStopping, Reason: "this node is stopping", Owner: owner}
	if owner != "" {
		d.Reason += "; " + owner + " takes over"
	}
	return d
}

// spreads reports whether each job has an owner of its own.
func (v *View) spreads() bool { return v.Distribution() == Spread }

// availableFor returns the node that runs job under the never-skip rule.
func (v *View) availableFor(job string) string {
	if v.spreads() {
		return v.AvailableOwner(job)
	}
	return v.AvailableLeader()
}
