package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for anything.
const patience = 30 * time.Second

// wait blocks until cond holds.
func wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		<-tick.C
	}
}

// wires is the network of a test: names instead of addresses, and every way from one
// node to another can be cut. Underneath are real sockets on loopback.
type wires struct {
	mu    sync.Mutex
	addrs map[string]string // host:port as configured → where it listens; "": not yet
	lost  map[string]bool   // who can't resolve names
	cuts  map[way]cut
	open  map[*wire]bool
}

type way struct{ from, to string }

type cut int

const (
	cutRefuse cut = iota + 1 // connections are refused, those that exist break
	cutSilent                // everything sent disappears
)

func newWires() *wires {
	return &wires{addrs: map[string]string{}, lost: map[string]bool{}, cuts: map[way]cut{}, open: map[*wire]bool{}}
}

// set changes what happens on the way from one node's dials to another.
func (w *wires) set(from, to string, c cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts[way{from, to}] = c
	for x := range w.open {
		if x.way == (way{from, to}) {
			x.apply(c)
		}
	}
}

// dial returns the dial function of one node.
func (w *wires) dial(from string) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		target, known := w.addrs[address]
		if w.lost[from] {
			target = address
			address, known = w.at(target)
		}
		host, _, _ := net.SplitHostPort(address)
		on := way{from, host}
		c := w.cuts[on]
		w.mu.Unlock()
		if known && target == "" {
			c = cutRefuse
		}
		if !known {
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
		switch c {
		case cutRefuse:
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		case cutSilent:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, target)
		if err != nil {
			return nil, err
		}
		x := &wire{Conn: conn, way: on, w: w, silent: make(chan struct{})}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open[x] = true
		x.apply(w.cuts[on])
		return x, nil
	}
}

// listens notes where a host listens now.
func (w *wires) listens(address string, hosts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range hosts {
		w.addrs[h+testPort] = address
	}
}

// lose takes the means to resolve names from nodes.
func (w *wires) lose(nodes ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range nodes {
		w.lost[n] = true
	}
}

// at returns the name of whoever listens at an address, as host:port; false if nobody
// does. w.mu is held.
func (w *wires) at(address string) (name string, ok bool) {
	for name, target := range w.addrs {
		if target == address {
			return name, true
		}
	}
	return address, false
}

// wire is one connection that can be cut.
type wire struct {
	net.Conn
	way    way
	w      *wires
	silent chan struct{}
	mute   sync.Once
}

func (x *wire) apply(c cut) {
	switch c {
	case cutRefuse:
		x.Conn.Close()
	case cutSilent:
		x.mute.Do(func() { close(x.silent) })
	}
}

func (x *wire) isSilent() bool {
	select {
	case <-x.silent:
		return true
	default:
		return false
	}
}

func (x *wire) Read(b []byte) (int, error) {
	for {
		n, err := x.Conn.Read(b)
		if err != nil || !x.isSilent() {
			return n, err
		} // else what arrives disappears; deadlines work as ever
	}
}

func (x *wire) Write(b []byte) (int, error) {
	if x.isSilent() {
		return len(b), nil
	}
	return x.Conn.Write(b)
}

func (x *wire) Close() error {
	x.w.mu.Lock()
	delete(x.w.open, x)
	x.w.mu.Unlock()
	return x.Conn.Close()
}

// testCluster is a set of nodes that share a CA and a network.
type testCluster struct {
	t     testing.TB
	dir   string
	ca    *pki.CA
	wires *wires
	nodes map[string]*testNode

	wrap func(net.Conn) net.Conn // every connection, at both ends; nil: as it is

	mu       sync.Mutex
	managers []*Manager // every one that was ever made
}

// testNode is one host of a cluster, and the manager that runs on it now.
type testNode struct {
	*Manager
	cluster *testCluster
	host    string   // also the peer's configured host, with port
	address string   // where it listens
	fixed   bool     // address is where it must listen
	aliases []string // other hosts that lead here
	config  Config
	logger  hclog.Logger // nil: the test's log
}

const testPort = ":8443"

func newTestCluster(t testing.TB) *testCluster {
	t.Helper()
	c := &testCluster{t: t, dir: t.TempDir(), ca: newTestCA(t, "test CA"), wires: newWires(), nodes: map[string]*testNode{}}
	writeFile(t, filepath.Join(c.dir, "ca.pem"), c.ca.CertPEM())
	t.Cleanup(c.killAll)
	return c
}

// killAll ends whatever still runs.
func (c *testCluster) killAll() {
	// All at once: each may have to wait for its last probe of another.
	var wg sync.WaitGroup
	for _, m := range c.managers {
		wg.Go(m.kill)
	}
	wg.Wait()
}

