package gossip

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"
	"github.com/hashicorp/memberlist"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/bind"
)

// Manager is one node of a gossip cluster. New makes it, Start brings it up and may be
// tried again after an error, Stop ends it for good. All other methods may be called
// at any time, from any goroutine.
type Manager struct {
	cfg     Config
	log     hclog.Logger
	metrics metrics.MetricSink
	hello   hello

	creds    *credentials
	table    *table
	registry *registry
	voter    *Voter
	jobs     atomic.Pointer[jobSet]
	ranHere  sync.Map // oneShot → struct{}: those that MarkRebootRan was told of
	links    []*link

	interval atomic.Int64 // time.Duration from one scheduled round to the next
	turn     int          // of the peer with which the next round exchanges all; of runRounds alone

	updates chan struct{}
	dirty   chan struct{} // a new view is to be looked at for the log
	told    chan struct{} // peers are to be told of a new version
	retuned chan struct{} // the interval has changed

	// life guards the phases; run is what Start built.
	life  sync.Mutex
	phase phase
	ln    net.Listener
	run   *running

	transport *transport
	delegate  *delegate
	members   atomic.Pointer[memberlist.Memberlist]

	gate     sync.RWMutex // held for reading while a call needs the running parts
	open     bool
	requests sync.WaitGroup
	pushes   pushes
	local    localState
	expiring limiter
	unstored limiter
}

// phase is where a Manager is in its life.
type phase int

const (
	phaseNew phase = iota
	phaseRunning
	phaseStopped
)

// running is what one Start has started.
type running struct {
	cancel context.CancelFunc
	lis    *listener
	wg     sync.WaitGroup
}

// jobSet is the part of the configuration that a reload replaces.
type jobSet struct {
	id     string
	leader map[string]bool
}

func newJobSet(id string, leaderJobs []string) *jobSet {
	s := &jobSet{id: id, leader: make(map[string]bool, len(leaderJobs))}
	for _, j := range leaderJobs {
		s.leader[j] = true
	}
	return s
}

// The reasons for which the manager ends a session or refuses a call.
var (
	errCrowded = errors.New("too many sessions of this kind")
	// ErrStopped is returned by Start after Stop: make a new Manager.
	ErrStopped = errors.New("the gossip manager has been stopped")
)

