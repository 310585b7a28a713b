package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/pki"
)

// Options describe a cluster.
type Options struct {
	// Names of the nodes, by default yacron-a, yacron-b and yacron-c. A single one has
	// no cluster section.
	Names []string
	// Jobs returns the jobs of all nodes; nil for a job that never fires.
	Jobs func(Journal) []Job

	NoElection   bool
	Distribution string
	Interval     int // seconds, 0 for the agent's default
	DriftAfter   int
	// Web and Token are those of the Settings of all nodes.
	Web, Token string
	// Durable gives each node a data directory.
	Durable bool
	// Store returns what Settings.Store of a node is; nil is gossip.
	Store func(name string) string
	// Places says where the nodes are; nil leaves them on the loopback interface.
	Places func(name string) Place
}

// Place is where a node is, if not on the loopback interface.
type Place struct {
	Listen  string // host:port of the cluster listener
	Address string // host:port by which the other nodes know it
	// Prefix is the words that run a program there: its command line follows them.
	Prefix []string
}

// Cluster is a number of nodes that list each other as peers. None runs yet when New
// returns.
type Cluster struct {
	Nodes   []*Node // in the order of their names in Options
	CA      *pki.CA
	Journal Journal
	Dir     string // of the test's files

	tb testing.TB
}

// New writes the configuration of a cluster. When the test ends, agents that still run
// must stop in peace, and what went wrong is shown with the tails of their logs.
func New(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	if o.Names == nil {
		o.Names = []string{"yacron-a", "yacron-b", "yacron-c"}
	}
	c := &Cluster{CA: NewCA(tb), Dir: tb.TempDir(), tb: tb}
	c.Journal = Journal(filepath.Join(c.Dir, "journal"))
	jobs := []Job{{Name: "never", Schedule: "0 0 1 1 * 2099", Command: "true"}}
	if o.Jobs != nil {
		jobs = o.Jobs(c.Journal)
	}
	place := o.place(tb)
	for _, name := range o.Names {
		s, prefix := place(name)
		s.NodeName, s.ElectLeader, s.Distribution = name, !o.NoElection, o.Distribution
		s.Web, s.Token = o.Web, o.Token
		s.Interval, s.DriftAfter, s.Alone = o.Interval, o.DriftAfter, len(o.Names) == 1
		if o.Store != nil {
			s.Store = o.Store(name)
		}
		if o.Durable {
			s.DataDir = filepath.Join(c.Dir, name, "data")
		}
		n := c.newNode(name, s)
		n.prefix = prefix
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes {
		for _, other := range c.Nodes {
			if other != n {
				n.Peers = append(n.Peers, other.PeerAddress())
			}
		}
		n.WriteConfig()
		n.WriteJobs(jobs...)
	}
	tb.Cleanup(c.close)
	return c
}

// place returns the function that says where a node is, and the words before its command.
func (o *Options) place(tb testing.TB) func(name string) (Settings, []string) {
	tb.Helper()
	if o.Places == nil {
		return func(string) (Settings, []string) {
			ports := FreePorts(tb, 2)
			return Settings{Listen: loopback(ports[0]), APIPort: ports[1]}, nil
		}
	}
	// The path of a socket is short; the test's own folder may not be.
	dir, err := os.MkdirTemp("", "y2-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return func(name string) (Settings, []string) {
		p := o.Places(name)
		return Settings{Listen: p.Listen, Address: p.Address, Socket: filepath.Join(dir, name)}, p.Prefix
	}
}

// newNode makes the folders of a node, with a good certificate.
func (c *Cluster) newNode(folder string, s Settings) *Node {
	c.tb.Helper()
	n := &Node{Settings: s, tb: c.tb, dir: filepath.Join(c.Dir, folder)}
	for _, dir := range []string{n.configDir(), n.tlsDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			c.tb.Fatal(err)
		}
	}
	n.WriteCA(c.CA)
	n.WriteCertificate(c.CA, GoodCertificate(s.NodeName))
	client, err := api.NewClient(api.ClientConfig{Address: s.API(), Token: s.Token})
	if err != nil {
		c.tb.Fatal(err)
	}
	n.Client = client
	return n
}

// Add makes one more node, which no other lists as a peer. The caller writes its
// configuration.
func (c *Cluster) Add(folder string, s Settings) *Node {
	c.tb.Helper()
	n := c.newNode(folder, s)
	c.Nodes = append(c.Nodes, n)
	return n
}

