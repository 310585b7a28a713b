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
// once. Its methods are pure.
type View struct {
	state State
}

// NewView computes the view of s. It keeps s: the caller must not change what s
// refers to afterwards.
func NewView(s State) *View { return &View{state: s} }
