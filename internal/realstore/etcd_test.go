package realstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// within gives one call of a test its time.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	t.Cleanup(cancel)
	return ctx
}

func admin(t *testing.T, e *Etcd) *clientv3.Client {
	t.Helper()
	client := e.client(e.admin, e.Endpoints()...)
	t.Cleanup(func() { client.Close() })
	return client
}

func put(t *testing.T, client *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := client.Put(within(t), key, value); err != nil {
		t.Fatal(err)
	}
}

func TestEtcdKeepsItsDataOverARestart(t *testing.T) {
	for _, flavour := range Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			e := StartEtcd(t, EtcdOptions{Flavour: flavour})
			put(t, admin(t, e), "a", "1")
			e.Restart()
			e.Kill()
			e.Start()
			e.AwaitReady()
			got, err := admin(t, e).Get(within(t), "a")
			if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "1" {
				t.Fatalf("read %v, %v after the restarts", got, err)
			}
		})
	}
}

func TestEtcdOfThreeMembers(t *testing.T) {
	e := StartEtcd(t, EtcdOptions{Members: 3})
	client := admin(t, e)
	put(t, client, "a", "1")
	before := e.Leader()
	if now := e.MoveLeader(); now == before || e.Leader() != now {
		t.Fatalf("the leader moved from %d to %d, and %d leads", before, now, e.Leader())
	}
	lost := e.Leader()
	e.Kill(lost)
	testcluster.Eventually(t, "a write by two members", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Put(ctx, "a", "2")
		return err
	})
	e.Start(lost)
	e.AwaitReady()
}

func TestPausedEtcdAnswersNothing(t *testing.T) {
	e := StartEtcd(t, EtcdOptions{})
	client := admin(t, e)
	put(t, client, "a", "1")
	e.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := client.Put(ctx, "a", "2"); err == nil {
		t.Fatal("a stopped process has answered")
	}
	e.Resume()
	put(t, client, "a", "3")
}

func TestEtcdWithCertificatesAndUsers(t *testing.T) {
	for _, flavour := range Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			user := EtcdUser{Name: "yacron", Password: "secret", Prefix: "yacron2/"}
			e := StartEtcd(t, EtcdOptions{Flavour: flavour, TLS: true, Users: []EtcdUser{user}, TokenTTL: time.Minute})
			client := e.client(user, e.Endpoints()...)
			defer client.Close()
			put(t, client, "yacron2/leader", "a")
			if _, err := client.Put(within(t), "other", "a"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
				t.Errorf("a write outside the prefix: %v", err)
			}
			wrong := clientv3.Config{Endpoints: e.Endpoints(), DialTimeout: callLimit, Username: user.Name, Password: "x",
				TLS: e.tlsConfig(), Logger: zap.NewNop()}
			if c, err := clientv3.New(wrong); err == nil {
				c.Close()
				t.Error("a wrong password was accepted")
			}
		})
	}
}
