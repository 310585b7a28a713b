package command

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/yacron2/yacron2/api"
)

func TestLeader(t *testing.T) {
	follower := threeNodes()
	follower.NodeName, follower.IsLeader = "yacron-b", false
	headless := threeNodes()
	headless.Quorate, headless.Leader, headless.IsLeader, headless.Agreeing = false, "", false, 1
	conflicting := threeNodes()
	conflicting.Conflict, conflicting.ConflictNames = true, []string{"yacron-c"}
	quiet := threeNodes()
	quiet.ElectLeader = false
	split := spread()
	split.Quorate, split.Agreeing = false, 1
	storeless := byLease()
	storeless.Quorate, storeless.Leader = false, ""
	for _, test := range []struct {
		name       string
		cluster    api.Cluster
		code, self int
		out        []string
	}{
		{"leader", threeNodes(), exitOK, exitOK, []string{"Leader     yacron-a (this node)\n", "Quorum     yes, 3 of 3 nodes in agreement, 2 needed\n", "Conflicts  none\n"}},
		{"follower", follower, exitOK, exitNo, []string{"Leader     yacron-a\n"}},
		{"no quorum", headless, exitNo, exitNo, []string{"Leader     none\n", "Quorum     no, 1 of 3 nodes in agreement, 2 needed\n"}},
		{"conflict", conflicting, exitOK, exitOK, []string{"Conflicts  two processes use the node name yacron-c: Leader jobs do not run\n"}},
		{"troubled", troubled(), exitNo, exitNo, []string{"peers count 3, 5 nodes, this node 4; peers are configured otherwise: electLeader False != True"}},
		{"election off", quiet, exitNo, exitNo, []string{"none, leader election is off"}},
		{"spread", spread(), exitOK, exitNo, []string{"none, jobs are spread over the nodes"}},
		{"spread without quorum", split, exitNo, exitNo, []string{"none, jobs are spread over the nodes", "Quorum     no, "}},
		{"lease", byLease(), exitOK, exitNo, []string{"Leader     yacron-b\n", "Quorum     the store answers\n"}},
		{"lease without store", storeless, exitNo, exitNo, []string{"Leader     none\n", "Quorum     the store does not answer\n"}},
		{"alone", api.Cluster{}, exitNo, exitNo, []string{"This agent has no cluster"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := serveCluster(t, test.cluster)
			run(t, nil, "leader", "-address", address).expect(t, test.code, test.out, nil)
			run(t, nil, "leader", "-self", "-address", address).expect(t, test.self, nil, nil)
			r := run(t, nil, "leader", "-format=json", "-address", address)
			r.expect(t, test.code, []string{`"leader": `}, nil)
			var got leadership
			if err := json.Unmarshal([]byte(r.out), &got); err != nil {
				t.Fatal(err)
			}
			want := leadership{
				Node: test.cluster.NodeName, Enabled: test.cluster.Enabled, ElectLeader: test.cluster.ElectLeader,
				Distribution: test.cluster.Distribution, Quorate: test.cluster.Quorate,
				ClusterSize: test.cluster.ClusterSize, Quorum: test.cluster.Quorum,
			}
			if test.cluster.ElectLeader {
				want.Leader, want.IsLeader = test.cluster.Leader, test.cluster.IsLeader
			}
			if got.Conflicts == nil || (len(got.Conflicts) > 0) != test.cluster.Conflict {
				t.Errorf("conflicts are %v", got.Conflicts)
			}
			if wrong := test.code != exitOK && test.cluster.ElectLeader || test.cluster.Conflict; (len(got.Advice) > 0) != wrong {
				t.Errorf("the advice is %q", got.Advice)
			}
			got.Conflicts, got.Advice = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			run(t, nil, "leader", "-self", "-format=json", "-address", address).expect(t, test.self, []string{`"is_leader": `}, nil)
		})
	}
}

func TestLeaderOfBrokenCluster(t *testing.T) {
	address := serveCluster(t, api.Cluster{Error: "certificate expired"})
	run(t, nil, "leader", "-address", address).expect(t, exitNo, nil, []string{"certificate expired"})
}
