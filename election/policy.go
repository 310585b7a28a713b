package election

import "fmt"

// Policy says how one job behaves when several nodes could run it. It matters only
// while election is on.
type Policy string

// The policies of a job.
const (
	// Leader runs on the quorum-gated leader (or owner, under spread) only, and
	// only a firing that a majority granted. It may skip, it never doubles.
	Leader Policy = "Leader"
	// PreferLeader runs on the lowest reachable node (or owner). It may double
	// across a partition, it never skips.
	PreferLeader Policy = "PreferLeader"
	// EveryNode runs on every node, always.
	EveryNode Policy = "EveryNode"
)

// ParsePolicy returns the policy spelled exactly s.
func ParsePolicy(s string) (Policy, error) {
	switch p := Policy(s); p {
	case Leader, PreferLeader, EveryNode:
		return p, nil
	}
	return "", fmt.Errorf("unknown cluster policy %q: write Leader, PreferLeader or EveryNode", s)
}

// Distribution says whether one leader runs all gated jobs or each job has an owner.
type Distribution string

// The distributions of a cluster.
const (
	// SingleLeader lets the lowest node name run every gated job.
	SingleLeader Distribution = "single-leader"
	// Spread gives each job its own owner by rendezvous hashing.
	Spread Distribution = "spread"
)
