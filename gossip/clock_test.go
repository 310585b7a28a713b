package gossip

import (
	"bytes"
	"context"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/yamux"
	"pgregory.net/rapid"

	"github.com/yacron2/yacron2/election"
)

// Whatever the two ways and the peer take, the true difference of the clocks is within
// what the round trip gives.
func TestSkewOfARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		there, held, back := span("there", 5*time.Second), span("held", time.Second), span("back", 5*time.Second)
		ahead := span("ahead", 100*24*time.Hour) - span("behind", 100*24*time.Hour)
		sent := time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "sent"))
		answer := appendClockAnswer(nil, sent.Add(there+ahead), sent.Add(there+held+ahead))
		r := parseClockAnswer((*[clockAnswerLen]byte)(answer), sent, there+held+back)
		got, maxError, ok := r.skew()
		if !ok {
			t.Fatal("refused")
		}
		if (got - ahead).Abs() > maxError {
			t.Fatalf("%v within %v, but it is %v", got, maxError, ahead)
		}
		if maxError > (there+back)/2+2 {
			t.Fatalf("within %v although %v were under way", maxError, there+back)
		}
	})
}

// An answer that takes back time, or more of it than passed, is none.
func TestSkewOfALie(t *testing.T) {
	sent := time.Unix(1e9, 0)
	for _, test := range []struct {
		name               string
		received, answered int64 // after sent, in nanoseconds
		took               time.Duration
		ok                 bool
	}{
		{"honest", 10, 20, 30, true},
		{"at once", 0, 0, 0, true},
		{"answered before it was asked", 20, 10, 30, false},
		{"took longer than it took", 0, 31, 30, false},
		{"the whole of time", math.MinInt64, math.MaxInt64 - 1e18, 30, false},
		{"far ahead", math.MaxInt64 - 1e18, math.MaxInt64 - 1e18, 30, true},
		{"far behind", math.MinInt64, math.MinInt64, 30, true},
		{"a local clock that ran backwards", 0, 0, -1, false},
	} {
		r := parseClockAnswer((*[clockAnswerLen]byte)(appendClockAnswer(nil, sent.Add(time.Duration(test.received)), sent.Add(time.Duration(test.answered)))), sent, test.took)
		if _, _, ok := r.skew(); ok != test.ok {
			t.Errorf("%s: %v", test.name, ok)
		}
	}
}

// shifted makes a clock that can be moved.
func shifted(by *atomic.Int64) func(*Config) {
	return func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	}
}

// near reports whether a peer's clock was measured to be ahead by about so much.
func near(p election.Peer, ahead time.Duration) bool {
	return p.Skew != nil && (p.Skew.Ahead-ahead).Abs() <= p.Skew.Error && p.Skew.Error < election.ClockSkew/4
}

