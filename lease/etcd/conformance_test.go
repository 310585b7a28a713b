package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yacron2/yacron2/internal/realstore"
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
			leasetest.Run(t, e.setup, func(*testing.T) *leasetest.Setup { return e.record(patient) })
		})
	}
}

// etcd is one etcd, with a new record for each test.
type etcd struct {
	*realstore.Etcd
	options realstore.EtcdOptions
	records atomic.Uint64
}

func newEtcd(t testing.TB, o realstore.EtcdOptions) *etcd {
	t.Helper()
	return &etcd{Etcd: realstore.StartEtcd(t, o), options: o}
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
		Delete:  func(testing.TB) { e.delete(key) },
		Revoke:  func(testing.TB) { e.revoke(key) },
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

func (e *etcd) delete(key string) {
	e.Do(func(ctx context.Context, admin *clientv3.Client) error {
		_, err := admin.Delete(ctx, key)
		return err
	})
}

// revoke ends the lease to which the key is bound, if it is there.
func (e *etcd) revoke(key string) {
	e.Do(func(ctx context.Context, admin *clientv3.Client) error {
		got, err := admin.Get(ctx, key)
		if err != nil {
			return err
		}
		for _, kv := range got.Kvs {
			// Its holder may be giving it back at the same moment.
			if _, err := admin.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
				return err
			}
		}
		return nil
	})
}
