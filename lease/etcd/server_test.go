package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// hold acquires the record of a test for a process, each member by a link of its own.
func (e *etcd) hold(t *testing.T, key string) (*Store, *realstore.Proxy, lease.Hold) {
	t.Helper()
	c := e.open(t, leasetest.Process{Identity: lease.Identity{NodeName: "node-a", InstanceID: "a"}}, key, patient)
	t.Cleanup(func() {
		if err := c.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	seen, err := c.Store.Read(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	hold, err := c.Store.Acquire(limited(t), seen.Record)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := c.Store.(*Store)
	if !ok {
		t.Fatalf("the store is a %T", c.Store)
	}
	return s, c.Links[0], hold
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testcluster.Patience)
	t.Cleanup(cancel)
	return ctx
}

// What a watch has missed is compacted away while it is cut off: it ends, and says why, or
// goes on; either way the next one hears what happens.
func TestCompactedUnderAWatch(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, realstore.EtcdOptions{Flavour: flavour})
			c := leasetest.Start(t, e.record(patient), 2, nil)
			leader, _ := c.AwaitLeader()
			c.AwaitFirings()
			follower := c.Nodes[0]
			if follower == leader {
				follower = c.Nodes[1]
			}
			follower.Cut()
			e.Do(func(ctx context.Context, admin *clientv3.Client) error {
				r, err := admin.Put(ctx, "elsewhere", "x")
				if err != nil {
					return err
				}
				_, err = admin.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
				return err
			})
			c.AwaitFirings()
			follower.Heal()
			c.AwaitLeader()
			leader.Stop(t)
			_, took := c.AwaitLeader()
			t.Logf("the next leader is known after %v; reads are %v apart", took, Timing(patient).Observe)
		})
	}
}

// Authentication is turned on while agents run that know a user and were not asked for
// one so far: their next call logs in. So does the first after it was off for a while.
func TestUsersTurnedOn(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, realstore.EtcdOptions{Flavour: flavour})
			setup := e.record(patient)
			plain := setup.Open
			e.options.Users = []realstore.EtcdUser{user()} // of the agents' configuration
			c := leasetest.Start(t, setup, 3, nil)
			leader, _ := c.AwaitLeader()
			token := c.Token(leader)
			e.Do(func(ctx context.Context, admin *clientv3.Client) error {
				u := user()
				for _, step := range []func() error{
					func() error { _, err := admin.UserAdd(ctx, "root", "root"); return err },
					func() error { _, err := admin.UserGrantRole(ctx, "root", "root"); return err },
					func() error { _, err := admin.RoleAdd(ctx, u.Name); return err },
					func() error {
						_, err := admin.RoleGrantPermission(ctx, u.Name, u.Prefix, clientv3.GetPrefixRangeEnd(u.Prefix), clientv3.PermissionType(clientv3.PermReadWrite))
						return err
					},
					func() error { _, err := admin.UserAdd(ctx, u.Name, u.Password); return err },
					func() error { _, err := admin.UserGrantRole(ctx, u.Name, u.Name); return err },
					func() error { _, err := admin.AuthEnable(ctx); return err },
				} {
					if err := step(); err != nil {
						return err
					}
				}
				return nil
			})
			// The client of each step knows a user only where etcd has any: else it goes by a
			// token that counts for nothing any more.
			step := func(what string, cfg clientv3.Config, do func(*clientv3.Client) error) {
				t.Helper()
				cfg.Endpoints, cfg.DialTimeout, cfg.Logger = e.Endpoints(), testcluster.Patience, zap.NewNop()
				testcluster.Eventually(t, what, func() error {
					admin, err := clientv3.New(cfg)
					if err != nil {
						return err
					}
					defer admin.Close()
					return do(admin)
				})
			}
			for range 2 {
				c.AwaitFirings()
				if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
					t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
				}
				step("users are turned off", clientv3.Config{Username: "root", Password: "root"}, func(admin *clientv3.Client) error {
					_, err := admin.AuthDisable(limited(t))
					return err
				})
				c.AwaitFirings()
				step("users are turned on", clientv3.Config{}, func(admin *clientv3.Client) error {
					_, err := admin.AuthEnable(limited(t))
					return err
				})
			}
			// A node whose configuration knows no user is told what it lacks.
			e.options.Users = nil
			stranger := plain(t, leasetest.Process{Identity: lease.Identity{NodeName: "stranger", InstanceID: "9"}})
			defer stranger.Store.Close()
			if _, err := stranger.Store.Read(limited(t)); err == nil || !strings.Contains(err.Error(), "set username and password") {
				t.Errorf("without a user: %v", err)
			}
		})
	}
}