// Each node shows by how much the clock of every peer differs from its own, warns once
// about one that is too far off, and says when it is back.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t)
	var ahead, behind atomic.Int64
	ahead.Store(int64(5 * time.Second))
	behind.Store(-int64(700 * time.Millisecond))
	a, b := c.node("a", often), c.node("b", often, shifted(&ahead))
	c.node("c", often, shifted(&behind))
	var out lockedBuffer
	a.logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	for _, test := range []struct {
		at, of string
		ahead  time.Duration
	}{
		{"a", "b", 5 * time.Second}, {"b", "a", -5 * time.Second},
		{"a", "c", -700 * time.Millisecond}, {"c", "a", 700 * time.Millisecond},
		{"b", "c", -5700 * time.Millisecond}, {"c", "b", 5700 * time.Millisecond},
	} {
		wait(t, test.at+" knows the clock of "+test.of, func() bool { return near(c.nodes[test.at].row(test.of), test.ahead) })
		p := c.nodes[test.at].row(test.of)
		if far := test.of == "b" || test.at == "b"; p.Skew.Excessive != far {
			t.Errorf("%s finds %s too far off: %v", test.at, test.of, p.Skew.Excessive)
		}
	}
	rounds := func(n int) { // of measurements
		for range n {
			before := a.View().State().Rounds
			wait(t, "another round", func() bool { return a.View().State().Rounds > before })
		}
	}
	const warning, recovery = "claims need clocks within 2s of each other", "close to this node's again"
	wait(t, "the warning", func() bool { return out.has("[WARN]", warning, "peer=b:8443") })
	rounds(5)

	// Clocks do not decide who leads, so a node that is off goes on taking part.
	if p := a.row("b"); p.Status != election.StatusAgreed {
		t.Errorf("%+v", p)
	}
	ahead.Store(int64(1900 * time.Millisecond))
	wait(t, "the new difference", func() bool { return near(a.row("b"), 1900*time.Millisecond) })
	if !a.row("b").Skew.Excessive {
		t.Error("the warning is taken back at once")
	}
	ahead.Store(-int64(time.Second))
	wait(t, "the recovery", func() bool { return out.has("[INFO]", recovery, "peer=b:8443") })
	if a.row("b").Skew.Excessive {
		t.Error("still too far off")
	}
	rounds(5)
	for text, n := range map[string]int{warning: 1, recovery: 1} {
		if got := out.count(text); got != n {
			t.Errorf("%q is logged %d times", text, got)
		}
	}

	// Who is gone has no clock.
	b.kill()
	if p := a.sees("b", election.StatusUnreachable); p.Skew != nil {
		t.Errorf("the clock of a dead process: %+v", p.Skew)
	}
}

