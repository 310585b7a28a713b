package etcd

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// shortest is the lowest ttl that a configuration may have.
const shortest = 3 * time.Second

// user is who the agents are where etcd has users; its role is as narrow as the
// documentation's.
func user() realstore.EtcdUser {
	return realstore.EtcdUser{Name: "yacron", Password: "open sesame", Prefix: "yacron2/"}
}

// A conforming store passes the suite on each kind of etcd that people run.
func TestConformance(t *testing.T) {
	for name, o := range map[string]realstore.EtcdOptions{
		"one":          {},
		"three":        {Members: 3},
		"debian":       {Flavour: realstore.Debian},
		"users":        {Users: []realstore.EtcdUser{user()}, TLS: true, TokenTTL: 2 * time.Second},
		"debian users": {Flavour: realstore.Debian, Users: []realstore.EtcdUser{user()}, TLS: true, TokenTTL: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, o)
			leasetest.Run(t, e.setup)
		})
	}
}

// etcd is one etcd, with a new record for each test.
type etcd struct {
	*realstore.Etcd
	admin   *clientv3.Client
	options realstore.EtcdOptions
	records atomic.Uint64
}

func newEtcd(t testing.TB, o realstore.EtcdOptions) *etcd {
	t.Helper()
	e := realstore.StartEtcd(t, o)
	return &etcd{Etcd: e, admin: e.Client(), options: o}
}

// setup makes a record that nothing has touched.
func (e *etcd) setup(t *testing.T) *leasetest.Setup {
	t.Helper()
	return e.record(shortest)
}

func (e *etcd) record(ttl time.Duration) *leasetest.Setup {
	key := fmt.Sprintf("yacron2/leader-%d", e.records.Add(1))
	return &leasetest.Setup{
		Backend: "etcd",
		Timing:  Timing(ttl),
		Open:    func(tb testing.TB, p leasetest.Process) leasetest.Client { return e.open(tb, p, key, ttl) },
		Delete:  func(tb testing.TB) { e.delete(tb, key) },
		Revoke:  func(tb testing.TB) { e.revoke(tb, key) },
		Kill:    func() { e.Kill() },
		Start:   func() { e.Start() },
		Pause:   func() { e.Pause() },
		Resume:  func() { e.Resume() },
	}
}

// open connects a process, each member by a link of its own.
func (e *etcd) open(tb testing.TB, p leasetest.Process, key string, ttl time.Duration) leasetest.Client {
	tb.Helper()
	var c leasetest.Client
	cfg := e.config(tb, p, key, ttl)
	for i, endpoint := range cfg.Endpoints {
		link := realstore.NewProxy(tb, endpoint)
		cfg.Endpoints[i] = link.URL()
		c.Links = append(c.Links, link)
	}
	store, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	c.Store = store
	return c
}

// config is that of a process without anything between it and etcd.
func (e *etcd) config(tb testing.TB, p leasetest.Process, key string, ttl time.Duration) Config {
	tb.Helper()
	cfg := Config{Identity: p.Identity, Endpoints: e.Endpoints(), ElectionName: key, TTL: ttl,
		ConnectTimeout: 10 * time.Second, Logger: p.Logger}
	if e.Certificates != nil {
		files := e.Certificates.Client(tb, "agent")
		cfg.CA, cfg.Cert, cfg.Key = files.CA, files.Cert, files.Key
	}
	if len(e.options.Users) > 0 {
		u := e.options.Users[0]
		cfg.Username, cfg.Password = u.Name, func() (string, error) { return u.Password, nil }
	}
	return cfg
}

func (e *etcd) delete(tb testing.TB, key string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testcluster.Patience)
	defer cancel()
	if _, err := e.admin.Delete(ctx, key); err != nil {
		tb.Error(err)
	}
}

// revoke ends the lease to which the key is bound, if it is there.
func (e *etcd) revoke(tb testing.TB, key string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testcluster.Patience)
	defer cancel()
	got, err := e.admin.Get(ctx, key)
	if err != nil {
		tb.Error(err)
		return
	}
	for _, kv := range got.Kvs {
		// Its holder may be giving it back at the same moment.
		if _, err := e.admin.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err != nil {
			tb.Logf("revoking lease %x: %v", kv.Lease, err)
		}
	}
}

// host is the host and port of a URL.
func host(tb testing.TB, raw string) string {
	tb.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return u.Host
}
