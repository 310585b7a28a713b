package agent

import (
	"strings"
	"testing"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/lease/kubernetes"
)

// What a configuration lets pass, the backend has room for.
func TestRoomOfALease(t *testing.T) {
	if config.MaxLeaseJobs != kubernetes.MaxJobs {
		t.Errorf("a configuration may have %d Leader jobs, a Lease has room for %d", config.MaxLeaseJobs, kubernetes.MaxJobs)
	}
}

// leaseholder runs an agent that leads by a lease, and has claimed a firing.
func leaseholder(t *testing.T) *testAgent {
	t.Helper()
	d, err := consuldouble.Start(consuldouble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	a := startNode(t, "node-l", `jobs:
- {name: tick, schedule: "* * * * * * *", command: "true", clusterPolicy: Leader}
`, "", map[string]string{"cluster.yaml": "cluster:\n  nodeName: node-l\n  backend: consul\n  consul: {address: '" + d.URL() + "', sessionTTL: 10}\n"})
	eventually(t, "a firing is claimed", func() bool {
		_, text := a.request("GET", "/metrics", nil)
		return strings.Contains(text, "yacron2_lease_claim_count ")
	})
	return a
}

// What the API tells of a lease, and of a cluster whose nodes know only the store.
func TestLeaseOverTheAPI(t *testing.T) {
	a := leaseholder(t)
	c, err := a.client.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !c.IsLeader || c.Leader != "node-l" || !c.Quorate || c.ClusterSize != 1 || c.Quorum != 1 || len(c.Peers) != 0 || c.Conflict || !c.ElectLeader || c.Backend != "consul" {
		t.Errorf("cluster: %+v", c)
	}
	if c.Lease == nil || c.Lease.Identity != "node-l" || c.Lease.Holder != "node-l" || c.Lease.Expiry.IsZero() ||
		c.Lease.Detail["key"] != "yacron2/leader" || c.Lease.Detail["session"] == nil {
		t.Errorf("lease: %+v", c.Lease)
	}
	if fleet, err := a.client.Fleet(t.Context()); err != nil || fleet.Enabled {
		t.Errorf("fleet: %+v, %v", fleet, err)
	}
}
