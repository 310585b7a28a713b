package gossip

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yacron2/yacron2/election"
)

// While nothing changes, scheduled rounds ask for news only: rows and summaries stay
// fresh all the same, and a change is seen like ever.
func TestNews(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	var running atomic.Bool
	sink := &counters{n: map[string]int{}}
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, often, func(c *Config) {
			c.Summaries = func() (map[string]JobSummary, bool) {
				return map[string]JobSummary{"on-" + h: {Running: running.Load()}}, false
			}
		})
	}
	a := c.nodes["a"]
	a.config.Metrics = sink
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	wait(t, "rounds with nothing new", func() bool { return sink.count("spared") > 5 })
	wait(t, "b has told of everybody", func() bool { p := a.row("b"); return len(p.MutualAgreeing) == 2 && len(p.QuorateVouched) == 2 })
	version := c.nodes["b"].table.versionNow()
	seen, spared := a.row("b").LastSeen, sink.count("spared")
	running.Store(true)
	wait(t, "what runs on b, by news", func() bool { return a.Fleet()[1].Jobs["on-b"].Running })
	wait(t, "more news", func() bool { return sink.count("spared") > spared })
	if p := a.row("b"); !p.LastSeen.After(seen) || p.Status != election.StatusAgreed || len(p.MutualAgreeing) != 2 {
		t.Errorf("%+v", p)
	}
	if now := c.nodes["b"].table.versionNow(); now != version {
		t.Errorf("the summaries made version %d of version %d", now, version)
	}

	// Mismatches count as in whole exchanges.
	c.nodes["b"].SetJobSet("v1:other", nil)
	a.sees("b", election.StatusDrifted)
	spared = sink.count("spared")
	wait(t, "news of a drifted peer", func() bool { return sink.count("spared") > spared+5 })
	if p := a.row("b"); p.Status != election.StatusDrifted || p.JobSetID != "v1:other" {
		t.Errorf("%+v", p)
	}
	c.nodes["b"].SetJobSet("v1:same", []string{"job"})
	a.sees("b", election.StatusAgreed)
}

// A peer that does not know the question is asked once a session; one that answers
// nonsense is believed as much as in any answer: of itself alone.
func TestNewsOfOddPeers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		voice  string
		spared bool
		mute   bool
	}{
		"an older version":       {`{"error":"unknown type of request"}`, false, true},
		"no news":                {`{}`, false, false},
		"changed":                {`{"news":{"unchanged":false,"job_summaries":{"x":{}}}}`, false, false},
		"not JSON":               {`unchanged`, false, false},
		"unchanged":              {`{"news":{"unchanged":true,"more":1}}`, true, false},
		"summaries that are odd": {`{"news":{"unchanged":true,"job_summaries":[[[1]]]}}`, true, false},
		"too many summaries":     {`{"news":{"unchanged":true,"job_summaries":"` + strings.Repeat("x", maxStateBytes) + `"}}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := rogueCluster(t)
			sink := &counters{n: map[string]int{}}
			a := c.nodes["a"]
			a.config.Metrics = sink
			a.config.Peers = []string{"c" + testPort}
			serveManners(t, c, "c", manners{
				hello:  hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()},
				answer: push(t, nil, appendTrailer([]byte(`{"node_name":"c","job_set_id":"v1:same","version":1}`)), nil),
				voice:  []byte(test.voice),
			})
			c.startAll("a")
			a.sees("c", election.StatusAgreed)
			l := a.links[0]
			for _, whole := range []bool{true, false, false, false} {
				before := sink.count("spared")
				r := &roundCall{done: make(chan struct{}), whole: whole}
				l.rounds <- r
				<-r.done
				if spared := sink.count("spared") > before; spared != (test.spared && !whole) {
					t.Errorf("whole %v: spared %v", whole, spared)
				}
			}
			if l.known.mute != test.mute { // nothing else happens before the next round
				t.Errorf("asked no more: %v", l.known.mute)
			}
			if p := a.row("c"); p.Status != election.StatusAgreed {
				t.Errorf("%+v", p)
			}
			if sink.count("failed") > 0 {
				t.Error("an exchange failed")
			}
		})
	}
}
