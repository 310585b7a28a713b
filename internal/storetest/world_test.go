package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// world is agents and the store by which they coordinate. Each agent has its own way to
// the store.
type world struct {
	*testcluster.Cluster
	links map[string][]*realstore.Proxy // by node name

	// The store's own processes.
	kill, start, pause, resume func()
}

// speed is how the lease of a cluster is configured.
type speed string

const (
	byDefault speed = "default"
	fastest   speed = "fastest" // as short as a configuration may say
	// steady leaves a busy machine the time for several renewals, for tests in which
	// leadership must stay.
	steady speed = "steady"
)

// The jobs: both are due at each second and write what they ran.
const (
	leaderJob = "leader"
	preferJob = "prefer"
)

func ticks(j testcluster.Journal) []testcluster.Job {
	return []testcluster.Job{
		{Name: leaderJob, Policy: "Leader", Command: j.Write()},
		{Name: preferJob, Policy: "PreferLeader", Command: j.Write()},
	}
}

// maker makes a world.
type maker func(tb testing.TB, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world

// makers are the stores by name. harmed are those of tests that harm the store, and so
// need one of their own; others share what takes long to start.
func makers(harmed bool) map[string]maker {
	if harmed {
		return map[string]maker{"etcd": onEtcd, "kubernetes": onKubernetes}
	}
	return map[string]maker{"etcd": onEtcd, "kubernetes": onSharedKubernetes}
}

// onEach runs a test on each store.
func onEach(t *testing.T, harmed bool, test func(t *testing.T, build maker)) {
	t.Helper()
	for name, build := range makers(harmed) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, build)
		})
	}
}

func onEtcd(tb testing.TB, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world {
	tb.Helper()
	e := realstore.StartEtcd(tb, realstore.EtcdOptions{})
	w := &world{links: map[string][]*realstore.Proxy{},
		kill: func() { e.Kill() }, start: func() { e.Start() }, pause: func() { e.Pause() }, resume: func() { e.Resume() }}
	w.Cluster = testcluster.New(tb, testcluster.Options{Jobs: jobs, Store: func(name string) string {
		var urls []string
		for _, endpoint := range e.Endpoints() {
			link := realstore.NewProxy(tb, endpoint)
			w.links[name] = append(w.links[name], link)
			urls = append(urls, link.URL())
		}
		lines := "backend: etcd\netcd:\n  endpoints: [" + strings.Join(urls, ", ") + "]\n"
		switch s {
		case fastest:
			lines += "  ttl: 3\n"
		case steady:
			lines += "  ttl: 9\n"
		}
		return lines
	}})
	return w
}

func onKubernetes(tb testing.TB, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world {
	tb.Helper()
	return onServer(tb, realstore.StartAPIServer(tb), realstore.LeaderRules(leaseName), s, jobs)
}

func onSharedKubernetes(tb testing.TB, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world {
	tb.Helper()
	return onServer(tb, kube.Get(tb), realstore.LeaderRules(leaseName), s, jobs)
}

// onWatchedKubernetes gives agents the right to watch the Lease too.
func onWatchedKubernetes(tb testing.TB, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world {
	tb.Helper()
	return onServer(tb, kube.Get(tb), realstore.WatcherRules(leaseName), s, jobs)
}

// leaseName is the configuration's default.
const leaseName = "yacron2-leader"

func onServer(tb testing.TB, server *realstore.APIServer, rules []realstore.Rule, s speed, jobs func(testcluster.Journal) []testcluster.Job) *world {
	tb.Helper()
	n := server.Namespace(tb)
	token := n.Account(tb, "agent", rules...)
	w := &world{links: map[string][]*realstore.Proxy{},
		kill: server.Kill, start: func() { server.Start(tb) },
		pause: func() { server.Pause(tb) }, resume: func() { server.Resume(tb) }}
	w.Cluster = testcluster.New(tb, testcluster.Options{Jobs: jobs, Store: func(name string) string {
		link := realstore.NewProxy(tb, server.URL)
		w.links[name] = []*realstore.Proxy{link}
		lines := "backend: kubernetes\nkubernetes:\n  leaseNamespace: " + n.Name +
			"\n  kubeconfig: " + n.Kubeconfig(tb, link.URL(), token) + "\n"
		switch s {
		case fastest:
			lines += "  leaseDurationSeconds: 4\n  renewDeadlineSeconds: 2\n  retryPeriodSeconds: 1\n"
		case steady:
			lines += "  leaseDurationSeconds: 9\n  renewDeadlineSeconds: 6\n  retryPeriodSeconds: 1\n"
		}
		return lines
	}})
	return w
}

// led returns the condition that exactly one of these nodes leads and the others see it,
// and puts that node into leader.
func led(nodes []*testcluster.Node, leader **testcluster.Node) func() error {
	return func() error {
		seen := map[string]bool{}
		*leader = nil
		for _, n := range nodes {
			v, err := n.Cluster()
			if err != nil {
				return err
			}
			if v.IsLeader && *leader != nil {
				return fmt.Errorf("%s and %s lead", n.NodeName, (*leader).NodeName)
			}
			if v.IsLeader {
				*leader = n
			}
			seen[string(v.Leader)] = true
		}
		if *leader == nil || len(seen) != 1 || !seen[(*leader).NodeName] {
			return fmt.Errorf("the nodes see %v lead", seen)
		}
		return nil
	}
}

// awaitLeader waits until one of these nodes leads and returns it. A session of Consul that
// nobody renews takes 20 s to end, beside what a busy machine takes.
func (w *world) awaitLeader(tb testing.TB, nodes ...*testcluster.Node) *testcluster.Node {
	tb.Helper()
	var leader *testcluster.Node
	testcluster.EventuallyWithin(tb, 2*testcluster.Patience, "one node leads", led(nodes, &leader))
	return leader
}

// others returns the nodes but one.
func (w *world) others(but *testcluster.Node) []*testcluster.Node {
	return slices.DeleteFunc(slices.Clone(w.Nodes), func(n *testcluster.Node) bool { return n == but })
}

// awaitRuns waits until each of the nodes has run firings of a job that are due from now
// on.
func (w *world) awaitRuns(tb testing.TB, job string, nodes ...*testcluster.Node) {
	tb.Helper()
	from := time.Now()
	testcluster.Eventually(tb, job+" runs", func() error {
		var errs []error
		entries := w.Entries().Of(job).Between(from, from.Add(time.Hour))
		for _, n := range nodes {
			if len(entries.On(n.NodeName)) < 2 {
				errs = append(errs, fmt.Errorf("%s has not run it", n.NodeName))
			}
		}
		return errors.Join(errs...)
	})
}

// check fails the test if a Leader firing ran twice.
func (w *world) check(tb testing.TB) {
	tb.Helper()
	ran := w.Entries().Of(leaderJob)
	if doubled := ran.Duplicates(); len(doubled) > 0 {
		tb.Errorf("doubled firings: %v", doubled)
	}
	if len(ran) == 0 {
		tb.Error("no Leader firing ran at all")
	}
}
