package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// watched counts the watches that are asked for, and answers them unless f leaves them to
// the server.
func watched(n *atomic.Int32, f realstore.Fault) realstore.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("watch") {
			return false
		}
		n.Add(1)
		return f != nil && f(w, r)
	}
}

// watching is a watch under way.
type watching struct {
	heard atomic.Int32
	ended chan error
	stop  func()
}

func (n *node) watch() *watching {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	w := &watching{ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- n.Watch(ctx, func() { w.heard.Add(1) })
	}()
	w.stop = func() { cancel(); <-done }
	n.t.Cleanup(w.stop)
	return w
}

func (w *watching) awaitHeard(t *testing.T, what string, want int32) {
	t.Helper()
	testcluster.Eventually(t, what+" is told", func() error {
		if n := w.heard.Load(); n != want {
			return fmt.Errorf("%d changes were told, want %d", n, want)
		}
		return nil
	})
}

func (w *watching) awaitEnd(t *testing.T) (err error) {
	t.Helper()
	testcluster.Eventually(t, "the watch ends", func() error {
		select {
		case err = <-w.ended:
			return nil
		default:
			return errors.New("it goes on")
		}
	})
	return err
}

// A watch tells of each other holder, and of nothing else: not of renewals, claims, marks
// and this process's own holds.
func TestWatchTellsOfHolders(t *testing.T) {
	r := newRecordFor(t, kube.Get(t), realstore.WatcherRules(leaseName))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	w := b.watch()
	w.awaitHeard(t, "the Lease as it is", 1)
	hold := a.acquire()
	w.awaitHeard(t, "a holder", 2)
	due := from(time.Now())
	for i := range 5 {
		hold = renewed(t, a, hold)
		a.claim(hold, "job", due(-5+i))
	}
	a.release(hold)
	w.awaitHeard(t, "a release", 3)
	mine := b.acquire()
	mine = renewed(t, b, mine)
	b.release(mine)
	w.awaitHeard(t, "its own release", 4) // nobody holds it: that may be of use
	a.acquire()
	w.awaitHeard(t, "the next holder", 5)
	r.remove(t)
	w.awaitHeard(t, "a deletion", 6)
	a.acquire()
	w.awaitHeard(t, "a Lease that is new", 7)
}

// Who may not watch asks once, and is left to reading.
func TestWatchIsNotAllowed(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	var asked atomic.Int32
	n.proxy.SetFault(watched(&asked, nil))
	w := n.watch()
	testcluster.Eventually(t, "the server is asked", func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.unwatched {
			return errors.New("no watch was refused")
		}
		return nil
	})
	w.stop()
	w = n.watch()
	w.stop()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
	if n := w.heard.Load(); n != 0 {
		t.Errorf("%d changes were told without a watch", n)
	}
}

// A watch whose server goes away, or which says something else than changes of a Lease,
// ends with what was the matter.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	r := newRecordFor(t, kube.Get(t), realstore.WatcherRules(leaseName))
	for _, test := range []struct {
		name, want string
		fault      realstore.Fault
	}{
		{"gone", "too old resource version", realstore.Answer(-1, gets, http.StatusOK,
			`{"type":"BOOKMARK","object":{}}{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}`)},
		{"page", "invalid character '<'", realstore.Answer(-1, gets, http.StatusOK, "<html>Sign in</html>")},
		{"end", "EOF", realstore.Answer(-1, gets, http.StatusOK, "")},
		{"gateway", "502", realstore.Answer(-1, gets, http.StatusBadGateway, "<html>Bad Gateway</html>")},
		{"endless", "unexpected EOF", func(w http.ResponseWriter, _ *http.Request) bool {
			text := []byte(`{"type":"`)
			for {
				if _, err := w.Write(text); err != nil {
					return true
				}
				text = bytes.Repeat([]byte("x"), 1<<16)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := r.connect(t, "node-a", nil)
			var asked atomic.Int32
			n.proxy.SetFault(watched(&asked, test.fault))
			w := n.watch()
			if err := w.awaitEnd(t); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it ends with %v, want words like %q", err, test.want)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
	for _, test := range []struct {
		name, want string
		lose       func(*node)
	}{
		{"reset", "reset", func(n *node) { n.proxy.Reset() }},
		{"blocked", "has told nothing for 8s", func(n *node) { n.proxy.Block() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := r.connect(t, "node-a", nil)
			w := n.watch()
			w.awaitHeard(t, "the Lease as it is", 1)
			test.lose(n)
			if err := w.awaitEnd(t); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it ends with %v, want words like %q", err, test.want)
			}
		})
	}
}

// With the right to watch, a hand-over does not wait for the next read.
func TestHandOverByWatch(t *testing.T) {
	t.Parallel()
	r := newRecordFor(t, kube.Get(t), realstore.WatcherRules(leaseName))
	// Reads are so far apart that they play no part.
	const period = 9 * time.Second
	c := leasetest.Start(t, r.timed(60*time.Second, 50*time.Second, period), 5, nil)
	for range len(c.Nodes) - 1 {
		leader, _ := c.AwaitLeader()
		c.AwaitFirings()
		leader.Stop(t)
		next, took := c.AwaitLeader()
		t.Logf("%s leads after %v; reads are %v apart", next.NodeName, took, period)
	}
}
