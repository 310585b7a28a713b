package api

import (
	"encoding/json"
	"maps"
)

// Cluster is the answer to GET /cluster: the cluster as the answering node sees it.
// While Enabled is false only Enabled, Peers and Error are on the wire.
type Cluster struct {
	Enabled  bool   `json:"enabled"`
	Backend  string `json:"backend"` // gossip, etcd, kubernetes, consul
	NodeName string `json:"node_name"`
	JobSetID string `json:"job_set_id"`
	// ClusterSize counts this node too; 1 on lease backends, like Quorum.
	ClusterSize  int    `json:"cluster_size"`
	Quorum       int    `json:"quorum"`
	ElectLeader  bool   `json:"elect_leader"`
	Distribution string `json:"distribution"` // single-leader or spread

	// Conflict is set if any of the three conflicts is.
	Conflict            bool     `json:"conflict"`
	ConflictNames       []string `json:"conflict_names"` // used by two processes, sorted
	SizeConflict        bool     `json:"size_conflict"`
	ConflictingSizes    []int    `json:"conflicting_sizes"`
	PolicyConflict      bool     `json:"policy_conflict"`
	ConflictingPolicies []string `json:"conflicting_policies"`

	Quorate bool `json:"quorate"`
	// Leader is null without quorum, and always under spread.
	Leader NullString `json:"leader"`
	// IsLeader is always false under spread.
	IsLeader bool   `json:"is_leader"`
	Peers    []Peer `json:"peers"` // in configured order; empty on lease backends
	// Lease is absent on gossip.
	Lease *Lease `json:"lease,omitempty"`

	// The rest is absent where it does not apply.

	// Error says why a configured cluster does not take part.
	Error      string `json:"error,omitempty"`
	InstanceID string `json:"instance_id,omitempty"` // of this process
	Stopping   bool   `json:"stopping,omitempty"`    // this node hands over
	// Agreeing counts the nodes in mutual agreement, this one included: what quorum
	// is made of. It is not the number of peers with status agreed.
	Agreeing int `json:"agreeing,omitempty"`
	// Certificates are those that this node uses, whatever the backend.
	Certificates []Certificate `json:"certificates,omitempty"`
	// Troubles says in words what keeps this very node from doing its part, or soon will.
	Troubles []string `json:"troubles,omitempty"`
}

// Certificate is when a certificate in use ends.
type Certificate struct {
	Use     string  `json:"use"` // cluster, cluster_ca or web
	Expires Instant `json:"expires"`
}

// The statuses of a peer.
const (
	PeerUnknown     = "unknown"
	PeerSelf        = "self"
	PeerAgreed      = "agreed"
	PeerSyncing     = "syncing"
	PeerDrifted     = "drifted"
	PeerUnreachable = "unreachable"
	PeerUntrusted   = "untrusted"
	PeerConflict    = "conflict"
)

// The distributions of jobs over the nodes of a cluster.
const (
	SingleLeader = "single-leader"
	Spread       = "spread"
)

// Peer is one configured peer as the answering node sees it. A failed exchange keeps
// names, ids and LastSeen and sets LastError.
type Peer struct {
	Host           string     `json:"host"` // as configured
	Status         string     `json:"status"`
	JobSetID       NullString `json:"job_set_id"`
	NodeName       NullString `json:"node_name"` // null until first contact
	LastSeen       Instant    `json:"last_seen"`
	LastError      NullString `json:"last_error"`
	MismatchStreak int        `json:"mismatch_streak"` // rounds with another job-set id

	// The rest is absent where it is not known.
	InstanceID string `json:"instance_id,omitempty"`
	Stopping   bool   `json:"stopping,omitempty"`
	// Clock compares the peer's clock with that of the answering node. Versions that
	// can't be asked for the time have none.
	Clock *Clock `json:"clock,omitempty"`
	// CertificateExpires is when the certificate ends that the peer showed last.
	CertificateExpires Instant `json:"certificate_expires,omitzero"`
	// Members is what the peer tells of the cluster, itself included.
	Members []ToldMember `json:"members,omitempty"`
	// ClusterSize, Distribution and ElectLeader are those of the peer's configuration.
	ClusterSize  int    `json:"cluster_size,omitempty"`
	Distribution string `json:"distribution,omitempty"`
	ElectLeader  *bool  `json:"elect_leader,omitempty"`
}

// ToldMember is what a peer tells of one node.
type ToldMember struct {
	NodeName   string `json:"node_name"`
	InstanceID string `json:"instance_id"`
	Agreed     bool   `json:"agreed"` // the teller has it as agreed
	Stopping   bool   `json:"stopping,omitempty"`
}

// Clock is by how much the clock of a peer is ahead. Times are in seconds.
type Clock struct {
	Ahead  float64 `json:"ahead"`  // negative: behind
	Within float64 `json:"within"` // how far off Ahead may be, at most
	// Excessive: the clocks are further apart than claims of firings allow.
	Excessive bool `json:"excessive"`
}

// clusterWire is Cluster without its methods.
type clusterWire Cluster

// MarshalJSON implements json.Marshaler. Lists are never null.
func (c Cluster) MarshalJSON() ([]byte, error) {
	if !c.Enabled {
		return encode(struct {
			Enabled bool   `json:"enabled"`
			Peers   []Peer `json:"peers"`
			Error   string `json:"error,omitempty"`
		}{false, []Peer{}, c.Error})
	}
	c.ConflictNames = orEmpty(c.ConflictNames)
	c.ConflictingSizes = orEmpty(c.ConflictingSizes)
	c.ConflictingPolicies = orEmpty(c.ConflictingPolicies)
	c.Peers = orEmpty(c.Peers)
	return encode(clusterWire(c))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Lease is what a lease backend knows of its store.
type Lease struct {
	Identity string
	// Holder is the observed holder, null if there is none.
	Holder NullString
	// Expiry is the local deadline while the answering node leads, else null.
	Expiry Expiry
	// Detail holds the keys that only this backend has, such as electionName.
	Detail map[string]any
}

// The keys that all lease blocks have.
const (
	leaseIdentity = "identity"
	leaseHolder   = "holder"
	leaseExpiry   = "expiry"
)

// MarshalJSON implements json.Marshaler: the details lie beside the common keys.
func (l Lease) MarshalJSON() ([]byte, error) {
	block := maps.Clone(l.Detail)
	if block == nil {
		block = map[string]any{}
	}
	block[leaseIdentity], block[leaseHolder], block[leaseExpiry] = l.Identity, l.Holder, l.Expiry
	return encode(block)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Lease) UnmarshalJSON(data []byte) error {
	var common struct {
		Identity string     `json:"identity"`
		Holder   NullString `json:"holder"`
		Expiry   Expiry     `json:"expiry"`
	}
	if err := json.Unmarshal(data, &common); err != nil {
		return err
	}
	detail := map[string]any{}
	if err := json.Unmarshal(data, &detail); err != nil {
		return err
	}
	for _, key := range []string{leaseIdentity, leaseHolder, leaseExpiry} {
		delete(detail, key)
	}
	*l = Lease{Identity: common.Identity, Holder: common.Holder, Expiry: common.Expiry, Detail: detail}
	return nil
}
