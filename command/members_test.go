package command

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

const someID = "v1:2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf"

// threeNodes is what a healthy leader sees.
func threeNodes() api.Cluster {
	return api.Cluster{
		Enabled: true, Backend: "gossip", NodeName: "yacron-a", JobSetID: someID, ClusterSize: 3, Quorum: 2, ElectLeader: true,
		Distribution: api.SingleLeader, Quorate: true, Leader: "yacron-a", IsLeader: true, Agreeing: 3,
		Peers: []api.Peer{
			{Host: "b.example:8443", Status: api.PeerAgreed, JobSetID: someID, NodeName: "yacron-b", LastSeen: api.At(noon.Add(-300 * time.Millisecond)), Clock: &api.Clock{Ahead: 0.00012, Within: 0.00031}},
			{Host: "c.example:8443", Status: api.PeerAgreed, JobSetID: someID, NodeName: "yacron-c", LastSeen: api.At(noon.Add(-4 * time.Second))},
		},
	}
}

// troubled has something to say in each column.
func troubled() api.Cluster {
	c := threeNodes()
	c.ClusterSize, c.Quorum, c.Agreeing = 4, 3, 1
	c.Quorate, c.Leader, c.IsLeader = false, "", false
	c.Stopping = true
	c.Conflict, c.ConflictNames = true, []string{"yacron-b"}
	c.SizeConflict, c.ConflictingSizes = true, []int{3, 5}
	c.PolicyConflict, c.ConflictingPolicies = true, []string{"electLeader False != True"}
	c.Peers = []api.Peer{
		{Host: "b.example:8443", Status: api.PeerUnreachable, JobSetID: someID, NodeName: "yacron-b", LastSeen: api.At(noon.Add(-3 * time.Hour)),
			LastError: "dial tcp: connection refused\n\x1b[2Jover two lines"},
		{Host: "c.example:8443", Status: api.PeerDrifted, JobSetID: "v1:00ff", NodeName: "yacron-\x1b]0;c", LastSeen: api.At(noon.Add(time.Second)), Stopping: true, Clock: &api.Clock{Ahead: -3.25, Within: 0.0126, Excessive: true}},
		{Host: "d.example:8443", Status: api.PeerUnknown},
	}
	return c
}

func spread() api.Cluster {
	c := threeNodes()
	c.Distribution, c.Leader, c.IsLeader = api.Spread, "", false
	return c
}

func byLease() api.Cluster {
	c := threeNodes()
	c.Backend, c.ClusterSize, c.Quorum, c.Agreeing, c.Peers = "etcd", 1, 1, 0, nil
	c.Leader, c.IsLeader = "yacron-b", false
	c.Lease = &api.Lease{Identity: "yacron-a", Holder: "yacron-b"}
	return c
}

func TestMembers(t *testing.T) {
	listed := threeNodes()
	listed.Peers = append(listed.Peers, api.Peer{Host: "a.example:8443", Status: api.PeerSelf, NodeName: "yacron-a", JobSetID: someID, LastSeen: api.At(noon)})
	quiet := threeNodes()
	quiet.ElectLeader = false
	for _, test := range []struct {
		name    string
		cluster api.Cluster
	}{
		{"healthy", threeNodes()},
		{"troubled", troubled()},
		{"spread", spread()},
		{"lease", byLease()},
		{"self-listed", listed},
		{"no-election", quiet},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := serveCluster(t, test.cluster)
			r := run(t, nil, "members", "-address", address)
			r.expect(t, exitOK, []string{"HOST"}, nil)
			golden(t, "members/"+test.name+".txt", r.out)
			r = run(t, nil, "members", "-format=json", "-address", address)
			r.expect(t, exitOK, []string{"{"}, nil)
			golden(t, "members/"+test.name+".json", r.out)
			if !json.Valid([]byte(r.out)) {
				t.Error("not JSON")
			}
		})
	}
}

func TestMembersWithoutCluster(t *testing.T) {
	alone := serveCluster(t, api.Cluster{})
	run(t, nil, "members", "-address", alone).expect(t, exitOK, []string{"no cluster"}, nil)
	run(t, nil, "members", "-format=json", "-address", alone).expect(t, exitOK, []string{`"enabled": false`, `"members": []`}, nil)

	broken := serveCluster(t, api.Cluster{Error: "listen: address in use"})
	run(t, nil, "members", "-address", broken).expect(t, exitFailed, nil, []string{"error: this agent's cluster does not run: listen: address in use"})
	run(t, nil, "members", "-format=json", "-address", broken).expect(t, exitFailed, []string{`"error": "listen: address in use"`}, nil)
}
