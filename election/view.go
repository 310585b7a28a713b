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
	Holder  string    // observed holder, "" if none
	Expiry  time.Time // local deadline while this node leads, else zero
	// Detail holds the backend's own fields of the API's lease block.
	Detail map[string]any
}

// View is an immutable snapshot with everything that follows from one State computed
// once. Its methods are pure and safe for concurrent use; what they return must not be
// changed.
type View struct {
	state State
}

// NewView computes the view of s. It keeps s: the caller must not change what s
// refers to afterwards.
func NewView(s State) *View { return &View{state: s} }

func (v *View) State() State                         { return v.state }
func (v *View) NodeName() string                     { return v.state.NodeName }
func (v *View) InstanceID() string                   { return v.state.InstanceID }
func (v *View) JobSetID() string                     { return v.state.JobSetID }
func (v *View) Backend() string                      { return v.state.Backend }
func (v *View) ElectLeader() bool                    { return v.state.ElectLeader }
func (v *View) Distribution() Distribution           { return v.state.Distribution }
func (v *View) Stopping() bool                       { return v.state.Stopping }
func (v *View) Peers() []Peer                        { return v.state.Peers }
func (v *View) Lease() *Lease                        { return v.state.Lease }
func (v *View) Size() int                            { return 0 } // N as displayed and elected with
func (v *View) ClaimSize() int                       { return 0 } // N for claims
func (v *View) Quorum() int                          { return 0 }
func (v *View) Quorate() bool                        { return false }
func (v *View) MutualAgreeing() []string             { return nil }
func (v *View) BridgeCandidates() []string           { return nil }
func (v *View) Eligible() []string                   { return nil }
func (v *View) UnconfirmedContenders() []string      { return nil }
func (v *View) AvailableContenders() []string        { return nil }
func (v *View) Leader() string                       { return "" } // "" none; raw election, before the conflict gate
func (v *View) IsLeader() bool                       { return false }
func (v *View) JobOwner(job string) string           { return "" }
func (v *View) IsJobOwner(job string) bool           { return false }
func (v *View) AvailableLeader() string              { return "" }
func (v *View) IsAvailableLeader() bool              { return false } // false while held or a lower twin runs
func (v *View) AvailableOwner(job string) string     { return "" }
func (v *View) IsAvailableOwner(job string) bool     { return false }
func (v *View) Settled() bool                        { return false } // no hold
func (v *View) Conflict() bool                       { return false }
func (v *View) ConflictNames() []string              { return nil }
func (v *View) ConflictingSizes() []int              { return nil }
func (v *View) ConflictingPolicies() []string        { return nil }
func (v *View) Report(ranReboot []string) Report     { return Report{} } // what this node tells its peers
func (v *View) ConflictsWith(instanceID string) bool { return false }    // the requester is in conflict with this node
