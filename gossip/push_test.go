package gossip

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/go-metrics"
)

// counters is a sink that counts.
type counters struct {
	metrics.BlackholeSink
	mu sync.Mutex
	n  map[string]int
}

func (c *counters) IncrCounter(key []string, _ float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[key[len(key)-1]]++
}

func (c *counters) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Many calls at once, as from many @reboot jobs at a start, share what they ask for.
// They must not use up the streams of a session: the exchanges need some too.
func TestManyPushes(t *testing.T) {
	c := newTestCluster(t)
	sinks := map[string]*counters{}
	for _, host := range []string{"a", "b", "c"} {
		sink := &counters{n: map[string]int{}}
		sinks[host] = sink
		c.node(host, func(c *Config) { c.Metrics = sink })
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	failed := map[string]int{}
	for host, sink := range sinks {
		failed[host] = sink.count("exchange.failed")
	}

	var wg sync.WaitGroup
	for i := range 10 * maxStreams {
		wg.Go(func() {
			if err := a.MarkRebootRan(context.Background(), fmt.Sprint("job-", i)); err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, host := range []string{"b", "c"} {
		if n := len(c.nodes[host].voter.told().jobs); n != 10*maxStreams {
			t.Errorf("%s knows of %d jobs", host, n)
		}
	}
	for host, sink := range sinks {
		if n := sink.count("exchange.failed") - failed[host]; n > 0 {
			t.Errorf("%s: %d exchanges failed", host, n)
		}
	}
}
