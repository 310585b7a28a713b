package election

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
	CodeElectionOff    = "election-off"    // no election: every node runs everything
	CodeEveryNode      = "every-node"      // the policy runs on every node
	CodeNoManager      = "no-manager"      // election configured, but no coordination
	CodeConflict       = "conflict"        // a conflict pauses Leader jobs
	CodeNoQuorum       = "no-quorum"       // no majority (gossip), no fresh read (lease)
	CodeNoLeader       = "no-leader"       // quorate, but nobody can lead or own
	CodeLeader         = "leader"          // this node leads
	CodeOwner          = "owner"           // this node owns the job (spread)
	CodeNotLeader      = "not-leader"      // another node leads
	CodeNotOwner       = "not-owner"       // another node owns the job (spread)
	CodeHold           = "hold"            // the view of a fresh manager still converges
	CodeTwin           = "twin"            // a lower instance of this node's name runs it
	CodeStopping       = "stopping"        // this node hands over
	CodeStoreFollows   = "store-reachable" // lease: the holder runs it
	CodeStoreUnreached = "store-unreached" // lease: no holder can be known, never skip
	CodeAlreadyRan     = "already-ran"     // the one-shot ran in this cluster
)

// Decision is the verdict on one firing, with its reason.
type Decision struct {
	Action Action
	Code   string // one of the Code constants
	Reason string // for people: API, log, dashboard
	Owner  string // node that runs the job instead, or this node; "" if none is known
}

// Decide says whether this node runs a due firing of a job under policy. elect is
// whether election is configured; v is nil while there is no coordination ("no
// manager"). The action is Run or Skip.
func Decide(policy Policy, elect bool, v *View, job string) Decision { return Decision{} }

// DecideRetry asks the same before a retry is launched. The action is Run, Defer (ask
// again) or Abandon (another node positively owns the job).
func DecideRetry(policy Policy, elect bool, v *View, job string) Decision { return Decision{} }

// DecideReboot asks for a pending @reboot one-shot; ran is whether the cluster knows it
// to have run under the current job-set id. The action is Run, Defer (keep pending) or
// Abandon (retire).
func DecideReboot(policy Policy, elect bool, v *View, job string, ran bool) Decision {
	return Decision{}
}