// Node returns the node of that name.
func (c *Cluster) Node(name string) *Node {
	c.tb.Helper()
	for _, n := range c.Nodes {
		if n.NodeName == name {
			return n
		}
	}
	c.tb.Fatalf("no node %s", name)
	return nil
}

// Start starts all agents at the same moment.
func (c *Cluster) Start() {
	c.tb.Helper()
	Binary(c.tb) // built before the first starts
	for _, n := range c.Nodes {
		n.Start()
	}
}

// Running returns the nodes whose agents run.
func (c *Cluster) Running() []*Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return !n.Running() })
}

// Kill ends all agents by SIGKILL.
func (c *Cluster) Kill() {
	c.tb.Helper()
	for _, n := range c.Running() {
		n.Kill()
	}
}

// Entries reads the journal.
func (c *Cluster) Entries() Entries {
	c.tb.Helper()
	entries, err := c.Journal.Read()
	if err != nil {
		c.tb.Fatal(err)
	}
	return entries
}

// AwaitAgreement waits until all running agents agree on all of them as members, and
// on the leader, who must be the node named leader.
func (c *Cluster) AwaitAgreement(leader string) {
	c.tb.Helper()
	Eventually(c.tb, "agreement with leader "+leader, c.Agrees(leader))
}

// Agrees returns the condition that AwaitAgreement waits for.
func (c *Cluster) Agrees(leader string) func() error {
	running := c.Running()
	var checks []func() error
	for _, n := range running {
		checks = append(checks, n.Sees(len(c.Nodes), len(running), leader))
	}
	return All(checks...)
}

// Sees returns the condition that the node is in a cluster of that size, in mutual
// agreement with all but itself of that many nodes, and sees that leader ("" for
// none).
func (n *Node) Sees(size, agreeing int, leader string) func() error {
	return func() error {
		v, err := n.Cluster()
		if err != nil {
			return err
		}
		agreed := 1
		for _, p := range v.Peers {
			if p.Status == api.PeerAgreed {
				agreed++
			}
		}
		return All(
			func() error { return Expect(n.NodeName+": cluster_size", v.ClusterSize, size) },
			func() error { return Expect(n.NodeName+": agreeing", v.Agreeing, agreeing) },
			func() error { return Expect(n.NodeName+": agreed rows and itself", agreed, agreeing) },
			func() error { return Expect(n.NodeName+": leader", string(v.Leader), leader) },
			func() error { return Expect(n.NodeName+": is_leader", v.IsLeader, leader == n.NodeName) },
		)()
	}
}

// SeesPeer returns the condition that the node gives other one of these statuses.
func (n *Node) SeesPeer(other *Node, statuses ...string) func() error {
	return func() error {
		p, err := n.Peer(other)
		if err != nil {
			return err
		}
		if slices.Contains(statuses, p.Status) {
			return nil
		}
		return fmt.Errorf("%s sees %s as %s (%s), want %s", n.NodeName, other.NodeName, p.Status,
			p.LastError, strings.Join(statuses, " or "))
	}
}

// close stops the agents that still run, checks that they end well and shows the logs
// of a test that failed.
func (c *Cluster) close() {
	if !c.tb.Failed() {
		c.stopInPeace()
	}
	c.Kill()
	for _, n := range c.Nodes {
		n.Client.Close()
		for _, bad := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: "} {
			if strings.Contains(n.Log(), bad) {
				c.tb.Errorf("%s logged %q", n.NodeName, strings.TrimSpace(bad))
			}
		}
	}
	if c.tb.Failed() {
		for _, n := range c.Nodes {
			c.tb.Logf("log of %s:\n%s", n.dir, tail(n.Log(), 1000))
		}
	}
}

func (c *Cluster) stopInPeace() {
	running := c.Running()
	for _, n := range running {
		n.Signal(thaw) // it may have been paused
		// Before it answers, the signal may still end it as it ends any process.
		if err := Poll(Patience, pollEvery, func() error { _, err := n.Cluster(); return err }); err != nil {
			c.tb.Errorf("%s does not answer: %v", n.NodeName, err)
		}
		n.Signal(syscall.SIGTERM)
	}
	var wg sync.WaitGroup
	for _, n := range running {
		wg.Go(func() {
			if err := n.awaitExit(); err != nil {
				c.tb.Error(err)
			}
		})
	}
	wg.Wait()
}

// tail returns the last lines of text.
func tail(text string, lines int) string {
	all := slices.Collect(strings.Lines(text))
	if len(all) <= lines {
		return text
	}
	return fmt.Sprintf("(%d lines left out)\n%s", len(all)-lines, strings.Join(all[len(all)-lines:], ""))
}
