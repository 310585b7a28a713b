package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// scriptedBackend is a backend whose start succeeds or fails as a test says. It stands
// in for gossip where the test is about when a backend is started, not what it does.
type scriptedBackend struct {
	scheduler.Coordinator // what the test does not expect to be called
	err                   error
	mu                    sync.Mutex
	set                   jobSet
	cluster               *config.Cluster
	started, stopped      bool
	resigned              bool
}

func (b *scriptedBackend) Start(context.Context) error {
	b.started = b.err == nil
	return b.err
}
func (b *scriptedBackend) Stop(context.Context) error   { b.stopped = true; return nil }
func (b *scriptedBackend) Resign(context.Context) error { b.resigned = true; return nil }
func (b *scriptedBackend) View() *election.View {
	return election.NewView(election.State{NodeName: "n", JobSetID: b.set.id})
}
func (b *scriptedBackend) SetJobSet(set jobSet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = set
}

// Suits takes sections that differ in the connect timeout alone.
func (b *scriptedBackend) Suits(next *config.Cluster) bool {
	return b.cluster.NodeName == next.NodeName
}
func (b *scriptedBackend) Adopt(next *config.Cluster) { b.cluster = next }

// pass lets the time of a bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// bench records what a coordination installs.
type bench struct {
	*coordination
	mu        sync.Mutex
	installed []scheduler.Coordinator
}

func newBench() *bench {
	b := &bench{}
	b.coordination = newCoordination(hclog.NewNullLogger(), func(c scheduler.Coordinator) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.installed = append(b.installed, c)
	})
	return b
}

func (b *bench) newest() (scheduler.Coordinator, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.installed); n > 0 {
		return b.installed[n-1], n
	}
	return nil, 0
}

func TestCoordinationTriesUntilTheBackendStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBench()
		failure := errors.New("port in use")
		attempts := 0
		good := &scriptedBackend{}
		c.Apply(t.Context(), &blueprint{cluster: &config.Cluster{NodeName: "a"}, build: func(set jobSet) (backend, error) {
			attempts++
			if attempts < 4 {
				return &scriptedBackend{err: failure}, nil
			}
			good.SetJobSet(set)
			return good, nil
		}}, jobSet{id: "v1:x"})
		c.Start()
		defer func() { _ = c.Stop(context.Background()) }()

		if v, err := c.State(); v != nil || !errors.Is(err, failure) {
			t.Fatalf("after the first attempt: view %v, error %v", v, err)
		}
		if got, n := c.newest(); n != 0 {
			t.Fatalf("a backend that did not start was installed: %v", got)
		}
		pass(time.Minute)
		synctest.Wait()
		if got, n := c.newest(); n != 1 || got != scheduler.Coordinator(good) {
			t.Fatalf("installed %d times, newest %v", n, got)
		}
		if v, err := c.State(); v == nil || v.JobSetID() != "v1:x" || err != nil {
			t.Errorf("view %v, error %v", v, err)
		}
		if attempts != 4 {
			t.Errorf("%d attempts", attempts)
		}
	})
}

