package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// meddle changes the Lease as somebody with kubectl would, as often as the agents are
// faster.
func (r *record) meddle(t *testing.T, change func(*coordination.Lease)) {
	t.Helper()
	testcluster.Eventually(t, "the Lease is changed by hand", func() error {
		l := r.stored(t)
		change(l)
		code, answer := r.Server.Request(t, r.token, http.MethodPut, r.LeasePath(leaseName), l)
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, answer)
		}
		return nil
	})
}

// timed returns the setup of a record with these times.
func (r *record) timed(duration, deadline, period time.Duration) *leasetest.Setup {
	s := r.setup()
	s.Timing = Timing(duration, deadline, period)
	s.Open = func(tb testing.TB, p leasetest.Process) leasetest.Client {
		tb.Helper()
		link := realstore.NewProxy(tb, r.Server.URL)
		cfg := r.config(tb, p)
		cfg.Kubeconfig = r.Kubeconfig(tb, link.URL(), r.token)
		cfg.Duration, cfg.RenewDeadline, cfg.RetryPeriod = duration, deadline, period
		store, err := New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return leasetest.Client{Store: store, Links: []*realstore.Proxy{link}}
	}
	return s
}

// Somebody writes a duration that is shorter than the time between two renewals: nobody
// takes the Lease from a leader that is well, and its next renewal puts that right.
func TestDurationByHand(t *testing.T) {
	t.Parallel()
	r := newRecord(t, kube.Get(t))
	c := leasetest.Start(t, r.timed(15*time.Second, 10*time.Second, 2*time.Second), 3, nil)
	leader, _ := c.AwaitLeader()
	token := c.Token(leader)
	for range 5 {
		r.meddle(t, func(l *coordination.Lease) { l.Spec.LeaseDurationSeconds = pointer[int32](1) })
		testcluster.Eventually(t, "the duration is put right", func() error {
			if d := *r.stored(t).Spec.LeaseDurationSeconds; d != 15 {
				return fmt.Errorf("it is %d", d)
			}
			return nil
		})
	}
	c.AwaitFirings()
	if now, _ := c.AwaitLeader(); now != leader || c.Token(now) != token {
		t.Errorf("leadership went from %s to %s", leader.NodeName, now.NodeName)
	}
}

// Somebody else holds the Lease, a program of another kind or somebody by hand, and does
// not renew it: it is waited for as long as the record says.
func TestForeignHolder(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	hold := n.acquire()
	const foreign = "another-program-7d9f_0b6e"
	r.meddle(t, func(l *coordination.Lease) {
		l.Spec = coordination.LeaseSpec{HolderIdentity: pointer(foreign), LeaseDurationSeconds: pointer[int32](7)}
	})
	if _, err := n.Renew(n.ctx(), hold); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), foreign) {
		t.Errorf("renewing a Lease that another program holds: %v", err)
	}
	seen, err := n.Read(n.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Record; got.Holder != foreign || got.Own || got.Stands != 7*time.Second {
		t.Errorf("the record reads %+v", got)
	}
	// Whoever has seen it for that long takes it, and its claims are as they were.
	next, err := n.Acquire(n.ctx(), seen.Record)
	if err != nil || next.Token <= hold.Token {
		t.Errorf("taking it over: %+v, %v; the token was %d", next, err, hold.Token)
	}
}

// Annotations of others leave no room for a claim. Who leads goes on, is given nothing, and
// is told whose they are; when they are gone, it is given firings again.
func TestForeignAnnotations(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	hold := n.acquire()
	due := from(time.Now())
	must(t, "a claim before", n.claim(hold, "before", due(0)), election.Granted)
	const foreign = "example.org/notes"
	r.meddle(t, func(l *coordination.Lease) {
		annotate(l, foreign, strings.Repeat("x", maxAnnotations-annotationSize(l)-len(foreign)-5))
	})
	hold = renewed(t, n, hold)
	firings := []election.Firing{{Job: "new", At: due(0)}}
	verdicts, _, err := n.Claim(n.ctx(), hold, firings, nil)
	if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "annotations of others 26") {
		t.Errorf("claiming without room: %+v, %v", verdicts, err)
	}
	must(t, "the claim of before", n.claim(hold, "before", due(0)), election.Granted)
	must(t, "its next firing, which takes no room", n.claim(hold, "before", due(1)), election.Granted)
	r.meddle(t, func(l *coordination.Lease) {
		if len(l.Annotations[foreign]) < maxAnnotations/2 {
			t.Error("annotations of others were removed")
		}
		delete(l.Annotations, foreign)
	})
	must(t, "a claim with room", n.claim(hold, "new", due(0)), election.Granted)
	n.release(hold)
}

// Something in front of the API server answers in its place, with a page, a redirection, or
// an object of another kind: nobody leads by that, nobody skips a PreferLeader job, and one
// node leads when it ends.
func TestAnswersOfSomethingElse(t *testing.T) {
	all := func(*http.Request) bool { return true }
	status, err := json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]realstore.Fault{
		"page":   realstore.Answer(-1, all, http.StatusOK, "<html><body>Sign in to go on</body></html>"),
		"nobody": realstore.Answer(-1, all, http.StatusOK, ""),
		"object": realstore.Answer(-1, all, http.StatusOK, string(status)),
		"elsewhere": func(w http.ResponseWriter, q *http.Request) bool {
			http.Redirect(w, q, "https://login.example.org/", http.StatusFound)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFaulty(t, false)
			f.AwaitLeader()
			f.AwaitFirings()
			before, start := f.requests(), time.Now()
			f.all(fault)
			f.AwaitNone(f.Nodes...)
			if sent, most := f.requests()-before, 3*(10+int(20*time.Since(start)/time.Second)); sent > most {
				t.Errorf("%d requests in %v, want at most %d", sent, time.Since(start), most)
			}
			f.all(nil)
			f.AwaitLeader()
			f.AwaitFirings()
		})
	}
}
