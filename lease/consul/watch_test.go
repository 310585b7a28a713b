package consul

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/internal/consuldouble"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// watching is a watch under way.
type watching struct {
	heard atomic.Int32
	ended chan error
}

func watch(t *testing.T, s *Store) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- s.Watch(ctx, func() { w.heard.Add(1) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

// questions is how often the double was asked for the key.
func questions(d *double) int {
	sum := 0
	for kind, n := range d.Requests() {
		if strings.HasPrefix(kind, "GET kv") {
			sum += n
		}
	}
	return sum
}

// However a server answers blocking queries: they don't become a loop, and nothing is told
// that did not happen.
func TestWatchDoesNotSpin(t *testing.T) {
	for name, mode := range map[string]consuldouble.Blocking{
		"index 0":         consuldouble.ZeroIndex,
		"same index":      consuldouble.SameIndex,
		"growing index":   consuldouble.GrowingIndex,
		"index goes back": consuldouble.FallingIndex,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t, consuldouble.Options{})
			d.SetBlocking(mode)
			start := time.Now()
			w := watch(t, d.open(t, nil))
			const asked = watchTries + 2
			testcluster.Eventually(t, "the tries are used up", func() error {
				if n := questions(d); n < asked {
					return fmt.Errorf("%d of %d questions", n, asked)
				}
				return nil
			})
			n, took := questions(d), time.Since(start)
			if most := watchTries + 1 + int(took/watchPause); n > most {
				t.Errorf("%d questions in %v, want at most %d", n, took, most)
			}
			if n := w.heard.Load(); n != 1 {
				t.Errorf("changes were told %d times, want once: in the beginning", n)
			}
		})
	}
}

// What is written elsewhere wakes nobody; what happens to the key is told at once, also
// after it was deleted, and after the servers were restored.
func TestWatchTells(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	s := d.open(t, nil)
	// A question that arrives after the servers were restored knows an index of the future,
	// and waits until its time is over.
	s.blocking = 3 * time.Second
	w, start := watch(t, s), time.Now()
	restore := d.Snapshot()
	var told int32
	step := func(what string, do func()) {
		t.Helper()
		do()
		testcluster.Eventually(t, what, func() error {
			if n := w.heard.Load(); n != told+1 {
				return fmt.Errorf("told of %d changes, want %d", n, told+1)
			}
			return nil
		})
		told++
	}
	step("the beginning is told", func() {})
	for i := range 50 {
		d.Put(fmt.Sprintf("yacron2/leader/running/%d", i), "x")
		d.Put(fmt.Sprintf("yacron2/leader-claims/x/%d", i), "x")
	}
	step("a key by hand", func() { d.Put(testKey, "by hand") })
	asked := questions(d)
	step("a deletion", func() { d.Delete(testKey) })
	step("a key again", func() { d.Put(testKey, "again") })
	step("the servers are restored", restore)
	step("a key after that", func() { d.Put(testKey, "after") })
	// One more where the index went back, and where a wait was over.
	if n, most := questions(d)-asked, 5+int(time.Since(start)/s.blocking); n > most {
		t.Errorf("%d questions for 4 changes, want at most %d", n, most)
	}
	for kind, n := range d.Requests() {
		if strings.Contains(kind, "?stale") {
			t.Errorf("%d times %s: a watch must go by what the servers agree on", n, kind)
		}
	}
}

// A wait that is over is no change, and goes on.
func TestWatchWaits(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	s := d.open(t, nil)
	s.blocking = 10 * time.Millisecond
	w := watch(t, s)
	testcluster.Eventually(t, "several waits are over", func() error {
		if n := questions(d); n < 5 {
			return fmt.Errorf("%d questions", n)
		}
		return nil
	})
	if n := w.heard.Load(); n != 1 {
		t.Errorf("changes were told %d times, want once: in the beginning", n)
	}
}

// An answer that does not come ends the watch, which is then begun anew.
func TestWatchIsNotAnswered(t *testing.T) {
	t.Parallel()
	d := newDouble(t, consuldouble.Options{})
	d.SetBlocking(consuldouble.NeverAnswered)
	s := d.open(t, nil)
	s.blocking = time.Millisecond // and the grace
	w := watch(t, s)
	testcluster.Eventually(t, "the watch ends", func() error {
		select {
		case err := <-w.ended:
			if err == nil || !strings.Contains(err.Error(), "has not answered a blocking query") {
				t.Errorf("it ends with %v", err)
			}
			return nil
		default:
			return errors.New("it goes on")
		}
	})
}

// No sequence of tries is faster than the pace allows, and none waits longer than a pause.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pace{tries: watchTries}
		var now time.Duration
		var tries []time.Duration
		for _, idle := range rapid.SliceOfN(rapid.Int64Range(0, int64(3*watchPause)), 1, 200).Draw(t, "idle") {
			now += time.Duration(idle)
			if rapid.Bool().Draw(t, "at once") {
				now -= time.Duration(idle)
			}
			wait := p.wait(now)
			if wait < 0 || wait > watchPause {
				t.Fatalf("a wait of %v", wait)
			}
			now += wait
			tries = append(tries, now)
		}
		for i := range tries {
			for j := i; j < len(tries); j++ {
				if n, most := j-i+1, watchTries+1+int((tries[j]-tries[i])/watchPause); n > most {
					t.Fatalf("%d tries in %v, want at most %d", n, tries[j]-tries[i], most)
				}
			}
		}
	})
}
