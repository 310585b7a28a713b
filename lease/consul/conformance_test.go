package consul

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// double is a test double of Consul, with a new record for each test.
type double struct {
	*consuldouble.Server
	records atomic.Uint64
}

func newDouble(t testing.TB) *double {
	t.Helper()
	s, err := consuldouble.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &double{Server: s}
}

func (d *double) setup(t *testing.T) *leasetest.Setup {
	t.Helper()
	key := fmt.Sprintf("yacron2/leader-%d", d.records.Add(1))
	return &leasetest.Setup{
		Backend: "consul",
		Timing:  Timing(MinTTL),
		Open:    opener(d.URL(), key),
		Delete:  func(testing.TB) { d.Server.Delete(key) },
		Revoke:  func(testing.TB) { d.Invalidate(d.Holder(key)) },
		Kill:    func() { d.SetLeader(false) },
		Start:   func() { d.SetLeader(true) },
		Pause:   func() { d.Stall(true) },
		Resume:  func() { d.Stall(false) },
	}
}

// opener connects processes to the record.
func opener(address, key string) func(tb testing.TB, p leasetest.Process) leasetest.Client {
	return func(tb testing.TB, p leasetest.Process) leasetest.Client {
		tb.Helper()
		link := realstore.NewProxy(tb, address)
		store, err := New(Config{
			Identity: p.Identity, Address: link.URL(), ElectionKey: key, TTL: MinTTL, LockDelay: 0,
			ConnectTimeout: 10 * time.Second, Logger: p.Logger,
		})
		if err != nil {
			tb.Fatal(err)
		}
		return leasetest.Client{Store: store, Links: []*realstore.Proxy{link}}
	}
}

// The double keeps Consul's documented rules; it is not Consul.
func TestConformanceOnDouble(t *testing.T) {
	leasetest.Run(t, newDouble(t).setup)
}

// Whoever has a Consul runs the suite on it: YACRON2_TEST_CONSUL_ADDR is its URL, with
// CONSUL_HTTP_TOKEN as the token where it asks for one. Keys below yacron2-test are
// written, and removed again.
func TestConformanceOnRealConsul(t *testing.T) {
	address := os.Getenv("YACRON2_TEST_CONSUL_ADDR")
	if address == "" {
		t.Skip("no Consul: set YACRON2_TEST_CONSUL_ADDR to the URL of one")
	}
	token := os.Getenv("CONSUL_HTTP_TOKEN")
	client, err := api.NewClient(&api.Config{Address: address, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	var records atomic.Uint64
	leasetest.Run(t, func(t *testing.T) *leasetest.Setup {
		key := fmt.Sprintf("yacron2-test/%d/leader-%d", time.Now().UnixNano(), records.Add(1))
		t.Cleanup(func() {
			if _, err := client.KV().DeleteTree(key, nil); err != nil {
				t.Error(err)
			}
		})
		return &leasetest.Setup{
			Backend: "consul",
			Timing:  Timing(MinTTL),
			Open: func(tb testing.TB, p leasetest.Process) leasetest.Client {
				link := realstore.NewProxy(tb, address)
				store, err := New(Config{Identity: p.Identity, Address: link.URL(), ElectionKey: key, TTL: MinTTL,
					Token: func() (string, error) { return token, nil }, ConnectTimeout: 10 * time.Second, Logger: p.Logger})
				if err != nil {
					tb.Fatal(err)
				}
				return leasetest.Client{Store: store, Links: []*realstore.Proxy{link}}
			},
			Delete: func(tb testing.TB) {
				if _, err := client.KV().Delete(key, nil); err != nil {
					tb.Error(err)
				}
			},
			Revoke: func(tb testing.TB) {
				pair, _, err := client.KV().Get(key, nil)
				if err != nil || pair == nil {
					tb.Error(pair, err)
					return
				}
				if _, err := client.Session().Destroy(pair.Session, nil); err != nil {
					tb.Error(err)
				}
			},
		}
	})
}
