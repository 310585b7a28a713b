package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
)

// asked returns how many requests of a method a call makes.
func (n *node) asked(method string, call func()) int {
	n.t.Helper()
	before := n.proxy.Requests()[method]
	call()
	return n.proxy.Requests()[method] - before
}

func TestConflictIsRetriedInTheSameCall(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", longTimes) // writes are counted
	hold := n.acquire()
	if puts := n.asked(http.MethodPut, func() {
		if _, err := n.Renew(n.ctx(), hold); err != nil {
			t.Error(err)
		}
	}); puts != 1 {
		t.Errorf("a renewal makes %d writes", puts)
	}
	for conflicts := 1; conflicts <= 5; conflicts += 2 {
		n.proxy.SetFault(realstore.Conflicts(conflicts))
		if puts := n.asked(http.MethodPut, func() {
			if _, err := n.Renew(n.ctx(), hold); err != nil {
				t.Errorf("renewing with %d conflicts: %v", conflicts, err)
			}
		}); puts != conflicts+1 {
			t.Errorf("with %d conflicts, a renewal makes %d writes", conflicts, puts)
		}
	}
	// A storm without an end: no tight loop, and no false alarm either.
	n.proxy.SetFault(realstore.Conflicts(-1))
	if puts := n.asked(http.MethodPut, func() {
		_, err := n.Renew(n.ctx(), hold)
		if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "was changed by others each time") {
			t.Errorf("renewing in a storm: %v", err)
		}
	}); puts != tries {
		t.Errorf("in a storm, a renewal makes %d writes, want %d", puts, tries)
	}
	n.proxy.SetFault(nil)
	if _, err := n.Renew(n.ctx(), hold); err != nil {
		t.Errorf("renewing after the storm: %v", err)
	}
	// The successor must not have to wait for the end of the lease.
	n.proxy.SetFault(realstore.Conflicts(1))
	n.release(hold)
	if holder := holderOf(r.stored(t)); holder != "" {
		t.Errorf("after the release %q holds the Lease", holder)
	}
}

func TestAcquisitionsThatMeetAConflict(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	seen, err := b.Read(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	// Somebody writes a mark meanwhile: the record is as free as before.
	if err := a.SetMark(a.ctx(), lease.Mark{InstanceID: "instance-of-node-a", Jobs: []string{"j"}}); err != nil {
		t.Fatal(err)
	}
	hold, err := b.Acquire(b.ctx(), seen.Record)
	if err != nil {
		t.Fatalf("acquiring a free record beside a mark: %v", err)
	}
	held, err := a.Read(a.ctx())
	if err != nil {
		t.Fatal(err)
	}
	// The mark of a follower does not make a dead holder look alive.
	if err := a.SetMark(a.ctx(), lease.Mark{InstanceID: "instance-of-node-a", Jobs: []string{"j"}, Beat: 2}); err != nil {
		t.Fatal(err)
	}
	marked, err := a.Read(a.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if marked.Record.Version != held.Record.Version {
		t.Errorf("a mark changed the version from %s to %s", held.Record.Version, marked.Record.Version)
	}
	if _, err := b.Renew(b.ctx(), hold); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Acquire(a.ctx(), marked.Record); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("acquiring a record that was renewed meanwhile: %v", err)
	}
	// The record goes while it is acquired.
	held, err = a.Read(a.ctx())
	if err != nil {
		t.Fatal(err)
	}
	r.remove(t)
	if _, err := a.Acquire(a.ctx(), held.Record); err != nil {
		t.Errorf("acquiring a record that was deleted meanwhile: %v", err)
	}
	if _, err := b.Renew(b.ctx(), hold); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "node-a holds the Lease") {
		t.Errorf("renewing a hold of a deleted Lease: %v", err)
	}
}

// A server that stalls holds nobody up beyond his own limit.
func TestStalledServer(t *testing.T) {
	due := from(time.Now())(0)
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", longTimes)
	hold := n.acquire()
	var limit *expiring
	stall := realstore.Stall(time.Hour)
	n.proxy.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		limit.end()
		return stall(w, q)
	})
	calls := map[string]func(context.Context) error{
		"read":  func(ctx context.Context) error { _, err := n.Read(ctx); return err },
		"renew": func(ctx context.Context) error { _, err := n.Renew(ctx, hold); return err },
		"mark":  func(ctx context.Context) error { return n.MarkRan(ctx, "v1:a", "job") },
		"claim": func(ctx context.Context) error { return n.claimErr(ctx, hold, "job", due) },
		"reboot": func(ctx context.Context) error {
			_, _, err := n.ClaimReboot(ctx, hold, "v1:a", []string{"x"}, nil)
			return err
		},
	}
	for name, call := range calls {
		limit = newExpiring(t)
		err := call(limit)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("%s of a server that stalls: %v", name, err)
		}
	}
	n.proxy.SetFault(nil)
	if _, err := n.Renew(n.ctx(), hold); err != nil {
		t.Errorf("renewing after the stall: %v", err)
	}
	must(t, "the claim that had no answer", n.claim(hold, "job", due), election.Granted)
}

