package consul

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// doubles are the kinds of servers that the suite runs on: a Consul of today, and the
// other end of what is documented.
var doubles = map[string]consuldouble.Options{
	"late":  {Expiry: consuldouble.Late},
	"early": {Expiry: consuldouble.Early, UnknownSession: true},
}

// double is a test double of Consul, with a new record for each test.
type double struct {
	*consuldouble.Server
	records atomic.Uint64
}

func newDouble(t testing.TB, o consuldouble.Options) *double {
	t.Helper()
	s, err := consuldouble.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &double{Server: s}
}

func (d *double) setup(*testing.T) *leasetest.Setup {
	key := fmt.Sprintf("yacron2/leader-%d", d.records.Add(1))
	return &leasetest.Setup{
		Backend: "consul",
		Timing:  Timing(MinTTL),
		Open:    opener(d.URL(), func(c *Config) { c.ElectionKey = key }),
		Delete:  func(testing.TB) { d.Server.Delete(key) },
		Revoke:  func(testing.TB) { d.Invalidate(d.Holder(key)) },
		Kill:    d.Kill,
		Start:   d.Restart,
		Pause:   func() { d.Stall(true) },
		Resume:  func() { d.Stall(false) },
		Outages: []leasetest.Outage{
			{Begin: func() { d.SetLeader(false) }, End: func() { d.SetLeader(true) }},
			{Begin: func() { d.RequireToken("another") }, End: func() { d.RequireToken("") }},
			{Begin: func() {
				d.Refuse(http.StatusTooManyRequests, "text/plain", "rate limit exceeded, try again later or against a different server")
			}, End: d.Accept},
			{Begin: func() {
				d.Refuse(http.StatusOK, "text/html", "<html><body>Sign in to go on</body></html>")
			}, End: d.Accept},
		},
	}
}

// opener connects processes to a record.
func opener(address string, adapt func(*Config)) func(tb testing.TB, p leasetest.Process) leasetest.Client {
	return func(tb testing.TB, p leasetest.Process) leasetest.Client {
		tb.Helper()
		link := realstore.NewProxy(tb, address)
		cfg := Config{Identity: p.Identity, Address: link.URL(), TTL: MinTTL, ConnectTimeout: 10 * time.Second, Logger: p.Logger}
		adapt(&cfg)
		store, err := New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return leasetest.Client{Store: store, Links: []*realstore.Proxy{link}}
	}
}

// The double keeps Consul's documented rules; it is not Consul.
func TestConformanceOnDouble(t *testing.T) {
	for name, o := range doubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t, o)
			leasetest.Run(t, d.setup, d.setup)
		})
	}
}

// Sessions end as early as they may: no node leads for longer than that.
func TestManagersOnDouble(t *testing.T) {
	t.Parallel()
	leasetest.RunManagers(t, newDouble(t, doubles["early"]).setup)
}

// Sessions end as late as they may: nobody waits for longer than that.
func TestFaultsOnDouble(t *testing.T) {
	t.Parallel()
	leasetest.RunFaults(t, func(t *testing.T) *leasetest.Setup { return newDouble(t, doubles["late"]).setup(t) })
}

// remote is somebody's Consul.
type remote struct {
	address, token string
	client         *api.Client
}

// theirs returns the Consul at YACRON2_TEST_CONSUL_ADDR, its URL, with CONSUL_HTTP_TOKEN as
// the token where it asks for one. Keys below yacron2-test are written, and removed again.
func theirs(t *testing.T) *remote {
	t.Helper()
	r := &remote{address: os.Getenv("YACRON2_TEST_CONSUL_ADDR"), token: os.Getenv("CONSUL_HTTP_TOKEN")}
	if r.address == "" {
		t.Skip("no Consul: set YACRON2_TEST_CONSUL_ADDR to the URL of one")
	}
	var err error
	if r.client, err = api.NewClient(&api.Config{Address: r.address, Token: r.token}); err != nil {
		t.Fatal(err)
	}
	return r
}

// setup makes a record. Nobody ends or stops the server: the ways to it are cut or blocked
// instead, all of them.
func (r *remote) setup(t *testing.T) *leasetest.Setup {
	t.Helper()
	key := fmt.Sprintf("yacron2-test/%d/leader", time.Now().UnixNano())
	t.Cleanup(func() {
		for _, prefix := range []string{key, key + "-claims/"} {
			if _, err := r.client.KV().DeleteTree(prefix, nil); err != nil {
				t.Error(err)
			}
		}
	})
	open := opener(r.address, func(c *Config) {
		c.ElectionKey, c.Token = key, func() (string, error) { return r.token, nil }
	})
	var mu sync.Mutex
	var links []*realstore.Proxy
	each := func(do func(*realstore.Proxy)) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			for _, l := range links {
				do(l)
			}
		}
	}
	return &leasetest.Setup{
		Backend: "consul",
		Timing:  Timing(MinTTL),
		Open: func(tb testing.TB, p leasetest.Process) leasetest.Client {
			tb.Helper()
			c := open(tb, p)
			mu.Lock()
			defer mu.Unlock()
			links = append(links, c.Links...)
			return c
		},
		Delete: func(tb testing.TB) {
			tb.Helper()
			if _, err := r.client.KV().Delete(key, nil); err != nil {
				tb.Error(err)
			}
		},
		Revoke: func(tb testing.TB) {
			tb.Helper()
			pair, _, err := r.client.KV().Get(key, nil)
			if err != nil {
				tb.Fatal(err)
			}
			if pair == nil || pair.Session == "" {
				return // its holder gave it back at the same moment
			}
			if _, err := r.client.Session().Destroy(pair.Session, nil); err != nil {
				tb.Error(err)
			}
		},
		Kill: each((*realstore.Proxy).Cut), Start: each((*realstore.Proxy).Heal),
		Pause: each((*realstore.Proxy).Block), Resume: each((*realstore.Proxy).Heal),
	}
}

// Whoever has a Consul runs the whole suite on it.
func TestOnRealConsul(t *testing.T) {
	r := theirs(t)
	t.Run("conformance", func(t *testing.T) { leasetest.Run(t, r.setup, r.setup) })
	t.Run("managers", func(t *testing.T) { leasetest.RunManagers(t, r.setup) })
	t.Run("faults", func(t *testing.T) { leasetest.RunFaults(t, r.setup) })
}