// What the warning says is true: a claim by a clock that is too far ahead is denied
// until the others' clocks have come that far.
func TestClaimsNeedClocks(t *testing.T) {
	var ahead, little atomic.Int64
	ahead.Store(int64(time.Hour))
	little.Store(int64(time.Second))
	c := newTestCluster(t)
	for h, by := range map[string]*atomic.Int64{"a": &ahead, "b": {}, "c": &little} {
		c.node(h, rarely, shifted(by))
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	at := unfenced(t)
	claim := func(host string, at time.Time) election.Verdict {
		return c.nodes[host].Claim(context.Background(), []election.Firing{{Job: "job", At: at.Truncate(time.Second)}})[0]
	}
	if v := claim("a", at.Add(time.Hour)); v.Outcome == election.Granted || !strings.Contains(v.Reason, "too early") {
		t.Errorf("an hour ahead: %+v", v)
	}
	// A second ahead is not too far: no more than the usual fence has to be waited for.
	wait(t, "a grant to c", func() bool { return claim("c", at.Add(election.ClockSkew)).Outcome == election.Granted })
	for _, h := range []string{"b", "c"} {
		if s := c.nodes[h].row("a").Skew; s == nil || !s.Excessive {
			t.Errorf("%s did not notice: %+v", h, s)
		}
	}
}

// A peer that knows nothing of clocks, or answers nonsense, is a member as any other;
// its row says nothing, or what it claims of itself.
func TestClocksOfOddPeers(t *testing.T) {
	t.Parallel()
	raw := func(b ...byte) func(*yamux.Stream) {
		return func(s *yamux.Stream) {
			_, _ = s.Read(make([]byte, 1))
			_, _ = s.Write(b)
		}
	}
	absurd := func(received, answered int64) func(*yamux.Stream) {
		return func(s *yamux.Stream) {
			for {
				if _, err := s.Read(make([]byte, 1)); err != nil {
					return
				}
				if _, err := s.Write(appendClockAnswer(nil, time.Unix(0, received), time.Unix(0, answered))); err != nil {
					return
				}
			}
		}
	}
	for name, test := range map[string]struct {
		clock    func(*yamux.Stream)
		measured bool
	}{
		"an older version":  {nil, false},
		"no answer":         {func(s *yamux.Stream) { _, _ = io.Copy(io.Discard, s) }, false},
		"half an answer":    {raw(1, 2, 3), false},
		"back in time":      {absurd(2e18, 1e18), false},
		"longer than it is": {absurd(1e18, 2e18), false},
		"the end of time":   {absurd(math.MaxInt64, math.MaxInt64), true},
		"before all time":   {absurd(math.MinInt64, math.MinInt64), true},
		"without end": {func(s *yamux.Stream) {
			junk := bytes.Repeat([]byte{0x11}, 1<<16)
			for {
				if _, err := s.Write(junk); err != nil {
					return
				}
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := rogueCluster(t)
			asked := make(chan struct{}, 100)
			as := manners{
				hello:  hello{ProtocolMin: 1, ProtocolMax: 1, Instance: newInstanceID()},
				answer: push(t, nil, appendTrailer([]byte(`{"node_name":"c","job_set_id":"v1:same"}`)), nil),
			}
			if test.clock != nil {
				as.clock = func(s *yamux.Stream) {
					signal(asked)
					test.clock(s)
				}
			}
			serveManners(t, c, "c", as)
			c.startAll("a", "b")
			c.settled(3, "a", "a", "b")
			a := c.nodes["a"]
			wait(t, "a knows the clock of b", func() bool { return near(a.row("b"), 0) })
			switch {
			case test.measured:
				wait(t, "a shows what c says", func() bool { s := a.row("c").Skew; return s != nil && s.Excessive })
				return
			case test.clock != nil:
				<-asked
			}
			// A further question comes to the same, and leaves the session alone.
			link := a.links[1]
			link.mu.Lock()
			s := link.session
			link.mu.Unlock()
			signal(link.compare)
			if test.clock != nil && name != "no answer" {
				<-asked
			}
			if p := a.row("c"); p.Skew != nil || p.Status != election.StatusAgreed {
				t.Errorf("%+v, skew %+v", p, p.Skew)
			}
			if s == nil || s.over() {
				t.Error("the session has ended")
			}
		})
	}
}

// Whoever asks for the time gets a few answers and holds no stream for long.
func TestAskedForTheTime(t *testing.T) {
	t.Parallel()
	c := rogueCluster(t)
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	a := c.nodes["a"]
	r := dialRogue(t, c, a, "c", newInstanceID()) // bound to no host
	answers := closed(t, r.stream(kindClock, make([]byte, 1000)))
	if len(answers) != clockTries*clockAnswerLen {
		t.Errorf("%d bytes in answer", len(answers))
	}
	trip := parseClockAnswer((*[clockAnswerLen]byte)(answers), time.Now(), time.Minute)
	if ahead, _, ok := trip.skew(); !ok || ahead.Abs() > time.Hour {
		t.Errorf("the answer is off by %v, %v", ahead, ok)
	}
	if rest := closed(t, r.stream(kindClock, nil)); len(rest) > 0 {
		t.Errorf("%d bytes in answer to nothing", len(rest))
	}
}

func FuzzClockAnswer(f *testing.F) {
	f.Add(appendClockAnswer(nil, time.Unix(0, 0), time.Unix(1, 0)), int64(0), int64(time.Second))
	f.Add(appendClockAnswer(nil, time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, data []byte, sent, took int64) {
		if len(data) != clockAnswerLen {
			return
		}
		r := parseClockAnswer((*[clockAnswerLen]byte)(data), time.Unix(0, sent), time.Duration(took))
		ahead, maxError, ok := r.skew()
		if !ok {
			return
		}
		if took < 0 || maxError < 0 || maxError > time.Duration(took)/2+2 {
			t.Errorf("within %v after %v", maxError, time.Duration(took))
		}
		s := election.Compare(nil, ahead, maxError)
		if s.Excessive && ahead > -election.ClockSkew && ahead < election.ClockSkew {
			t.Errorf("%+v", s)
		}
		if again := appendClockAnswer(nil, r.received, r.answered); !bytes.Equal(again, data) {
			t.Errorf("%x is told as %x", data, again)
		}
	})
}
