package agent

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// An agent shows the clocks of its peers: in the API, as a series, as an event when one
// gets too far off and when it is back, and in its log.
func TestClocksOfPeers(t *testing.T) {
	var ahead atomic.Int64
	agents := startCluster(t, 3, someJobs, "", func(i int, o *Options) {
		if i == 1 {
			o.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		}
	})
	awaitLeader(t, agents)
	a := agents[0]
	peer := func(node string) api.Peer {
		t.Helper()
		cluster, err := a.client.Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range cluster.Peers {
			if string(p.NodeName) == node {
				return p
			}
		}
		t.Fatalf("no peer %s in %+v", node, cluster.Peers)
		return api.Peer{}
	}
	// What a busy machine measures is less exact, and says so.
	about := func(c *api.Clock, seconds float64) bool {
		return c != nil && c.Ahead-seconds <= c.Within && seconds-c.Ahead <= c.Within
	}
	near := func(node string, seconds float64) bool {
		c := peer(node).Clock
		return about(c, seconds) && c.Within < 1
	}
	logged := func(text string) bool {
		for line := range strings.Lines(a.log.String()) {
			if strings.Contains(line, text) && strings.Contains(line, "peer="+peer("node-b").Host) {
				return true
			}
		}
		return false
	}
	eventually(t, "the clocks are known", func() bool { return near("node-b", 0) && near("node-c", 0) })
	host := peer("node-b").Host
	series := `yacron2_cluster_peer_clock_skew_seconds{host="` + host + `"}`

	f := a.follow(api.EventFilter{Kinds: []string{api.EventMember}})
	ahead.Store(int64(time.Minute))
	e := a.await(f, api.EventMember)
	if m := e.Member; m.Host != host || m.Status != api.PeerAgreed || !about(m.Clock, 60) || !m.Clock.Excessive {
		t.Errorf("event: %+v, clock %+v", m, m.Clock)
	}
	eventually(t, "the clock is known as exactly as before", func() bool { return near("node-b", 60) })
	if !peer("node-b").Clock.Excessive || peer("node-c").Clock.Excessive {
		t.Errorf("clocks: %+v, %+v", peer("node-b").Clock, peer("node-c").Clock)
	}
	if skew := a.scrape().number(t, series); skew < 59 || skew > 61 {
		t.Errorf("%s is %v", series, skew)
	}
	eventually(t, "the warning", func() bool { return logged("claims need clocks within 2s") })

	ahead.Store(-int64(time.Second))
	e = a.await(f, api.EventMember)
	if m := e.Member; m.Host != host || m.Clock == nil || m.Clock.Excessive || m.Clock.Ahead > 0 {
		t.Errorf("event: %+v, clock %+v", m, m.Clock)
	}
	eventually(t, "the recovery", func() bool { return logged("close to this node's again") })

	// What nobody can measure is not shown.
	if err := agents[1].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the peer is gone", func() bool { return peer("node-b").Status == api.PeerUnreachable })
	if c := peer("node-b").Clock; c != nil {
		t.Errorf("the clock of a stopped agent: %+v", c)
	}
	a.scrape().expect(t, map[string]string{series: "absent"})
}