func newTestCA(t testing.TB, name string) *pki.CA {
	t.Helper()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue writes a certificate for the given names and returns its files.
func (c *testCluster) issue(ca *pki.CA, name string, o pki.CertOptions) (certFile, keyFile string) {
	c.t.Helper()
	if o.NotBefore.IsZero() {
		o.NotBefore, o.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	pair, err := ca.Issue(o)
	if err != nil {
		c.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(c.dir, name+".pem"), filepath.Join(c.dir, name+"-key.pem")
	if err := pair.Write(certFile, keyFile, true); err != nil {
		c.t.Fatal(err)
	}
	return certFile, keyFile
}

// issueNames writes a certificate of the cluster's CA for several host names.
func (c *testCluster) issueNames(name string, hosts ...string) (certFile, keyFile string) {
	c.t.Helper()
	return c.issue(c.ca, name, pki.CertOptions{CommonName: name, DNSNames: hosts})
}

// node prepares a node; every node made before and after is a peer once start runs.
func (c *testCluster) node(host string, change ...func(*Config)) *testNode {
	c.t.Helper()
	n := &testNode{cluster: c, host: host}
	n.config = DefaultConfig()
	n.config.NodeName = host
	n.config.CAFile = filepath.Join(c.dir, "ca.pem")
	n.config.CertFile, n.config.KeyFile = c.issue(c.ca, host, pki.CertOptions{CommonName: host, DNSNames: []string{host}})
	n.config.ElectLeader = true
	n.config.ConnectTimeout = 5 * time.Second
	n.config.JobSetID = "v1:same"
	n.config.LeaderJobs = []string{"job"}
	for _, f := range change {
		f(&n.config)
	}
	c.wires.listens("", host)
	c.nodes[host] = n
	return n
}

// fix makes the node listen at a free port of host that it keeps.
func (n *testNode) fix(host string) error {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return err
	}
	n.address, n.fixed = ln.Addr().String(), true
	return ln.Close()
}

// wrappedListener wraps what it accepts.
type wrappedListener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l *wrappedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(conn), nil
}

// peersOf lists everybody but host.
func (c *testCluster) peersOf(host string) []string {
	var peers []string
	for other := range c.nodes {
		if other != host {
			peers = append(peers, other+testPort)
		}
	}
	slices.Sort(peers)
	return peers
}

// start brings the node up, with a new instance id each time.
func (n *testNode) start() *testNode {
	n.cluster.t.Helper()
	if err := n.prepare().Start(context.Background()); err != nil {
		n.cluster.t.Fatal(err)
	}
	return n
}

// prepare makes the node's manager without starting it.
func (n *testNode) prepare() *testNode {
	t := n.cluster.t
	t.Helper()
	config := n.config
	config.Listen = "127.0.0.1:0"
	if n.fixed {
		config.Listen = n.address
	}
	config.listen = func(addr string) (net.Listener, error) {
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			n.address = ln.Addr().String()
			n.cluster.wires.listens(n.address, append(n.aliases, n.host)...)
			if wrap := n.cluster.wrap; wrap != nil {
				ln = &wrappedListener{ln, wrap}
			}
		}
		return ln, err
	}
	if config.Peers == nil {
		config.Peers = n.cluster.peersOf(n.host)
	}
	config.dial = n.cluster.wires.dial(n.host)
	if wrap := n.cluster.wrap; wrap != nil {
		dial := config.dial
		config.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	}
	if config.Logger = n.logger; config.Logger == nil {
		config.Logger = testLogger(t).Named(n.host)
	}
	m, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	n.Manager = m
	n.cluster.mu.Lock()
	n.cluster.managers = append(n.cluster.managers, m)
	n.cluster.mu.Unlock()
	return n
}

// startAll prepares the named nodes, or all, and starts them at the same moment.
func (c *testCluster) startAll(hosts ...string) {
	c.t.Helper()
	if len(hosts) == 0 {
		for host := range c.nodes {
			hosts = append(hosts, host)
		}
	}
	for _, h := range hosts {
		c.nodes[h].prepare()
	}
	var wg sync.WaitGroup
	errs := make([]error, len(hosts))
	for i, h := range hosts {
		wg.Go(func() { errs[i] = c.nodes[h].Start(context.Background()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends a manager as the death of its process would: without a word.
func (m *Manager) kill() {
	m.life.Lock()
	defer m.life.Unlock()
	if m.phase == phaseRunning {
		m.halt()
	}
	m.phase = phaseStopped
}

// row returns the node's row of a peer.
func (n *testNode) row(host string) election.Peer {
	for _, p := range n.View().Peers() {
		if p.Host == host+testPort {
			return p
		}
	}
	n.cluster.t.Fatalf("%s has no row for %s", n.host, host)
	return election.Peer{}
}

// sees waits until a peer's row has a status.
func (n *testNode) sees(host string, status election.Status) election.Peer {
	n.cluster.t.Helper()
	wait(n.cluster.t, fmt.Sprintf("%s sees %s as %s", n.host, host, status), func() bool { return n.row(host).Status == status })
	return n.row(host)
}

// settled waits until the given nodes agree on the number of agreeing members (itself
// counted) and the leader.
func (c *testCluster) settled(agreeing int, leader string, hosts ...string) {
	c.t.Helper()
	for _, h := range hosts {
		n := c.nodes[h]
		wait(c.t, fmt.Sprintf("%s agrees with %d nodes and sees %q lead", h, agreeing, leader), func() bool {
			v := n.View()
			return 1+len(v.MutualAgreeing()) == agreeing && v.Leader() == leader
		})
	}
}

// testLogger writes to the test's log while the test runs.
func testLogger(t testing.TB) hclog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
	})
	level := hclog.Info
	if os.Getenv("YACRON2_TEST_TRACE") != "" {
		level = hclog.Trace
	}
	if _, bench := t.(*testing.B); bench {
		level = hclog.Off
	}
	return hclog.New(&hclog.LoggerOptions{Output: w, Level: level, TimeFormat: "05.000000"})
}

type testWriter struct {
	t    testing.TB
	mu   sync.Mutex
	over bool
}

func (w *testWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.t.Log(string(b[:len(b)-1]))
	}
	return len(b), nil
}
