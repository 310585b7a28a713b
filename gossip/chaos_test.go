package gossip

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Every node believes that it owns every firing, while nodes die and come back without
// a memory and links are cut and healed, one way or both. No firing is granted to two
// processes.
func TestNoFiringTwice(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	c := newTestCluster(t)
	hosts := []string{"a", "b", "c"}
	_, jobs := batch(time.Time{}, 3)
	for _, h := range hosts {
		c.node(h, rarely, func(c *Config) { c.LeaderJobs, c.ConnectTimeout = jobs, time.Second })
	}
	c.startAll()
	c.settled(3, "a", hosts...)

	var (
		mu      sync.Mutex
		granted = map[election.Firing]string{}
		alive   = map[string]*Manager{}
	)
	for _, h := range hosts {
		alive[h] = c.nodes[h].Manager
	}
	const step = 50 * time.Millisecond
	over := time.Now().Add(8 * time.Second)
	claim := func(h string) {
		for time.Now().Before(over) {
			mu.Lock()
			m := alive[h]
			mu.Unlock()
			var due []election.Firing
			now := time.Now().UTC()
			for at := now.Truncate(step); now.Sub(at) < 10*step; at = at.Add(-step) {
				firings, _ := batch(at, len(jobs))
				due = append(due, firings...)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*step)
			verdicts := m.Claim(ctx, due)
			cancel()
			mu.Lock()
			for i, v := range verdicts {
				if v.Outcome != election.Granted {
					continue
				}
				if other := granted[due[i]]; other != "" && other != m.InstanceID() {
					t.Errorf("%v granted to %s and %s", due[i], other, m.InstanceID())
				}
				granted[due[i]] = m.InstanceID()
			}
			mu.Unlock()
			<-time.After(step / 5)
		}
	}
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { claim(h) })
	}
	for time.Now().Before(over) {
		h, other := hosts[random.IntN(len(hosts))], hosts[random.IntN(len(hosts))]
		switch {
		case random.IntN(8) == 0: // not more often: everybody is fenced after each
			n := c.nodes[h]
			n.kill()
			n.start()
			mu.Lock()
			alive[h] = n.Manager
			mu.Unlock()
		case h != other:
			c.wires.set(h, other, cut(random.IntN(3)))
		}
		<-time.After(time.Duration(random.IntN(400)) * time.Millisecond)
		if random.IntN(3) == 0 {
			for _, from := range hosts {
				for _, to := range hosts {
					c.wires.set(from, to, 0)
				}
			}
		}
	}
	wg.Wait()
	if len(granted) == 0 {
		t.Error("no firing was granted at all: the test shows nothing")
	}
	byProcess := map[string]int{}
	for _, instance := range granted {
		byProcess[instance]++
	}
	t.Logf("%d firings granted to %d processes", len(granted), len(byProcess))
}