// New checks the configuration and returns a node that is not yet connected. It reads
// no file.
func New(cfg Config) (*Manager, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Peers = slices.Clone(cfg.Peers)
	if cfg.InstanceID == "" {
		cfg.InstanceID = newInstanceID()
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Metrics == nil {
		cfg.Metrics = &metrics.BlackholeSink{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.listen == nil {
		cfg.listen = listenTCP
	}
	m := &Manager{
		cfg: cfg, log: cfg.Logger.Named("gossip"), metrics: cfg.Metrics,
		hello:   hello{ProtocolMin: protocolMin, ProtocolMax: protocolMax, Instance: cfg.InstanceID},
		creds:   &credentials{caFile: cfg.CAFile, certFile: cfg.CertFile, keyFile: cfg.KeyFile},
		updates: make(chan struct{}, 1), dirty: make(chan struct{}, 1), told: make(chan struct{}, 1),
		retuned: make(chan struct{}, 1),
	}
	m.interval.Store(int64(cfg.Interval))
	m.jobs.Store(newJobSet(cfg.JobSetID, cfg.LeaderJobs))
	if m.voter = cfg.Voter; m.voter == nil {
		var err error
		if m.voter, err = NewVoter(nil); err != nil {
			return nil, err
		}
		m.voter.wall = cfg.Now
	}
	m.voter.setJobSet(cfg.JobSetID)
	m.table = newTable(&m.cfg, m.voter.told, m.changed)
	m.registry = &registry{table: m.table, counted: m.countSessions}
	env := &linkEnv{
		table: m.table, registry: m.registry, creds: m.creds, hello: m.hello, timeout: cfg.ConnectTimeout,
		peers: len(cfg.Peers), dials: newTurnstile(maxDials), trades: newTurnstile(maxExchanges),
		dial: (&net.Dialer{}).DialContext, handler: m, log: m.log, join: m.join, learnt: m.learnt, count: m.count, now: cfg.Now,
	}
	if cfg.dial != nil {
		env.dial = cfg.dial
	}
	for i, host := range cfg.Peers {
		m.links = append(m.links, newLink(env, i, host))
	}
	return m, nil
}

// listenTCP binds an address of a configuration.
func listenTCP(addr string) (net.Listener, error) { return net.Listen(bind.TCP(addr)) }

// changed is told of every new view, under the table's lock.
func (m *Manager) changed(told bool) {
	signal(m.updates)
	signal(m.dirty)
	if told {
		signal(m.told)
	}
}

// Start loads the certificates, binds the listener and begins to take part. After an
// error nothing is left running, and Start may be called again.
func (m *Manager) Start(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	switch m.phase {
	case phaseRunning:
		return nil
	case phaseStopped:
		return ErrStopped
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.creds.load(); err != nil {
		return fmt.Errorf("load the cluster certificates: %w", err)
	}
	ln, err := m.cfg.listen(m.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen for peers: %w", err)
	}
	if err := m.startMembers(); err != nil {
		return errors.Join(fmt.Errorf("start memberlist: %w", err), ln.Close())
	}
	m.ln = ln
	m.launch()
	m.phase = phaseRunning
	m.warnAboutSize()
	m.log.Info("taking part in the cluster", "node", m.cfg.NodeName, "instance", m.cfg.InstanceID,
		"listen", ln.Addr().String(), "peers", len(m.cfg.Peers))
	return nil
}

// startMembers creates memberlist with this package's transport.
func (m *Manager) startMembers() error {
	m.transport = newTransport(m.cfg.InstanceID, m.registry, m.linkOf, m.count)
	d := &delegate{self: m.cfg.InstanceID, table: m.table, want: func(row int) { signal(m.links[row].want) }, state: m.stateJSON}
	d.queue = &memberlist.TransmitLimitedQueue{RetransmitMult: 2, NumNodes: func() int { return len(m.links) + 1 }}
	m.delegate = d

	c := memberlist.DefaultLANConfig()
	c.Name = m.cfg.InstanceID
	c.Transport = m.transport
	c.BindPort, c.AdvertisePort = labelPort, labelPort
	c.TCPTimeout = m.cfg.ConnectTimeout
	c.ProbeInterval = probeInterval
	c.ProbeTimeout = probeTimeout
	c.SuspicionMult = 2
	c.RetransmitMult = 2
	c.AwarenessMaxMultiplier = probeSlowdown // slower probes would only delay a question to the member itself
	c.PushPullInterval = 0                   // every exchange is a link's
	c.GossipInterval = gossipInterval
	c.GossipToTheDeadTime = 5 * time.Second
	c.EnableCompression = false
	c.RequireNodeNames = true
	c.Delegate, c.Events, c.Alive = d, d, d
	c.LogOutput, c.Logger = nil, memberLogger(m.log)
	ml, err := memberlist.Create(c)
	if err != nil {
		return err
	}
	m.members.Store(ml)
	return nil
}

// launch starts the goroutines of a running manager.
func (m *Manager) launch() {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel}
	r.lis = newListener(listenerConfig{
		ln: m.ln, creds: m.creds, peers: len(m.links), check: func(cs tls.ConnectionState) error { return m.checkNames(cs.PeerCertificates[0]) },
		session: m.serveInbound,
		http:    peerServer(m.stateJSON, m.log), log: m.log,
	})
	m.run = r
	m.gate.Lock()
	m.open = true
	m.gate.Unlock()
	r.wg.Go(func() { r.lis.run(ctx) })
	for _, l := range m.links {
		r.wg.Go(func() { l.run(ctx) })
	}
	r.wg.Go(func() { m.runRounds(ctx) })
	r.wg.Go(func() { m.announce(ctx) })
	r.wg.Go(func() { m.watch(ctx) })
}

// Resign tells the cluster that this node stops and returns when every reachable peer
// knows, or ctx ends: leadership moves at once. The node goes on answering and voting.
func (m *Manager) Resign(ctx context.Context) error {
	m.table.update(func(_ *election.Self, s *election.State) { s.Stopping = true })
	if !m.enter() {
		return nil
	}
	defer m.leave()
	return m.push(ctx)
}

// Stop resigns, if that was not done yet, leaves the cluster and ends every goroutine.
// No callback is called after it has returned. ctx bounds the farewell only.
func (m *Manager) Stop(ctx context.Context) error {
	var farewell error
	if !m.View().Stopping() {
		bounded, cancel := context.WithTimeout(ctx, syncTimeout)
		farewell = m.Resign(bounded)
		cancel()
	}
	m.life.Lock()
	defer m.life.Unlock()
	if m.phase == phaseRunning {
		if ml := m.members.Load(); ctx.Err() == nil {
			if err := ml.Leave(leaveTimeout); err != nil {
				m.log.Debug("the leave was not heard", "error", err)
			}
			m.transport.probes.refuse()
			m.transport.probes.wait(leaveTimeout / 10) // where all is well they are answered at once
		}
		m.halt()
		m.log.Info("left the cluster", "node", m.cfg.NodeName)
	}
	m.phase = phaseStopped
	return farewell
}

// leaveTimeout bounds the wait until memberlist has told of the leave.
const leaveTimeout = 500 * time.Millisecond

// halt ends everything without a word to anybody. m.life is held.
func (m *Manager) halt() {
	m.table.close()
	m.delegate.off.Store(true)
	m.gate.Lock()
	m.open = false
	m.gate.Unlock()
	m.transport.probes.refuse()
	m.run.cancel()
	if err := m.members.Load().Shutdown(); err != nil {
		m.log.Debug("memberlist did not shut down cleanly", "error", err)
	}
	m.run.lis.close()
	for _, s := range m.registry.list(func(*session) bool { return true }) {
		s.close(errStopped)
	}
	m.run.wg.Wait()
	m.requests.Wait()
	m.transport.probes.wait(probeLife)
}

// enter reports whether the running parts may be used; leave must follow if so.
func (m *Manager) enter() bool {
	m.gate.RLock()
	defer m.gate.RUnlock()
	if m.open {
		m.requests.Add(1)
	}
	return m.open
}

func (m *Manager) leave() { m.requests.Done() }

// View returns the newest snapshot; it is never nil.
func (m *Manager) View() *election.View { return m.table.view() }

// Updates is signalled, never blocking and coalesced, after the view has changed.
func (m *Manager) Updates() <-chan struct{} { return m.updates }

// ListenAddr returns the address on which peers are served; nil before Start.
func (m *Manager) ListenAddr() net.Addr {
	m.life.Lock()
	defer m.life.Unlock()
	if m.ln == nil {
		return nil
	}
	return m.ln.Addr()
}

// InstanceID returns the id of this process in the cluster.
func (m *Manager) InstanceID() string { return m.cfg.InstanceID }

// RebootRan reports whether the job's @reboot one-shot is known to have run under the
// current job-set id. A grant to this process alone does not count: it has yet to run.
func (m *Manager) RebootRan(job string) bool {
	if _, here := m.ranHere.Load(oneShot{m.jobs.Load().id, job}); here {
		return true
	}
	return m.voter.ranElsewhere(job, m.cfg.InstanceID)
}

// oneShot is an @reboot job under a job-set id.
type oneShot struct{ jobSetID, job string }

// MarkRebootRan records that the job's @reboot one-shot runs, and returns when every
// reachable peer knows, or ctx ends.
func (m *Manager) MarkRebootRan(ctx context.Context, job string) error {
	id := m.jobs.Load().id
	m.ranHere.Store(oneShot{id, job}, struct{}{})
	if m.voter.learnRan(id, []string{job}, nil) {
		m.table.refresh()
	}
	if !m.enter() {
		return nil
	}
	defer m.leave()
	return m.push(ctx)
}

// SetJobSet replaces the job-set id and the names of the enabled Leader jobs, as a
// reload does, and lets every peer know.
func (m *Manager) SetJobSet(id string, leaderJobs []string) {
	m.jobs.Store(newJobSet(id, leaderJobs))
	m.voter.setJobSet(id)
	m.table.update(func(self *election.Self, s *election.State) { self.JobSetID, s.JobSetID = id, id })
	for _, l := range m.links {
		signal(l.want)
	}
}

// ReloadCertificates looks at the certificate files now. Sessions are renewed with new
// ones; files that can't be used change nothing and are the error.
func (m *Manager) ReloadCertificates() error {
	if m.creds.get() == nil {
		return nil // Start will read them
	}
	changed, err := m.creds.refresh()
	if err != nil {
		return fmt.Errorf("cluster certificates: %w", err)
	}
	if changed {
		m.log.Info("the cluster certificates have changed; renewing all sessions")
		for _, l := range m.links {
			signal(l.renew)
		}
	}
	return nil
}

// CertificateExpiry returns when the certificate in use of this node ends, and when the
// first of the authorities that it trusts does; zero before Start.
func (m *Manager) CertificateExpiry() (own, authority time.Time) { return m.creds.expiry() }

// linkOf returns the link of a label, nil if there is none.
func (m *Manager) linkOf(label string) *link {
	i := slices.IndexFunc(m.links, func(l *link) bool { return l.label() == label })
	if i < 0 {
		return nil
	}
	return m.links[i]
}

// join lets memberlist run one push/pull with the peer of a label. The address behind
// the slash is there because memberlist wants one; only the label counts.
func (m *Manager) join(label string) error {
	_, err := m.members.Load().Join([]string{label + "/" + net.JoinHostPort(net.IPv4zero.String(), "1")})
	return err
}

// learnt takes over what a peer of the same job set knows to have run.
func (m *Manager) learnt(r *election.Report) {
	if r.JobSetID == m.jobs.Load().id && m.voter.learnRan(r.JobSetID, r.RanRebootJobs, r.RebootHolders) {
		m.table.refresh()
	}
}
