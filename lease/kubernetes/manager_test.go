package kubernetes

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease/leasetest"
)

func TestManagers(t *testing.T) {
	server := kube.Get(t)
	leasetest.RunManagers(t, func(t *testing.T) *leasetest.Setup { return newRecord(t, server).setup() })
}

func TestFaults(t *testing.T) {
	leasetest.RunFaults(t, func(t *testing.T) *leasetest.Setup {
		server := realstore.StartAPIServer(t)
		s := newRecord(t, server).setup()
		s.Start = func() { server.Start(t) }
		s.Pause, s.Resume = func() { server.Pause(t) }, func() { server.Resume(t) }
		return s
	})
}

// faulty is nodes that lead by a Lease, each behind a proxy that knows requests.
type faulty struct {
	*leasetest.Cluster
	proxies []*realstore.HTTPProxy // of the nodes, in their order
}

// startFaulty starts them with leases of the shortest duration, or of the default one:
// that leaves a busy machine the time for several attempts, so that leadership must stay.
func startFaulty(t *testing.T, byDefault bool) *faulty {
	t.Helper()
	r := newRecord(t, kube.Get(t))
	f := &faulty{}
	s := r.setup()
	if byDefault {
		s.Timing = Timing(15*time.Second, 10*time.Second, 2*time.Second)
	}
	s.Open = func(tb testing.TB, p leasetest.Process) leasetest.Client {
		tb.Helper()
		proxy := realstore.NewHTTPProxy(tb, r.Server.URL, r.Server.CA)
		cfg := r.config(tb, p)
		cfg.Kubeconfig = r.Kubeconfig(tb, proxy.URL(), r.token)
		if byDefault {
			cfg.Duration, cfg.RenewDeadline, cfg.RetryPeriod = 15*time.Second, 10*time.Second, 2*time.Second
		}
		store, err := New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		f.proxies = append(f.proxies, proxy)
		return leasetest.Client{Store: store, Links: []*realstore.Proxy{proxy.Proxy}}
	}
	f.Cluster = leasetest.Start(t, s, 3, nil)
	return f
}

// all lets a fault loose on every node.
func (f *faulty) all(fault realstore.Fault) {
	for _, p := range f.proxies {
		p.SetFault(fault)
	}
}

// requests is how many requests all nodes have sent.
func (f *faulty) requests() (n int) {
	for _, p := range f.proxies {
		for _, some := range p.Requests() {
			n += some
		}
	}
	return n
}

// Writes meet a conflict now and then, several in a row: that costs nobody the lead.
func TestConflictsNowAndThen(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, true)
	leader, _ := f.AwaitLeader()
	token := f.Token(leader)
	for _, conflicts := range []int{1, 2, 5} {
		f.all(realstore.Conflicts(conflicts))
		f.AwaitFirings()
	}
	if now, _ := f.AwaitLeader(); now != leader || f.Token(now) != token {
		t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
	}
	f.all(nil)
	leader.Stop(t)
	f.AwaitLeader()
}

// Every write meets a conflict until the lease is long over. Nobody asks in a tight loop,
// and one node leads when it ends.
func TestConflictStorm(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, false)
	f.AwaitLeader()
	f.AwaitFirings()
	before, start := f.requests(), time.Now()
	f.all(realstore.Conflicts(-1))
	f.AwaitIdle()
	// Three nodes that look at the Lease and try to write it once every period, some
	// times in a row.
	if sent, most := f.requests()-before, 3*(10+int(20*time.Since(start)/time.Second)); sent > most {
		t.Errorf("%d requests in %v of conflicts, want at most %d", sent, time.Since(start), most)
	}
	f.all(nil)
	leader, took := f.AwaitLeader()
	t.Logf("%s leads %v after the storm", leader.NodeName, took)
	f.AwaitFirings()
}

// The server keeps each request for ten seconds, longer than a lease lasts.
func TestServerThatStalls(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, false)
	f.AwaitLeader()
	f.AwaitFirings()
	f.all(realstore.Stall(10 * time.Second))
	f.AwaitNone(f.Nodes...)
	f.all(nil)
	leader, took := f.AwaitLeader()
	t.Logf("%s leads %v after the stall", leader.NodeName, took)
	f.AwaitFirings()
}

// A node with short leases waits for as long as the record says that it stands, and not for
// as long as its own would.
func TestShortLeaseAfterALongOne(t *testing.T) {
	t.Parallel()
	const long = 4 * shortDuration
	r := newRecord(t, kube.Get(t))
	r.connect(t, "node-b", func(cfg *Config) { cfg.Duration = long }).acquire() // and is not heard of again
	renewed := r.stored(t).Spec.RenewTime
	leader, took := leasetest.Start(t, r.setup(), 1, nil).AwaitLeader()
	t.Logf("%s leads after %v", leader.NodeName, took)
	spec := r.stored(t).Spec
	if renewed == nil || spec.AcquireTime == nil {
		t.Fatalf("the Lease is %+v", spec)
	}
	if waited := spec.AcquireTime.Sub(renewed.Time); waited < long {
		t.Errorf("a lease of %v was taken %v after it was renewed", long, waited)
	}
}
