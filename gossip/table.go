package gossip

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yacron2/yacron2/election"
)

// table holds one row per configured peer and publishes the view that follows. It is
// the only place where rows change; views are immutable.
type table struct {
	// ran returns the records of @reboot one-shots; it must not block.
	ran func() *oneShots
	// changed is called with the lock held, after every new view; it must only signal.
	// told is whether what peers must know has changed too.
	changed func(told bool)

	mu       sync.Mutex
	self     election.Self
	base     election.State // without peers
	rows     []row
	told     []byte // the JSON of wireReport, without version
	version  uint64 // counts the changes of told
	newer    chan struct{}
	closed   bool
	viewNow  atomic.Pointer[election.View]
	bindings atomic.Pointer[map[string][]int] // instance → rows
}

// row is what is known of one configured peer.
type row struct {
	host     string // as configured
	certHost string // the name that certificates of this peer must carry

	peer     election.Peer
	bound    string    // the instance of the newest hello; "" before the first
	certEnds time.Time // of the certificate shown there
	synced   string    // the newest job-set id under which both ends agreed
	version  uint64    // of the newest state
	heard    uint64    // the newest announced version
	snapshot snapshot
}

// snapshot is a peer's job summaries as last told.
type snapshot struct {
	at        time.Time
	jobs      map[string]JobSummary // nil: none told
	truncated bool
}

// newTable returns the table of a node that has not contacted anybody.
func newTable(c *Config, ran func() *oneShots, changed func(told bool)) *table {
	t := &table{
		ran: ran, changed: changed,
		self: election.Self{NodeName: c.NodeName, InstanceID: c.InstanceID, JobSetID: c.JobSetID, DriftAfter: c.DriftAfter},
		base: election.State{
			Backend: "gossip", NodeName: c.NodeName, InstanceID: c.InstanceID, JobSetID: c.JobSetID,
			ElectLeader: c.ElectLeader, Distribution: c.Distribution, ConfiguredSize: len(c.Peers) + 1,
		},
		rows:  make([]row, len(c.Peers)),
		newer: make(chan struct{}),
	}
	for i, host := range c.Peers {
		t.rows[i] = row{
			host: host, certHost: serverName(host),
			peer: election.Peer{Host: host, Status: election.StatusUnknown},
		}
	}
	t.bindings.Store(&map[string][]int{})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.publish()
	return t
}

// publish computes the view of the current rows. t.mu is held.
func (t *table) publish() {
	s := t.base
	s.Peers = make([]election.Peer, len(t.rows))
	for i := range t.rows {
		s.Peers[i] = t.rows[i].peer
		s.Peers[i].CertificateExpires = t.rows[i].certEnds
	}
	v := election.NewView(s)
	t.viewNow.Store(v)

	told := false
	w := t.wire(v)
	if data, err := w.encode(); err == nil && !bytes.Equal(data, t.told) {
		t.told = data
		t.version++
		told = true
	}
	close(t.newer)
	t.newer = make(chan struct{})
	if !t.closed {
		t.changed(told)
	}
}

// wire returns what peers are told, without the version.
func (t *table) wire(v *election.View) wireState {
	ran := t.ran()
	r := v.Report(ran.jobs)
	r.RebootHolders = ran.holders
	return wireReport(r)
}

// update changes the node's own part and publishes.
func (t *table) update(change func(self *election.Self, s *election.State)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.self, &t.base)
	t.publish()
}

// refresh publishes again because something outside the rows changed.
func (t *table) refresh() { t.update(func(*election.Self, *election.State) {}) }

// close freezes the rows and ends the notifications: what follows is the end of this
// node, not of its peers.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// view returns the newest view.
func (t *table) view() *election.View { return t.viewNow.Load() }

// report returns what peers are told now, and its version.
func (t *table) report() (wireState, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.wire(t.view())
	w.Version = t.version
	return w, t.version
}

// versionNow returns the version of what peers are told.
func (t *table) versionNow() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// bind records which instance a configured host is, as the hello on this node's own
// session to that host said, and when the certificate shown there ends.
func (t *table) bind(i int, instance string, certEnds time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rows[i]
	// The same process may have begun to count anew, with a new manager.
	r.bound, r.certEnds, r.version, r.heard = instance, certEnds, 0, 0
	bindings := make(map[string][]int, len(t.rows))
	for i := range t.rows {
		if b := t.rows[i].bound; b != "" {
			bindings[b] = append(bindings[b], i)
		}
	}
	t.bindings.Store(&bindings)
}

// boundTo returns the rows that are bound to the instance, usually one; none for a
// stranger. It takes no lock: memberlist asks while it holds its own.
func (t *table) boundTo(instance string) []int { return (*t.bindings.Load())[instance] }

