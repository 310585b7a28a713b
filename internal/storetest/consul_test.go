package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// onDoubleOfConsul makes a world on a test double: no real Consul can be had where these
// tests run. Sessions live for the shortest time that there is, 10 s.
func onDoubleOfConsul(tb testing.TB, jobs func(testcluster.Journal) []testcluster.Job) (*world, *consuldouble.Server) {
	tb.Helper()
	d, err := consuldouble.Start(consuldouble.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Close)
	w := &world{links: map[string][]*realstore.Proxy{}}
	w.Cluster = testcluster.New(tb, testcluster.Options{Jobs: jobs, Store: func(name string) string {
		link := realstore.NewProxy(tb, d.URL())
		w.links[name] = []*realstore.Proxy{link}
		return "backend: consul\nconsul: {address: '" + link.URL() + "', sessionTTL: 10, lockDelay: 1}\n"
	}})
	return w, d
}

// consulKey is the key of the record.
const consulKey = "yacron2/leader"

// Consul has two delays of its own, and times without a leader. A leader that stops is
// followed at once, since it ends its session; a short time without Consul's own leader
// changes nothing; a long one ends the session for good, instead of renewing it behind
// everybody's back; a killed leader is followed once its session is over.
func TestLeaderOnDoubleOfConsul(t *testing.T) {
	t.Parallel()
	w, d := onDoubleOfConsul(t, ticks)
	w.Start()
	leader := w.awaitLeader(t, w.Nodes...)
	w.awaitRuns(t, leaderJob, leader)

	first := d.Holder(consulKey)
	leader.Stop()
	next := w.awaitLeader(t, w.others(leader)...)
	w.awaitRuns(t, leaderJob, next)
	if now := d.Holder(consulKey); now == first || d.Lives(first) {
		t.Errorf("the session %s of the leader that stopped goes on; %s holds the key", first, now)
	}
	leader.Start()
	w.awaitLeader(t, w.Nodes...)

	second := d.Holder(consulKey)
	outage(t, d)
	if now := w.awaitLeader(t, w.Nodes...); now != next || d.Holder(consulKey) != second {
		t.Errorf("a renewal without Consul's leader moved the lead from %s to %s", next.NodeName, now.NodeName)
	}
	w.awaitRuns(t, leaderJob, next)

	d.SetLeader(false)
	testcluster.Eventually(t, "nobody leads without Consul", func() error {
		for _, n := range w.Nodes {
			if v, err := n.Cluster(); err != nil || v.IsLeader || v.Quorate {
				return fmt.Errorf("%s: leads %t, quorate %t, %v", n.NodeName, v.IsLeader, v.Quorate, err)
			}
		}
		return nil
	})
	w.awaitRuns(t, preferJob, w.Nodes...)
	d.SetLeader(true)
	next = w.awaitLeader(t, w.Nodes...)
	w.awaitRuns(t, leaderJob, next)
	if d.Lives(second) || d.Holder(consulKey) == second {
		t.Errorf("the session %s outlived the time for which it could not be renewed", second)
	}

	next.Kill()
	w.awaitRuns(t, leaderJob, w.awaitLeader(t, w.others(next)...))
	w.check(t)
}

// outage leaves Consul without a leader until it has refused to renew a session. That one
// has half of its time left then.
func outage(t *testing.T, d *consuldouble.Server) {
	t.Helper()
	d.SetLeader(false)
	defer d.SetLeader(true)
	renewals := func() int { return d.Requests()["PUT session"] }
	before := renewals()
	testcluster.Eventually(t, "a renewal is refused", func() error {
		if renewals() == before {
			return errors.New("nobody has asked for one")
		}
		return nil
	})
}
