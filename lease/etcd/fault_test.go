package etcd

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// patient is a ttl that leaves a busy machine the time for several attempts, for tests in
// which leadership must stay.
const patient = 15 * time.Second

// One of three members is lost, be it etcd's own leader, and comes back.
func TestMemberLost(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{Members: 3})
	c := leasetest.Start(t, e.record(patient), 3, nil)
	for _, end := range []struct {
		lose, back func(...int)
	}{
		{e.Kill, func(i ...int) { e.Start(i...); e.AwaitReady() }},
		{e.Pause, e.Resume},
	} {
		c.AwaitLeader()
		c.AwaitFirings()
		lost := e.Leader()
		end.lose(lost)
		c.AwaitFirings()
		leader, took := c.AwaitLeader()
		t.Logf("%s leads, seen by all after %v", leader.NodeName, took)
		end.back(lost)
		c.AwaitLeader()
		c.AwaitFirings()
	}
}

// Two of three members are too many.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{Members: 3})
	c := leasetest.Start(t, e.setup(t), 3, nil)
	c.AwaitLeader()
	c.AwaitFirings()
	e.Pause(0, 1)
	c.AwaitNone(c.Nodes...)
	e.Resume(0, 1)
	_, took := c.AwaitLeader()
	t.Logf("one node leads %v after the members are back", took)
	c.AwaitFirings()
}

// etcd's own leader moves from member to member: the node that leads goes on.
func TestLeaderOfEtcdMoves(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{Members: 3})
	c := leasetest.Start(t, e.record(patient), 3, nil)
	leader, _ := c.AwaitLeader()
	token := c.Token(leader)
	for range 6 {
		e.MoveLeader()
		c.AwaitFirings()
	}
	if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
		t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
	}
}

// Connections end, and with them the keepalive stream and the watch: both are opened
// again, and the node that leads goes on.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{})
	c := leasetest.Start(t, e.record(patient), 3, nil)
	leader, _ := c.AwaitLeader()
	token := c.Token(leader)
	for range 10 {
		for _, n := range c.Nodes {
			n.Links[0].Reset()
		}
		c.AwaitFirings()
	}
	if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
		t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
	}
	// The watch works again: a change of hands shows before the next read is due.
	leader.Stop(t)
	_, took := c.AwaitLeader()
	t.Logf("the next leader is known after %v; reads are %v apart", took, Timing(patient).Observe)
}

// Tokens end between two calls, and all at once when etcd restarts. Leadership stays in
// the first case, and comes back in the second.
func TestTokensEnd(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, realstore.EtcdOptions{Flavour: flavour, TLS: true, TokenTTL: time.Second,
				Users: []realstore.EtcdUser{user()}})
			c := leasetest.Start(t, e.record(patient), 2, nil)
			leader, _ := c.AwaitLeader()
			token := c.Token(leader)
			// The follower reads every third of the ttl, each time with a token that has
			// ended, and the leader renews as often; a whole ttl without either would show.
			watch := time.NewTimer(patient)
			defer watch.Stop()
			<-watch.C
			if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
				t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
			}
			e.Restart()
			_, took := c.AwaitLeader()
			t.Logf("one node leads %v after the restart of etcd", took)
			c.AwaitFirings()
		})
	}
}

// A wrong password is said plainly, costs the server little, and a right one is found
// without a restart.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{Users: []realstore.EtcdUser{user()}})
	link := realstore.NewProxy(t, e.Endpoints()[0])
	cfg := e.config(t, leasetest.Process{Identity: lease.Identity{NodeName: "a", InstanceID: "1"}}, "yacron2/leader", shortest)
	var right atomic.Bool
	good := cfg.Password
	cfg.Endpoints, cfg.Password = []string{link.URL()}, func() (string, error) {
		if right.Load() {
			return good()
		}
		return "guess", nil
	}
	store, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	read := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), testcluster.Patience)
		defer cancel()
		_, err := store.Read(ctx)
		return err
	}
	const reads = 200
	start := time.Now()
	for range reads {
		if err := read(); !errors.Is(err, rpctypes.ErrAuthFailed) || !strings.Contains(err.Error(), "check username and password") {
			t.Fatalf("a read with a wrong password: %v", err)
		}
	}
	// One login a second at most, and ever fewer.
	if sent, most := link.Traffic().Messages, uint64(2+time.Since(start)/firstLogin); sent > most {
		t.Errorf("%d reads sent %d messages, want at most %d", reads, sent, most)
	}
	right.Store(true)
	testcluster.Eventually(t, "the right password is tried", read)
}

// A role that does not reach far enough, and no user where one is needed, are said
// plainly.
func TestRefusalsInWords(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{Users: []realstore.EtcdUser{user()}})
	for _, test := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"role", "its role needs to read and write the election key", func(c *Config) { c.ElectionName = "elsewhere" }},
		{"no user", "set username and password", func(c *Config) { c.Username, c.Password = "", nil }},
		{"no server", "127.0.0.1:1", func(c *Config) { c.Username, c.Endpoints = "", []string{"http://127.0.0.1:1"} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := e.config(t, leasetest.Process{Identity: lease.Identity{NodeName: "a", InstanceID: "1"}}, "yacron2/leader", shortest)
			test.change(&cfg)
			store, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := store.Read(ctx); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want words like %q", err, test.want)
			}
		})
	}
}