// A role that changes while agents run ends their tokens on some servers; nothing else does.
func TestRoleChanges(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, realstore.EtcdOptions{Flavour: flavour, Users: []realstore.EtcdUser{user()}})
			c := leasetest.Start(t, e.record(patient), 3, nil)
			leader, _ := c.AwaitLeader()
			token := c.Token(leader)
			for i := range 10 {
				e.Do(func(ctx context.Context, admin *clientv3.Client) error {
					_, err := admin.RoleAdd(ctx, fmt.Sprintf("another-%d", i))
					return err
				})
				c.AwaitFirings()
			}
			if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
				t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
			}
		})
	}
}

// etcd without space lets nobody write. Who leads goes on, is given nothing, and is told
// what would help; once there is space it is given firings again.
func TestOutOfSpace(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			e := newEtcd(t, realstore.EtcdOptions{Flavour: flavour})
			s, _, hold := e.hold(t, "yacron2/leader")
			alarm := func(action etcdserverpb.AlarmRequest_AlarmAction) {
				e.Do(func(ctx context.Context, admin *clientv3.Client) error {
					members, err := admin.MemberList(ctx)
					if err != nil {
						return err
					}
					_, err = etcdserverpb.NewMaintenanceClient(admin.ActiveConnection()).Alarm(ctx, &etcdserverpb.AlarmRequest{
						Action: action, MemberID: members.Members[0].ID, Alarm: etcdserverpb.AlarmType_NOSPACE})
					return err
				})
			}
			firings := []election.Firing{{Job: "job", At: time.Now().UTC().Truncate(time.Second)}}
			alarm(etcdserverpb.AlarmRequest_ACTIVATE)
			_, _, err := s.Claim(limited(t), hold, firings, nil)
			if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "raise its quota") {
				t.Errorf("claiming without space: %v", err)
			}
			if hold, err = s.Renew(limited(t), hold); err != nil {
				t.Errorf("renewing without space: %v", err)
			}
			alarm(etcdserverpb.AlarmRequest_DEACTIVATE)
			verdicts, _, err := s.Claim(limited(t), hold, firings, nil)
			if err != nil || verdicts[0].Outcome != election.Granted {
				t.Errorf("claiming with space: %+v, %v", verdicts, err)
			}
		})
	}
}

// Eight thousand jobs that must not overlap, with names as long as they may be, are due at
// one instant: with their mark that is more than etcd takes at once.
func TestManyMarkedFirings(t *testing.T) {
	t.Parallel()
	e := newEtcd(t, realstore.EtcdOptions{})
	s, _, hold := e.hold(t, "yacron2/leader")
	mark := &lease.Mark{InstanceID: "a", NodeName: "node-a"}
	var firings []election.Firing
	for i := range 8000 {
		firings = append(firings, election.Firing{Job: fmt.Sprintf("%0128d", i), At: time.Now().UTC().Truncate(time.Second)})
		mark.Jobs = append(mark.Jobs, firings[i].Job)
	}
	verdicts, _, err := s.Claim(limited(t), hold, firings, mark)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if v.Outcome != election.Granted {
			t.Fatalf("firing %d: %+v", i, v)
		}
	}
}
