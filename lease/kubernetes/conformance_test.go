package kubernetes

import (
	"net/http"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// The shortest times that a configuration may have.
const (
	shortDuration = 4 * time.Second
	shortDeadline = 2 * time.Second
	shortRetry    = time.Second
)

const leaseName = "yacron2-leader"

// A conforming store passes the suite on a real API server, with no more rights than the
// documentation asks for, and with the one more that it speaks of.
func TestConformance(t *testing.T) {
	server := kube.Get(t)
	for name, rules := range map[string][]realstore.Rule{
		"reading":  realstore.LeaderRules(leaseName),
		"watching": realstore.WatcherRules(leaseName),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup := func(t *testing.T) *leasetest.Setup { return newRecordFor(t, server, rules).setup() }
			leasetest.Run(t, setup, setup)
		})
	}
}

// record is the Lease of one test.
type record struct {
	*realstore.Namespace
	token string
}

// newRecord makes the Lease of one test, as one that is not new: the suite claims firings
// that were due before it.
func newRecord(tb testing.TB, server *realstore.APIServer) *record {
	tb.Helper()
	return newRecordFor(tb, server, realstore.LeaderRules(leaseName))
}

// newRecordFor makes the Lease for agents with these rights.
func newRecordFor(tb testing.TB, server *realstore.APIServer, rules []realstore.Rule) *record {
	tb.Helper()
	n := server.Namespace(tb)
	r := &record{Namespace: n, token: n.Account(tb, "agent", rules...)}
	server.Admin(tb, http.MethodPost, n.LeasePath(""), map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": leaseName, "annotations": map[string]string{claimsKey: (&claims{}).encode()}}})
	return r
}

func (r *record) setup() *leasetest.Setup {
	return &leasetest.Setup{
		Backend: "kubernetes",
		Timing:  Timing(shortDuration, shortDeadline, shortRetry),
		Open:    r.open,
		Delete: func(tb testing.TB) {
			tb.Helper()
			r.Server.Admin(tb, http.MethodDelete, r.LeasePath(leaseName), nil)
		},
		Kill: r.Server.Kill,
	}
}

// open connects a process by a link of its own.
func (r *record) open(tb testing.TB, p leasetest.Process) leasetest.Client {
	tb.Helper()
	link := realstore.NewProxy(tb, r.Server.URL)
	cfg := r.config(tb, p)
	cfg.Kubeconfig = r.Kubeconfig(tb, link.URL(), r.token)
	store, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return leasetest.Client{Store: store, Links: []*realstore.Proxy{link}}
}

// config is that of a process whose credentials are still to be said.
func (r *record) config(tb testing.TB, p leasetest.Process) Config {
	tb.Helper()
	return Config{Identity: p.Identity, LeaseName: leaseName, Duration: shortDuration, RenewDeadline: shortDeadline,
		RetryPeriod: shortRetry, Logger: p.Logger, WallClock: p.Now}
}
