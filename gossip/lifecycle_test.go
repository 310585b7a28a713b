package gossip

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// A listener that can't be bound, or certificates that can't be read, are errors after
// which Start may be tried again.
func TestStartFailsAndRecovers(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", rarely)
	c.node("b", rarely)
	if err := a.fix("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	blocker, err := net.Listen("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(a.config.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, a.config.KeyFile, []byte("garbage"))
	a.prepare()
	if v := a.View(); v == nil || v.Quorate() || a.ListenAddr() != nil {
		t.Error("before its start a node knows something")
	}
	if err := a.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "certificates") {
		t.Errorf("with a bad key: %v", err)
	}
	writeFile(t, a.config.KeyFile, key)
	if err := a.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("with the port in use: %v", err)
	}
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: time.Now()}}); v[0].Outcome != election.Pending || v[0].Reason == "" {
		t.Errorf("a claim without a manager: %+v", v)
	}
	if err := a.Resign(context.Background()); err != nil {
		t.Error(err)
	}
	a.table.update(func(_ *election.Self, s *election.State) { s.Stopping = false })
	blocker.Close()
	if err := a.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(context.Background()); err != nil {
		t.Errorf("started twice: %v", err)
	}
	if a.ListenAddr().String() != a.address {
		t.Errorf("listens at %v", a.ListenAddr())
	}
	c.nodes["b"].start()
	c.settled(2, "a", "a", "b")
}

// Stopping at any moment leaves nothing behind; TestMain looks for goroutines.
func TestStopAnyTime(t *testing.T) {
	c := newTestCluster(t)
	a, b := c.node("a", often), c.node("b", often)
	a.prepare()
	if err := a.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	b.start()
	for range 5 {
		a.start()
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { a.Claim(ctx, []election.Firing{{Job: "job", At: time.Now()}, {Job: "job"}}) })
		}
		wg.Go(func() { _ = a.MarkRebootRan(ctx, "job") })
		wg.Go(func() { a.Fleet() })
		cancel()
		// Whether the peers heard the farewell depends on the moment.
		_ = a.Stop(ctx)
		wg.Wait()
	}
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func (l *lockedBuffer) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

// The log tells what an operator needs to know, at the right level.
func TestLog(t *testing.T) {
	c := newTestCluster(t)
	var out lockedBuffer
	logger := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
	a, b := c.node("a", often), c.node("b", often)
	c.node("c", often)
	a.config.Peers = []string{"a" + testPort, "b" + testPort, "c" + testPort}
	a.logger = logger
	line := func(words ...string) {
		t.Helper()
		wait(t, "a log line with "+strings.Join(words, ", "), func() bool { return out.has(words...) })
	}
	c.startAll()
	line("[WARN]", "even number of nodes")
	line("[WARN]", "certificate is about to end")
	own, authority := a.CertificateExpiry()
	if end := time.Until(own); end <= 0 || end > time.Hour || time.Until(authority) <= 0 {
		t.Errorf("the certificate of the test ends in %v, its authority at %v", end, authority)
	}
	line("[INFO]", "this node itself", "peer=a:8443")
	line("[INFO]", "quorum reached")
	line("[INFO]", "this node leads now")
	line("[INFO]", "status=agreed", "peer=b:8443")
	c.settled(3, "a", "a", "b", "c")
	b.SetJobSet("v1:other", nil)
	line("[WARN]", "status=drifted", "peer=b:8443")
	b.SetJobSet("v1:same", []string{"job"})
	line("[INFO]", "status=agreed", "before=drifted")
	b.kill()
	line("[WARN]", "status=unreachable", "peer=b:8443")
	c.nodes["c"].kill()
	line("[WARN]", "quorum lost")
	line("[WARN]", "no longer leads")
	b.config.NodeName = "a"
	b.start()
	line("[ERROR]", "conflict", "bears the node name a")
	b.kill()
	line("[INFO]", "conflict is over")
	if out.has("memberlist:") || out.has("yamux:") {
		t.Error("the libraries speak at info level")
	}
}

// A node that lists itself may turn out to be one of two.
func TestLogDegenerate(t *testing.T) {
	c := newTestCluster(t)
	var out lockedBuffer
	a := c.node("a", often)
	c.node("b", often)
	a.config.Peers = []string{"a" + testPort, "b" + testPort}
	a.logger = hclog.New(&hclog.LoggerOptions{Output: &out})
	c.startAll()
	wait(t, "the warning about two nodes", func() bool { return out.has("[WARN]", "the cluster has two nodes") })
}

// The fleet picture has everybody once, keeps what a dead peer told, and ages it.
func TestFleet(t *testing.T) {
	c := newTestCluster(t)
	in := 3600.0
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, often, func(c *Config) {
			c.Summaries = func() (map[string]JobSummary, bool) {
				return map[string]JobSummary{"on-" + h: {Running: true, Enabled: true, ScheduledIn: &in}}, h == "c"
			}
		})
	}
	a := c.nodes["a"]
	a.config.Peers = []string{"a" + testPort, "b" + testPort, "c" + testPort, "nowhere" + testPort}
	c.startAll()
	node := func(i int) FleetNode { return a.Fleet()[i] }
	wait(t, "the fleet is known", func() bool { f := a.Fleet(); return len(f) == 4 && f[1].Jobs != nil && f[2].Jobs != nil })
	if n := node(0); n.NodeName != "a" || !n.Self || n.Host != "" || n.Status != election.StatusSelf || !n.Jobs["on-a"].Running || *n.Jobs["on-a"].ScheduledIn != in {
		t.Errorf("this node: %+v", n)
	}
	if n := node(2); n.NodeName != "c" || n.Host != "c"+testPort || !n.Truncated || n.Self {
		t.Errorf("c: %+v", n)
	}
	if n := node(3); n.NodeName != "" || n.Jobs != nil || !n.AsOf.IsZero() {
		t.Errorf("a peer that was never reached: %+v", n)
	}
	c.nodes["b"].kill()
	a.sees("b", election.StatusUnreachable)
	before := node(1)
	wait(t, "the countdown of a dead peer ages", func() bool {
		n := node(1)
		return n.Status == election.StatusUnreachable && n.AsOf.Equal(before.AsOf) && *n.Jobs["on-b"].ScheduledIn < *before.Jobs["on-b"].ScheduledIn
	})
	zero, past := aged(map[string]JobSummary{"x": {ScheduledIn: &in}}, 2*time.Hour), aged(nil, time.Hour)
	if *zero["x"].ScheduledIn != 0 || past != nil || in != 3600 {
		t.Errorf("%v, %v, %v", *zero["x"].ScheduledIn, past, in)
	}
}

// Summaries that take their time hold up neither agreement nor a hand-over.
func TestSlowSummaries(t *testing.T) {
	release := make(chan struct{})
	c := newTestCluster(t)
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, often, func(c *Config) {
			c.Summaries = func() (map[string]JobSummary, bool) {
				<-release
				return map[string]JobSummary{"job": {Enabled: true}}, false
			}
		})
	}
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	c.nodes["b"].SetJobSet("v1:other", nil)
	c.nodes["a"].sees("b", election.StatusDrifted)
	close(release)
	wait(t, "the summaries arrive", func() bool { return c.nodes["a"].Fleet()[1].Jobs["job"].Enabled })
}
