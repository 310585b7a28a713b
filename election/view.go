package election

import "time"

// State is everything from which a View is computed: what one node knows of the
// cluster at one instant. Gossip fills Peers, a lease backend fills Lease.
type State struct {
	Backend        string // gossip, etcd, kubernetes, consul
	NodeName       string
	InstanceID     string // random per process start
	JobSetID       string
	ElectLeader    bool
	Distribution   Distribution
	Stopping       bool // this node hands over
	ConfiguredSize int  // configured peers after clean-up + 1; 0 on lease backends
	Rounds         int  // scheduled rounds completed by this manager
	Peers          []Peer
	Lease          *Lease // nil on gossip
}

// Lease is what a lease backend knows of its store at one instant.
type Lease struct {
	// Fresh: a read of the store succeeded within one lease duration.
	Fresh bool
	// Leading: this node holds the lease and its local deadline has not passed.
	Leading bool
	// Own: the observed record names this very process, even if its local deadline
	// has passed. Nobody else acts as the holder then.
	Own    bool
	Holder string // observed holder, "" if none
	// HolderID names the hold, as the HolderID of verdicts on what was granted under
	// it; different for every process that acquires the lease, "" if nobody holds it.
	HolderID string
	Expiry   time.Time // local deadline while this node leads, else zero
	// Former names the last other holder that is gone, or out of sight with the store,
	// FormerSeen is until when it is known to have led; "" if there was none.
	Former     string
	FormerSeen time.Time
	// Detail holds the backend's own fields of the API's lease block.
	Detail map[string]any
}

// View is an immutable snapshot with everything that follows from one State computed
// once. Its methods are pure and safe for concurrent use; what they return must not be
// changed.
//
// Leader and JobOwner are the raw election; the conflict gate is part of Decide.
type View struct {
	state State

	size, claimSize, quorum int

	mutual               []string // sorted; a name twice if two instances bear it
	bridges              []string
	eligible             []string
	unconfirmed          []string
	availableContenders  []string
	electorate           []string // {me} ∪ eligible without stopping nodes
	spreadElectorate     []string // the same ∪ unconfirmed contenders
	availableElectorate  []string // {me} ∪ mutual ∪ available contenders, likewise
	twins                []twin   // lower instances of this node's name
	settled              bool
	unconfirmedMutual    bool // a mutual peer has not told that it sees a quorum
	conflictNames        []string
	conflictingSizes     []int
	conflictingPolicies  []string
	conflictingInstances map[string]bool // instances with which this node is in conflict
}

// NewView computes the view of s. It keeps s: the caller must not change what s
// refers to afterwards.
func NewView(s State) *View {
	v := &View{state: s}
	if s.Lease != nil {
		v.size, v.claimSize, v.quorum = 1, 1, 1
		v.settled = true
		return v
	}
	v.compute()
	return v
}

// State returns the state from which the view was computed.
func (v *View) State() State { return v.state }

// NodeName returns this node's name.
func (v *View) NodeName() string { return v.state.NodeName }

// InstanceID returns the id of this process.
func (v *View) InstanceID() string { return v.state.InstanceID }

// JobSetID returns the fingerprint of this node's jobs.
func (v *View) JobSetID() string { return v.state.JobSetID }

// Backend returns gossip, etcd, kubernetes or consul.
func (v *View) Backend() string { return v.state.Backend }

// ElectLeader reports whether election is on; a lease backend always elects.
func (v *View) ElectLeader() bool { return v.state.ElectLeader || v.state.Lease != nil }

// Distribution returns how gated jobs are spread; a lease has a single leader.
func (v *View) Distribution() Distribution {
	if v.state.Lease != nil || v.state.Distribution == "" {
		return SingleLeader
	}
	return v.state.Distribution
}

// Stopping reports whether this node hands over.
func (v *View) Stopping() bool { return v.state.Stopping }

// Peers returns the peer rows in configured order; none on a lease backend.
func (v *View) Peers() []Peer { return v.state.Peers }

// Lease returns the lease, nil on gossip.
func (v *View) Lease() *Lease { return v.state.Lease }

// Size returns N as the election uses and shows it: the configured size without self
// rows and without rows that turned out to be one instance. 1 on a lease backend.
func (v *View) Size() int { return v.size }

// ClaimSize returns N as claims use it: the configured size without self rows. A name
// that resolves to another host for a while must not shrink a quorum, so rows of one
// instance still count apart.
func (v *View) ClaimSize() int { return v.claimSize }

// Quorum returns the strict majority of Size.
func (v *View) Quorum() int { return v.quorum }

// Quorate reports whether this node sees a quorum; on a lease backend, whether its
// last read of the store is fresh.
func (v *View) Quorate() bool {
	if l := v.state.Lease; l != nil {
		return l.Fresh
	}
	return 1+len(v.mutual) >= v.quorum
}

// MutualAgreeing lists the names of the peers that agree with this node and say so of
// this node too; sorted, one entry per instance.
func (v *View) MutualAgreeing() []string { return v.mutual }

