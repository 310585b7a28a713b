package agent

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func TestFleetWithoutACluster(t *testing.T) {
	a := startAgent(t, someJobs, "")
	if _, body := a.request("GET", "/fleet", nil); body != `{"enabled":false,"nodes":[]}` {
		t.Errorf("got %s", body)
	}
}

func TestFleetTellsOfAllNodes(t *testing.T) {
	agents := startCluster(t, 3, someJobs, "")
	awaitLeader(t, agents)
	a, b := agents[0], agents[1]
	ctx := t.Context()
	if err := b.client.Start(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Start(ctx, "daily job"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one node tells what runs on the other", func() bool {
		fleet, err := a.client.Fleet(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(fleet.Nodes) != 3 {
			return false
		}
		long, daily := fleet.Nodes[1].Jobs["long"], fleet.Nodes[1].Jobs["daily job"]
		// A run is in the history before it has left those that run.
		if !long.Running || daily.Last == nil || daily.Running {
			return false
		}
		if long.ScheduledIn != nil || !long.Enabled || daily.ScheduledIn == nil || daily.Last.Outcome != api.OutcomeSuccess || *daily.Last.ExitCode != 0 || daily.Last.Duration == nil {
			t.Fatalf("the other's jobs: %+v, %+v", long, daily)
		}
		return true
	})
	fleet, err := a.client.Fleet(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !fleet.Enabled || fleet.Backend != "gossip" || fleet.NodeName != "node-a" || fleet.Distribution != api.SingleLeader || !fleet.ElectLeader || fleet.Interval != 1 {
		t.Errorf("head: %+v", fleet)
	}
	self, other := fleet.Nodes[0], fleet.Nodes[1]
	if self.NodeName != "node-a" || self.Host != "" || !self.Self || self.Status != api.PeerSelf || len(self.Jobs) != 6 || self.Jobs["long"].Running {
		t.Errorf("self: %+v", self)
	}
	if other.NodeName != "node-b" || other.Host == "" || other.Self || other.Status != api.PeerAgreed || len(other.Jobs) != 6 || other.Truncated {
		t.Errorf("other: %+v", other)
	}
	if age := time.Since(other.AsOf.Time); age < 0 || age > time.Minute || self.AsOf.Before(other.AsOf.Time) {
		t.Errorf("as of %v and %v", self.AsOf, other.AsOf)
	}
	if err := b.client.Cancel(ctx, "long"); err != nil {
		t.Fatal(err)
	}
}
