package gossip

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// futureHello is what a later version may say.
func futureHello(lowest int, instance string) map[string]any {
	return map[string]any{
		"protocol_min": lowest, "protocol_max": 7, "instance_id": instance,
		"features": []string{"compression", "zones"}, "build": map[string]any{"version": "9.0.0", "commit": nil},
	}
}

// A node of a later version, which speaks this one's protocol too and says more than this
// one understands, is a full member: it agrees, votes, and is voted for.
func TestNewerPeer(t *testing.T) {
	c := rogueCluster(t)
	newer := newInstanceID()
	state := `{"node_name":"c","instance_id":"` + newer + `","job_set_id":"v1:same","cluster_size":3,"distribution":"single-leader",
		"elect_leader":true,"version":3,"stopping":false,"epoch":{"term":7,"votes":[1,2,{"deep":[[]]}]},"zone":"north","weights":[0.5,1e300],
		"job_summaries":{"job":{"running":false,"enabled":true,"scheduled_in":null,"last":null,"tags":["x"]}},"job_summaries_truncated":false}`
	serveManners(t, c, "c", manners{
		hello:  futureHello(1, newer),
		answer: push(t, nil, appendTrailer([]byte(state)), nil),
		voice:  []byte(`{"answer":{"votes":[{"g":true,"weight":2,"lease":{"until":9}}],"epoch":7},"trace":"00-11","hint":null}`),
	})
	c.startAll("a")
	a := c.nodes["a"]
	p := a.sees("c", election.StatusAgreed)
	if p.NodeName != "c" || p.InstanceID != newer || p.DeclaredSize != 3 {
		t.Errorf("%+v", p)
	}
	c.settled(2, "a", "a")
	at := unfenced(t)
	if v := a.Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]; v.Outcome != election.Granted {
		t.Errorf("with the newer node's vote: %+v", v)
	}
	if f := a.Fleet(); len(f) != 3 || !f[2].Jobs["job"].Enabled {
		t.Errorf("its jobs: %+v", f)
	}

	r := dialWith(t, c, a, "c", futureHello(1, newer))
	if r.err != nil {
		t.Fatal(r.err)
	}
	ask := func(text string) (got response) {
		t.Helper()
		answer := closed(t, r.stream(kindRequest, frame([]byte(text))))
		if len(answer) < 4 {
			t.Fatalf("no answer to %s", text)
		}
		if err := json.Unmarshal(answer[4:], &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	next := at.Add(time.Second).Format(time.RFC3339Nano)
	wait(t, "a vote for the newer node", func() bool {
		got := ask(`{"type":"claim","trace":"00-11","deadline":12,"claim":{"node_name":"c","size":3,"job_set_id":"v1:same","policy":"single-leader",
			"epoch":7,"firings":[{"at":"` + next + `","jobs":["job"],"zones":{"job":"north"}}]}}`)
		return got.Answer != nil && len(got.Answer.Votes) == 1 && got.Answer.Votes[0].Granted
	})
	if got := ask(`{"type":"rebalance","rebalance":{"to":"north"}}`); got.Error == "" || got.Answer != nil {
		t.Errorf("a question of the future: %+v", got)
	}
	// A stream of a kind that this version does not know is closed, and that is all.
	if rest := closed(t, r.stream('z', []byte("whatever"))); len(rest) > 0 {
		t.Errorf("%d bytes in answer to a stream of the future", len(rest))
	}
	c.settled(2, "a", "a")
	if p := a.row("c"); p.Status != election.StatusAgreed {
		t.Errorf("in the end: %+v", p)
	}
}

// A version that has dropped this one's protocol is refused by both ends, with words
// that say why.
func TestTooNewPeer(t *testing.T) {
	c := rogueCluster(t)
	serveManners(t, c, "c", manners{hello: futureHello(protocolMax+1, newInstanceID())})
	c.startAll("a", "b")
	c.settled(2, "a", "a", "b")
	a := c.nodes["a"]
	wait(t, "the row says why", func() bool {
		p := a.row("c")
		return p.Status == election.StatusUnreachable && strings.Contains(p.LastError, "no common protocol version: 1 to 1 here, 2 to 7 there")
	})
	conn := dialTLS(t, c, a, "c", protoGossip)
	if _, err := readHello(conn); err != nil {
		t.Fatal(err)
	}
	if err := writeAny(conn, futureHello(protocolMax+1, newInstanceID())); err != nil {
		t.Fatal(err)
	}
	if rest := closed(t, conn); len(rest) > 0 {
		t.Errorf("answered with %d bytes", len(rest))
	}
}