// BridgeCandidates lists nodes out of this node's reach that enough of its mutual
// peers agree with; sorted.
func (v *View) BridgeCandidates() []string { return v.bridges }

// Eligible lists the peers that this node can confirm to be quorate themselves: what
// it vouches for; sorted. Stopping peers are left out.
func (v *View) Eligible() []string { return v.eligible }

// UnconfirmedContenders lists nodes that a mutual peer vouches for and that this node
// can't confirm; sorted.
func (v *View) UnconfirmedContenders() []string { return v.unconfirmed }

// AvailableContenders lists nodes out of this node's reach that a mutual peer agrees
// with; sorted.
func (v *View) AvailableContenders() []string { return v.availableContenders }

// Leader returns the leader's name, "" if there is none.
func (v *View) Leader() string {
	if l := v.state.Lease; l != nil {
		switch {
		case l.Leading:
			return v.state.NodeName
		case l.Fresh:
			return l.Holder
		}
		return ""
	}
	if !v.Quorate() {
		return ""
	}
	return first(v.electorate)
}

// IsLeader reports whether this node leads.
func (v *View) IsLeader() bool {
	if l := v.state.Lease; l != nil {
		return l.Leading && !v.state.Stopping
	}
	return v.isMe(v.Leader())
}

// JobOwner returns the owner of job under spread, "" if there is none. On a lease
// backend the leader owns every job.
func (v *View) JobOwner(job string) string {
	if v.state.Lease != nil {
		return v.Leader()
	}
	if !v.Quorate() {
		return ""
	}
	return rendezvous(job, v.spreadElectorate)
}

// IsJobOwner reports whether this node owns job under spread.
func (v *View) IsJobOwner(job string) bool {
	if v.state.Lease != nil {
		return v.IsLeader()
	}
	return v.isMe(v.JobOwner(job))
}

// AvailableLeader returns the node that runs PreferLeader jobs as far as this node can
// tell, quorum or not; "" only while this node stops and knows no other.
func (v *View) AvailableLeader() string {
	if v.state.Lease != nil {
		return v.availableHolder()
	}
	return first(v.availableElectorate)
}

// IsAvailableLeader reports whether this node runs PreferLeader jobs: it is the
// available leader, its view is settled, and no lower instance of its name does.
func (v *View) IsAvailableLeader() bool {
	return v.isMe(v.AvailableLeader()) && v.settled && v.lowerTwin() == ""
}

// AvailableOwner is AvailableLeader for one job under spread.
func (v *View) AvailableOwner(job string) string {
	if v.state.Lease != nil {
		return v.availableHolder()
	}
	return rendezvous(job, v.availableElectorate)
}

// IsAvailableOwner is IsAvailableLeader for one job under spread.
func (v *View) IsAvailableOwner(job string) bool {
	return v.isMe(v.AvailableOwner(job)) && v.settled && v.lowerTwinOf(job) == ""
}

// Settled reports that the view has converged after the start of its manager. Until
// then the never-skip gates are held shut.
func (v *View) Settled() bool { return v.settled }

// Conflict reports whether any conflict pauses Leader jobs.
func (v *View) Conflict() bool {
	return len(v.conflictNames) > 0 || len(v.conflictingSizes) > 0 || len(v.conflictingPolicies) > 0
}

// ConflictNames lists the names that two or more instances bear; sorted.
func (v *View) ConflictNames() []string { return v.conflictNames }

// ConflictingSizes lists the other sizes that agreed peers declare; sorted.
func (v *View) ConflictingSizes() []int { return v.conflictingSizes }

// ConflictingPolicies describes the other distributions and elect-leader settings that
// agreed peers declare, theirs first; sorted.
func (v *View) ConflictingPolicies() []string { return v.conflictingPolicies }

// ConflictsWith reports whether the instance is in a conflict with this node: it bears
// this node's name or a name that another instance bears too, or it declares another
// size or policy.
func (v *View) ConflictsWith(instanceID string) bool { return v.conflictingInstances[instanceID] }

// isMe reports whether an elected name means this process. A stopping node is never
// in an electorate; if its name is, a namesake is meant. So it is if another process
// holds the lease.
func (v *View) isMe(elected string) bool {
	return elected != "" && elected == v.state.NodeName && !v.state.Stopping && !v.heldElsewhere()
}

// heldElsewhere reports whether another process is seen to hold the lease.
func (v *View) heldElsewhere() bool {
	l := v.state.Lease
	return l != nil && l.Fresh && !l.Leading && !l.Own && l.Holder != ""
}

// availableHolder is the lease form of the never-skip rule: whoever can see a holder
// defers to it, whoever can't runs the job.
func (v *View) availableHolder() string {
	if v.heldElsewhere() {
		return v.state.Lease.Holder
	}
	if v.state.Stopping {
		return ""
	}
	return v.state.NodeName
}