func (n *node) claimErr(ctx context.Context, hold lease.Hold, job string, at time.Time) error {
	verdicts, _, err := n.Claim(ctx, hold, []election.Firing{{Job: job, At: at}}, nil)
	if err == nil && verdicts[0].Outcome != election.Granted {
		err = fmt.Errorf("%+v", verdicts[0])
	}
	return err
}

// A claim that hangs gives way to the renewal, and is settled after it.
func TestRenewalIsNotHeldUpByAClaim(t *testing.T) {
	due := from(time.Now())(0)
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	hold := n.acquire()
	var hanging atomic.Bool
	n.proxy.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		if !puts(q) || !hanging.CompareAndSwap(false, true) {
			return false
		}
		return realstore.Stall(time.Hour)(w, q)
	})
	claimed := make(chan error, 1)
	ctx := n.ctx()
	go func() { claimed <- n.claimErr(ctx, hold, "job", due) }()
	testcluster.Eventually(t, "the claim hangs", func() error {
		if !hanging.Load() {
			return errors.New("it was not sent")
		}
		return nil
	})
	// Long before the claim is given up, which has twice as long.
	if _, err := n.Renew(limited(t, 10*time.Second), hold); err != nil {
		t.Errorf("renewing behind a claim that hangs: %v", err)
	}
	if err := <-claimed; err != nil {
		t.Errorf("the claim in the end: %v", err)
	}
}

// The server wants no requests for a while: none are sent, and nobody waits who has no
// time for it.
func TestRetryAfterIsRespected(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", longTimes)
	hold := n.acquire()
	busy := true
	n.proxy.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		if busy {
			busy = false
			w.Header().Set("Retry-After", "30")
			http.Error(w, `{"kind":"Status","status":"Failure","message":"too many","reason":"TooManyRequests","code":429}`, http.StatusTooManyRequests)
			return true
		}
		return false
	})
	if _, err := n.Renew(n.ctx(), hold); err == nil || !strings.Contains(err.Error(), "asks to wait 30s: too many") {
		t.Errorf("the refusal: %v", err)
	}
	if sent := n.asked(http.MethodGet, func() {
		_, err := n.Read(limited(t, 100*time.Millisecond))
		if err == nil || !strings.Contains(err.Error(), "wants no requests for another") {
			t.Errorf("a read without time to wait: %v", err)
		}
	}); sent != 0 {
		t.Error("it was sent all the same")
	}
	n.mu.Lock()
	n.resume = time.Now().Add(time.Second) // 30 s are long enough to be seen, and too long to wait for
	n.mu.Unlock()
	if _, err := n.Renew(n.ctx(), hold); err != nil {
		t.Errorf("renewing after the pause: %v", err)
	}
}

// A connection that is cut off, and one through which nothing comes any more, cost one
// request each.
func TestConnectionsThatDie(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	hold := n.acquire()
	for range 3 {
		n.proxy.Reset()
		if _, err := n.Renew(n.ctx(), hold); err != nil {
			t.Errorf("renewing after the connection was reset: %v", err)
		}
	}
	n.proxy.Cut()
	if _, err := n.Renew(n.ctx(), hold); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing without a connection: %v", err)
	}
	n.proxy.Heal()
	n.proxy.Block()
	if _, err := n.Read(limited(t, 300*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reading where nothing passes: %v", err)
	}
	n.proxy.Heal()
	if _, err := n.Renew(n.ctx(), hold); err != nil {
		t.Errorf("renewing once it passes again: %v", err)
	}
}

func TestServerRestart(t *testing.T) {
	kube.Get(t) // the same programs have to be there
	server := realstore.StartAPIServer(t)
	r := newRecord(t, server)
	n := r.connect(t, "node-a", nil)
	hold := n.acquire()
	at := from(time.Now())(0)
	must(t, "a claim before", n.claim(hold, "job", at), election.Granted)
	server.Kill()
	if _, err := n.Renew(n.ctx(), hold); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("renewing without a server: %v", err)
	}
	server.Start(t)
	server.AwaitReady(t)
	testcluster.Eventually(t, "the hold goes on", func() error {
		_, err := n.Renew(n.ctx(), hold)
		return err
	})
	server.Pause(t)
	if _, err := n.Renew(limited(t, 500*time.Millisecond), hold); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("renewing while the server stands still: %v", err)
	}
	server.Resume(t)
	if _, err := n.Renew(n.ctx(), hold); err != nil {
		t.Errorf("renewing once it goes on: %v", err)
	}
	must(t, "the claim of before", n.claim(hold, "job", at), election.Granted)
}
