package command

import (
	"fmt"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// quorumText says whether there is a majority, and by how much.
func quorumText(c *api.Cluster) string {
	switch {
	case c.Lease != nil && c.Quorate:
		return "the store answers"
	case c.Lease != nil:
		return "the store does not answer"
	}
	state := "no"
	if c.Quorate {
		state = "yes"
	}
	if c.Agreeing == 0 {
		return fmt.Sprintf("%s, %d of %s needed", state, c.Quorum, count(c.ClusterSize, "node"))
	}
	return fmt.Sprintf("%s, %d of %s in agreement, %d needed", state, c.Agreeing, count(c.ClusterSize, "node"), c.Quorum)
}

// leaderText names the leader, or says why there is none.
func leaderText(c *api.Cluster) string {
	switch {
	case !c.ElectLeader:
		return "none, leader election is off: every node runs every job"
	case c.Distribution == api.Spread:
		return "none, jobs are spread over the nodes: each has its own owner"
	case c.Leader == "":
		return "none"
	case c.IsLeader:
		return string(c.Leader) + " (this node)"
	}
	return string(c.Leader)
}

// conflicts lists what keeps Leader jobs from running although there is a quorum.
func conflicts(c *api.Cluster) []string {
	var list []string
	if len(c.ConflictNames) > 0 {
		list = append(list, "two processes use the node name "+strings.Join(c.ConflictNames, ", "))
	}
	if c.SizeConflict {
		sizes := strings.Trim(fmt.Sprint(c.ConflictingSizes), "[]")
		list = append(list, fmt.Sprintf("peers count %s nodes, this node %d", strings.ReplaceAll(sizes, " ", ", "), c.ClusterSize))
	}
	if c.PolicyConflict {
		list = append(list, "peers are configured otherwise: "+strings.Join(c.ConflictingPolicies, ", "))
	}
	if c.Conflict && len(list) == 0 {
		list = append(list, "yes")
	}
	return list
}

// clusterOff explains an answer without a cluster and returns false if it has one.
func (m *Meta) clusterOff(c *api.Cluster) bool {
	switch {
	case c.Enabled:
		return false
	case c.Error != "":
		m.errorf("this agent's cluster does not run: %s", plain(c.Error))
	default:
		m.printf("This agent has no cluster: it runs its jobs alone.\n")
	}
	return true
}
