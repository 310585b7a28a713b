package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// node is a process with its Lease on the real API server, behind a proxy of its own.
type node struct {
	*Store
	t     *testing.T
	proxy *realstore.HTTPProxy
}

// open connects a process of the name. adapt may change its configuration.
func (r *record) connect(t *testing.T, name string, adapt func(*Config)) *node {
	t.Helper()
	proxy := realstore.NewHTTPProxy(t, r.Server.URL, r.Server.CA)
	cfg := r.config(t, leasetest.Process{
		Identity: lease.Identity{NodeName: name, InstanceID: "instance-of-" + name},
		Logger:   hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: t.Output()}),
	})
	cfg.Kubeconfig = r.Kubeconfig(t, proxy.URL(), r.token)
	if adapt != nil {
		adapt(&cfg)
	}
	store, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{Store: store, t: t, proxy: proxy}
}

// longTimes leaves one try of a write the time that a busy machine takes for it: a try that
// takes too long is followed by another one.
func longTimes(c *Config) {
	c.Duration, c.RenewDeadline, c.RetryPeriod = 60*time.Second, 30*time.Second, 2*time.Second
}

// limited returns a context for one call.
func limited(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// expiring is a context whose time is over when somebody says so.
type expiring struct {
	context.Context
	over chan struct{}
	once sync.Once
}

func newExpiring(t *testing.T) *expiring {
	t.Helper()
	e := &expiring{Context: t.Context(), over: make(chan struct{})}
	t.Cleanup(e.end)
	return e
}

func (e *expiring) end()                  { e.once.Do(func() { close(e.over) }) }
func (e *expiring) Done() <-chan struct{} { return e.over }
func (e *expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (n *node) ctx() context.Context { return limited(n.t, 20*time.Second) }

func (n *node) acquire() lease.Hold {
	n.t.Helper()
	seen, err := n.Read(n.ctx())
	if err != nil {
		n.t.Fatal(err)
	}
	hold, err := n.Acquire(n.ctx(), seen.Record)
	if err != nil {
		n.t.Fatal(err)
	}
	return hold
}

func (n *node) release(hold lease.Hold) {
	n.t.Helper()
	if err := n.Release(n.ctx(), hold); err != nil {
		n.t.Fatal(err)
	}
}

// claim asks for one firing, which must be settled without an error.
func (n *node) claim(hold lease.Hold, job string, at time.Time) election.Verdict {
	n.t.Helper()
	verdicts, _, err := n.Claim(n.ctx(), hold, []election.Firing{{Job: job, At: at}}, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return verdicts[0]
}

// must checks an outcome.
func must(t *testing.T, what string, v election.Verdict, want election.Outcome) {
	t.Helper()
	if v.Outcome != want {
		t.Errorf("%s is %v, want %v: %+v", what, v.Outcome, want, v)
	}
}

// stored returns the Lease as the API server has it.
func (r *record) stored(t *testing.T) *coordination.Lease {
	t.Helper()
	l := new(coordination.Lease)
	if err := json.Unmarshal(r.Server.Admin(t, http.MethodGet, r.LeasePath(leaseName), nil), l); err != nil {
		t.Fatal(err)
	}
	return l
}

// edit changes the Lease as somebody with kubectl would.
func (r *record) edit(t *testing.T, change func(*coordination.Lease)) {
	t.Helper()
	l := r.stored(t)
	change(l)
	r.Server.Admin(t, http.MethodPut, r.LeasePath(leaseName), l)
}

func (r *record) remove(t *testing.T) {
	t.Helper()
	r.Server.Admin(t, http.MethodDelete, r.LeasePath(leaseName), nil)
}

// from returns the instants some seconds from a moment, as schedules have them.
func from(moment time.Time) func(seconds int) time.Time {
	base := moment.UTC().Truncate(time.Second)
	return func(seconds int) time.Time { return base.Add(time.Duration(seconds) * time.Second) }
}

// puts and gets match requests.
func puts(r *http.Request) bool { return r.Method == http.MethodPut }
func gets(r *http.Request) bool { return r.Method == http.MethodGet }

// openBare connects a process to a server that asks for no credentials.
func openBare(t *testing.T, url string, logged io.Writer) *node {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"x","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"x","context":{"cluster":"x","namespace":"jobs"}}]}`, url)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := New(Config{Identity: lease.Identity{NodeName: "node-a", InstanceID: "a"}, LeaseName: leaseName, Kubeconfig: kubeconfig,
		Duration: shortDuration, RenewDeadline: shortDeadline, RetryPeriod: shortRetry,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: io.MultiWriter(logged, t.Output())})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{Store: store, t: t}
}

// renewed renews a hold, which must stand.
func renewed(t *testing.T, n *node, hold lease.Hold) lease.Hold {
	t.Helper()
	hold, err := n.Renew(n.ctx(), hold)
	if err != nil {
		t.Fatal(err)
	}
	return hold
}