// certHosts returns the names that a certificate of the instance must carry one of.
func (t *table) certHosts(instance string) []string {
	rows := t.boundTo(instance)
	hosts := make([]string, len(rows))
	for k, i := range rows {
		hosts[k] = t.rows[i].certHost // never changes
	}
	return hosts
}

// succeed records an answer of the peer in row i. instance is the one of the session.
func (t *table) succeed(i int, instance string, s state, scheduled bool, now time.Time) {
	s.report.InstanceID = instance
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	r := &t.rows[i]
	r.peer = election.Observe(r.peer, t.self, election.Observation{At: now, Scheduled: scheduled, Report: s.report})
	r.peer.LastError = oddity(&r.peer, t.self)
	if s.report.JobSetID == t.self.JobSetID {
		r.synced = t.self.JobSetID
	}
	r.version = s.version
	r.snapshot = snapshot{at: now, jobs: s.summaries, truncated: s.truncated}
	t.publish()
}

// oddity says what is wrong with a peer that answered well, "" if nothing is.
func oddity(p *election.Peer, self election.Self) string {
	switch {
	case p.Status == election.StatusConflict:
		return fmt.Sprintf("another process (instance %s) uses this node's name", p.InstanceID)
	case p.Status == election.StatusDrifted && schemeOf(p.JobSetID) != schemeOf(self.JobSetID):
		return fmt.Sprintf("its job-set id is of another scheme (%q, here %q)", schemeOf(p.JobSetID), schemeOf(self.JobSetID))
	}
	return ""
}

func schemeOf(jobSetID string) string {
	i := bytes.IndexByte([]byte(jobSetID), ':')
	if i < 0 {
		return jobSetID
	}
	return jobSetID[:i]
}

// compared notes what a comparison of this node's clock with that of the peer in row i
// gave. instance is the one of the session.
func (t *table) compared(i int, instance string, ahead, maxError time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.rows[i].peer
	if t.closed || p.InstanceID != instance || !p.Status.Fresh() {
		return
	}
	before := t.view().Peers()[i].Skew // as it is shown
	p.Skew = election.Compare(p.Skew, ahead, maxError)
	if before == nil || before.Excessive != p.Skew.Excessive || (p.Skew.Ahead/2-before.Ahead/2).Abs() >= clockNews/2 { // halves fit, whatever they are
		t.publish()
	}
}

// fail records that the peer in row i was not reached, or not trusted.
func (t *table) fail(i int, f election.Failure, scheduled bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	r := &t.rows[i]
	r.peer = election.Observe(r.peer, t.self, election.Observation{At: now, Scheduled: scheduled, Failure: &f})
	t.publish()
}

// announced notes that an instance told of a version, and returns the rows to exchange
// with: those for which it is news.
func (t *table) announced(instance string, version uint64) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var news []int
	for _, i := range t.boundTo(instance) {
		if r := &t.rows[i]; version > r.version && version > r.heard {
			r.heard = version
			news = append(news, i)
		}
	}
	return news
}

// reached reports whether row i holds a state of at least this version, from an
// instance; more is closed when the table has changed.
func (t *table) reached(i int, instance string, version uint64) (ok bool, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rows[i]
	return r.bound == instance && r.peer.Status.Fresh() && r.version >= version, t.newer
}

// exchangedWith returns the number of peers whose state under this node's job-set id
// has been taken in, itself not counted.
func (t *table) exchangedWith() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := map[string]bool{t.self.InstanceID: true}
	for i := range t.rows {
		if r := &t.rows[i]; r.synced == t.self.JobSetID && r.peer.Status != election.StatusSelf {
			seen[r.peer.InstanceID] = true
		}
	}
	return len(seen) - 1
}

// snapshots returns the newest summaries of every row.
func (t *table) snapshots() []snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]snapshot, len(t.rows))
	for i := range t.rows {
		out[i] = t.rows[i].snapshot
	}
	return out
}

// nodeName returns the name under which an instance is known, or the instance id.
func nodeName(v *election.View, instance string) string {
	if instance == v.InstanceID() {
		return v.NodeName()
	}
	peers := v.Peers()
	if i := slices.IndexFunc(peers, func(p election.Peer) bool { return p.InstanceID == instance }); i >= 0 && peers[i].NodeName != "" {
		return peers[i].NodeName
	}
	for _, p := range peers {
		for _, m := range p.Members {
			if m.InstanceID == instance {
				return m.NodeName
			}
		}
	}
	return instance
}

// hostOf returns the configured host of a row.
func (t *table) hostOf(i int) string { return t.rows[i].host }

// boundInstance returns the instance that a row is bound to.
func (t *table) boundInstance(i int) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[i].bound, t.rows[i].bound != ""
}