func TestCoordinationKeepsABackendThatSuits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBench()
		var built []*scriptedBackend
		plan := func(name string, timeout time.Duration) *blueprint {
			cluster := &config.Cluster{NodeName: name, ConnectTimeout: timeout}
			return &blueprint{cluster: cluster, check: func(before *config.Cluster) error {
				return errors.New("not in place of " + before.NodeName)
			}, build: func(set jobSet) (backend, error) {
				b := &scriptedBackend{set: set, cluster: cluster}
				built = append(built, b)
				return b, nil
			}}
		}
		c.Apply(t.Context(), plan("a", 1), jobSet{id: "one"})
		if err := c.Check(plan("b", 1)); err != nil {
			t.Errorf("nothing runs that could be lost: %v", err)
		}
		c.Start()
		defer func() { _ = c.Stop(context.Background()) }()

		next := plan("a", 2)
		if err := c.Check(next); err != nil {
			t.Errorf("a section that the backend can adopt: %v", err)
		}
		c.Apply(t.Context(), next, jobSet{id: "two"})
		synctest.Wait()
		if len(built) != 1 || built[0].set.id != "two" || built[0].cluster != next.cluster || built[0].stopped {
			t.Fatalf("a section that the backend can adopt was rebuilt: %d backends", len(built))
		}
		if err := c.Check(plan("b", 2)); err == nil || err.Error() != "not in place of a" {
			t.Errorf("a section that cannot start in the place of one that runs: %v", err)
		}
		if err := c.Check(nil); err != nil {
			t.Errorf("no section: %v", err)
		}
		c.Apply(t.Context(), plan("b", 2), jobSet{id: "three"})
		synctest.Wait()
		if len(built) != 2 || !built[0].stopped || built[1].set.id != "three" {
			t.Fatalf("a changed section was not rebuilt: %d backends", len(built))
		}
		c.Apply(t.Context(), nil, jobSet{id: "four"})
		synctest.Wait()
		if !built[1].stopped || c.View() != nil {
			t.Error("a removed section leaves its backend running")
		}
		if got, _ := c.newest(); got != nil {
			t.Errorf("still installed: %v", got)
		}
	})
}

func TestCoordinationStartsNothingAfterResign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBench()
		attempts := 0
		c.Apply(t.Context(), &blueprint{cluster: &config.Cluster{}, build: func(jobSet) (backend, error) {
			attempts++
			return nil, errors.New("no")
		}}, jobSet{})
		c.Start()
		defer func() { _ = c.Stop(context.Background()) }()
		if err := c.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := attempts
		pass(time.Hour)
		synctest.Wait()
		if attempts > before {
			t.Errorf("%d attempts after Resign", attempts-before)
		}
	})
}

// A backend that starts while the agent begins to stop hands leadership over as well: or
// the others would wait for a leader that fires nothing.
func TestCoordinationResignsWhatIsStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBench()
		b := &scriptedBackend{}
		c.Apply(t.Context(), &blueprint{cluster: &config.Cluster{}, build: func(jobSet) (backend, error) {
			return b, c.Resign(context.Background())
		}}, jobSet{})
		c.Start()
		defer func() { _ = c.Stop(context.Background()) }()
		synctest.Wait()
		if !b.started || !b.resigned {
			t.Errorf("started %t, resigned %t", b.started, b.resigned)
		}
	})
}

// While a backend is built anew the old one stays known, with a view in which this node
// hands over. Only if the new one cannot start, or none is wanted any more, is there none.
func TestCoordinationBetweenTwoBackends(t *testing.T) {
	failure := errors.New("port in use")
	for what, test := range map[string]struct {
		err  error
		last *blueprint // applied in the end
		want []string
	}{
		"it starts":              {nil, nil, []string{"a", "b"}},
		"it cannot start":        {failure, nil, []string{"a", "none"}},
		"it is not wanted":       {failure, &blueprint{}, []string{"a", "none"}},
		"none is wanted instead": {nil, &blueprint{}, []string{"a", "none"}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBench()
				plan := func(name string, err error) *blueprint {
					cluster := &config.Cluster{NodeName: name}
					return &blueprint{cluster: cluster, build: func(jobSet) (backend, error) {
						return &scriptedBackend{cluster: cluster, err: err}, nil
					}}
				}
				c.Apply(t.Context(), plan("a", nil), jobSet{})
				c.Start()
				defer func() { _ = c.Stop(context.Background()) }()
				if what != "none is wanted instead" {
					c.Apply(t.Context(), plan("b", test.err), jobSet{})
				}
				if test.last != nil {
					c.Apply(t.Context(), nil, jobSet{})
				}
				synctest.Wait()
				var got []string
				for _, b := range c.installed {
					if b == nil {
						got = append(got, "none")
					} else {
						got = append(got, b.(*scriptedBackend).cluster.NodeName)
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("installed %q, want %q", got, test.want)
				}
			})
		})
	}
}
