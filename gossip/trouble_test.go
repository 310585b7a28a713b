package gossip

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// troubled reports whether one of the node's troubles has the words.
func troubled(n *testNode, words string) bool {
	return slices.ContainsFunc(n.Troubles(), func(text string) bool { return strings.Contains(text, words) })
}

// Claims are repeated while a disk is full. That is said once, not with each of them, and
// again when it is over.
func TestUnstoredVotes(t *testing.T) {
	store := &memoryStore{known: true}
	c := newTestCluster(t)
	var out lockedBuffer
	for _, h := range []string{"a", "b", "c"} {
		c.node(h, rarely, func(config *Config) {
			if h != "c" {
				return
			}
			var err error
			if config.Voter, err = NewVoter(store); err != nil {
				t.Fatal(err)
			}
		})
	}
	voter := c.nodes["c"]
	voter.logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info})
	c.startAll()
	c.settled(3, "a", "a", "b", "c")
	c.nodes["b"].kill() // so that a needs the vote of c
	c.settled(2, "a", "a", "c")

	at := unfenced(t)
	ask := func() election.Verdict {
		return c.nodes["a"].Claim(context.Background(), []election.Firing{{Job: "job", At: at}})[0]
	}
	fail := func(err error) {
		store.mu.Lock()
		defer store.mu.Unlock()
		store.fail = err
	}
	if troubled(voter, "votes") {
		t.Errorf("nothing was voted, and there is trouble: %q", voter.Troubles())
	}
	fail(errors.New("no space left on device"))
	for range 20 {
		if v := ask(); v.Outcome == election.Granted || !strings.Contains(v.Reason, "could not store their vote (c)") {
			t.Fatalf("%+v", v)
		}
	}
	if n := out.count("votes can't be stored"); n != 1 {
		t.Errorf("20 claims logged it %d times:\n%s", n, out.String())
	}
	if !troubled(voter, "no space left on device") || troubled(c.nodes["a"], "votes") {
		t.Errorf("troubles of the voter %q, of the claimant %q", voter.Troubles(), c.nodes["a"].Troubles())
	}
	fail(nil)
	if v := ask(); v.Outcome != election.Granted {
		t.Fatalf("%+v", v)
	}
	if troubled(voter, "votes") || out.count("votes are stored again") != 1 {
		t.Errorf("troubles %q after:\n%s", voter.Troubles(), out.String())
	}
	fail(errors.New("input/output error"))
	at = at.Add(time.Millisecond)
	if ask(); !out.has("[ERROR]", "input/output error") {
		t.Errorf("the next failure is held back:\n%s", out.String())
	}
}

// A node tells when its certificate ends, and that the files which are to follow it are
// not in use.
func TestTroubledCertificates(t *testing.T) {
	c := newTestCluster(t)
	a := c.node("a", rarely)
	c.node("b", rarely)
	c.startAll()
	if !troubled(a, "certificate ends at") { // that of a test lasts for less than an hour
		t.Errorf("troubles %q", a.Troubles())
	}
	writeFile(t, a.config.KeyFile, []byte("half a key"))
	_ = a.ReloadCertificates() // it fails, unless a round has looked before and told of it
	if !troubled(a, "can't be used") {
		t.Errorf("troubles %q", a.Troubles())
	}
}
