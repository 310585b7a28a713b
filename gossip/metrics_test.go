package gossip

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/hashicorp/go-metrics"

	"github.com/yacron2/yacron2/election"
)

// ever is one interval of a sink that does not end within a test, as one of an hour does
// when an hour of the day does.
const ever = time.Duration(math.MaxInt64)

// What a node counts and measures of itself.
func TestMetrics(t *testing.T) {
	c := newTestCluster(t)
	sink := metrics.NewInmemSink(ever, ever)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, often)
	}
	a := c.nodes["a"]
	a.config.Metrics = sink
	c.startAll()
	c.settled(3, "a", "a", "b", "c")

	// read hands out what is kept so far, which goes on to change.
	read := func(f func(*metrics.IntervalMetrics)) {
		current := sink.Data()[0]
		current.RLock()
		defer current.RUnlock()
		f(current)
	}
	sessions := func(direction string) (n float32) {
		read(func(m *metrics.IntervalMetrics) { n = m.Gauges["yacron2.gossip.sessions;direction="+direction].Value })
		return n
	}
	wait(t, "a session to each peer and from each", func() bool { return sessions("outgoing") == 2 && sessions("inbound") == 2 })
	rounds := a.View().State().Rounds
	wait(t, "more rounds", func() bool { return a.View().State().Rounds > rounds+2 })
	a.Claim(context.Background(), []election.Firing{{Job: "job", At: time.Now()}})
	read(func(m *metrics.IntervalMetrics) {
		for _, name := range []string{"session.dialled", "session.opened", "session.accepted", "exchange.done"} {
			if v := m.Counters["yacron2.gossip."+name]; v.AggregateSample == nil || v.Count < 2 {
				t.Errorf("%s: %+v", name, v)
			}
		}
		for name, least := range map[string]int{"round": rounds + 2, "claim": 1} {
			v := m.Samples["yacron2.gossip."+name]
			if v.AggregateSample == nil || v.Count < least || v.Min <= 0 || v.Max > float64(patience.Milliseconds()) {
				t.Errorf("%s: %+v", name, v)
			}
		}
	})

	c.nodes["b"].kill()
	wait(t, "the sessions with b are gone", func() bool { return sessions("outgoing") == 1 && sessions("inbound") == 1 })
	if err := a.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if out, in := sessions("outgoing"), sessions("inbound"); out != 0 || in != 0 {
		t.Errorf("%v and %v sessions after the end", out, in)
	}
}
