package election

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yacron2/yacron2/internal/simfault"
)

// The jobs of the simulated cluster: the first ones fire every second.
const (
	jobTick    = "tick"
	jobBackup  = "backup"
	jobPrefer  = "prefer" // PreferLeader
	jobOneShot = "warm-up"
)

var leaderJobs = []string{jobTick, jobBackup}

const (
	simJobSet     = "v1:simulated"
	tickEvery     = 250 * time.Millisecond // how often a node looks at its clock
	exchangeEvery = time.Second
	answerTimeout = 700 * time.Millisecond
	simDeadline   = 8 * time.Second // startingDeadline
)

// node is one machine: what survives the death of its process.
type node struct {
	world   *world
	index   int
	offset  time.Duration // of its wall clock
	lives   int
	proc    *process // nil while it is down
	disk    map[Firing]Vote
	mark    time.Time // the durable low-water mark
	written bool      // the vote file exists
}

func (n *node) name() string { return fmt.Sprintf("n%d", n.index) }
func (n *node) host() string { return n.name() + ":8443" }

// process is one life of a node.
type process struct {
	*node
	instance  string
	born      time.Time // true time
	votes     *Votes
	rows      []Peer
	rounds    int
	stopping  bool
	view      *View // nil: to be computed
	exchanged map[string]bool

	since    time.Time // wall: firings before are not this process's
	lastTick time.Time // wall
	consumed map[Firing]bool
	settled  map[Firing]bool // denied: not asked again
	claims   map[Firing]*claim
	pending  bool // the one-shot waits
	lastTidy time.Time
}

// claim is one firing that a process asks for.
type claim struct {
	firing Firing
	tally  *Tally
	asked  time.Time // true time of the last round of requests
	probe  bool
}

func (n *node) start() {
	w := n.world
	if n.proc != nil {
		return
	}
	n.lives++
	p := &process{
		node: n, instance: fmt.Sprintf("%s#%d", n.name(), n.lives), born: w.trueTime(),
		exchanged: make(map[string]bool), consumed: make(map[Firing]bool),
		settled: make(map[Firing]bool), claims: make(map[Firing]*claim), pending: true,
	}
	p.since = p.clock().Wall
	p.lastTick = p.since
	switch {
	case w.sc.Durable && n.written:
		p.votes = RestoreVotes(slices.Collect(maps.Values(n.disk)), n.mark)
	default:
		p.votes = NewVotes()
		n.disk = make(map[Firing]Vote)
		n.written = true
	}
	p.votes.SetJobSet(simJobSet)
	for _, other := range w.nodes {
		if other != n {
			p.rows = append(p.rows, Peer{Host: other.host(), Status: StatusUnknown})
		}
	}
	n.proc = p
	p.later(w.rng.upTo(tickEvery), p.tick)
	p.later(0, p.round)
}

func (n *node) crash() { n.proc = nil }

func (n *node) stop() {
	if n.proc != nil {
		n.proc.stopping = true
		n.proc.view = nil
		n.proc.announce()
	}
}

// stepClock sets the wall clock. The process goes on by the new time at once; what it
// ran stays consumed.
func (n *node) stepClock(by time.Duration) {
	n.offset += by
	if p := n.proc; p != nil {
		p.lastTick = p.clock().Wall
		p.since = p.lastTick.Add(-simDeadline)
		p.settled = make(map[Firing]bool)
	}
}

// later runs do unless the process has died by then.
func (p *process) later(d time.Duration, do func()) {
	p.world.after(d, func() {
		if p.node.proc == p {
			do()
		}
	})
}

func (p *process) clock() Clock {
	now := p.world.trueTime()
	return Clock{Wall: now.Add(p.offset), Uptime: now.Sub(p.born)}
}

func (p *process) current() *View {
	if p.view == nil {
		p.view = NewView(State{
			Backend: "gossip", NodeName: p.name(), InstanceID: p.instance, JobSetID: simJobSet,
			ElectLeader: true, Distribution: p.world.sc.Distribution, Stopping: p.stopping,
			ConfiguredSize: p.world.sc.N, Rounds: p.rounds, Peers: slices.Clone(p.rows),
		})
	}
	return p.view
}

// round is one scheduled round: an exchange with every peer.
func (p *process) round() {
	for i := range p.rows {
		p.exchange(i, true)
	}
	p.later(answerTimeout, func() { p.rounds++; p.view = nil })
	p.later(exchangeEvery+p.world.rng.upTo(exchangeEvery/4), p.round)
}

// exchange reads the state of one peer into its row.
func (p *process) exchange(row int, scheduled bool) {
	w := p.world
	host := p.rows[row].Host
	peer := w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.host() == host })]
	answered := false
	observe := func(o Observation) {
		if answered {
			return
		}
		answered = true
		o.At, o.Scheduled = p.clock().Wall, scheduled
		p.rows[row] = Observe(p.rows[row], p.self(), o)
		p.view = nil
		if o.Failure == nil && o.Report.JobSetID == simJobSet {
			p.votes.LearnRan(o.Report.JobSetID, o.Report.RanRebootJobs, o.Report.RebootHolders)
			p.exchanged[host] = true
		}
	}
	w.send(p.index, peer.index, func() {
		if peer.proc == nil {
			return
		}
		report := peer.proc.current().Report(peer.proc.votes.RanJobs())
		report.RebootHolders = peer.proc.votes.RanHolders()
		w.send(peer.index, p.index, func() {
			if p.node.proc == p {
				observe(Observation{Report: report})
			}
		})
	})
	p.later(answerTimeout, func() { observe(Observation{Failure: &Failure{Text: "no answer"}}) })
}

func (p *process) self() Self {
	return Self{NodeName: p.name(), InstanceID: p.instance, JobSetID: simJobSet, DriftAfter: 3}
}

// announce tells the peers that this node's state changed: they exchange at once.
func (p *process) announce() {
	for _, other := range p.world.nodes {
		if other == p.node {
			continue
		}
		p.world.send(p.index, other.index, func() {
			if q := other.proc; q != nil {
				q.exchange(slices.IndexFunc(q.rows, func(r Peer) bool { return r.Host == p.host() }), false)
			}
		})
	}
}

// tick looks at the clock: what is due, what is late, what has to be asked again.
func (p *process) tick() {
	p.later(tickEvery, p.tick)
	now := p.clock().Wall
	if now.Sub(p.lastTidy).Abs() > 2*time.Second {
		p.lastTidy = now
		p.tidy()
	}
	oldest := now.Add(-simDeadline)
	if oldest.Before(p.since) {
		oldest = p.since
	}
	for at := oldest.Truncate(time.Second); !at.After(now); at = at.Add(time.Second) {
		if at.Before(oldest) {
			continue
		}
		for _, job := range leaderJobs {
			if !p.world.sc.Manual {
				p.consider(Firing{Job: job, At: at})
			}
		}
		if at.After(p.lastTick) && Decide(PreferLeader, true, p.current(), jobPrefer).Action == Run {
			p.world.preferred[Firing{Job: jobPrefer, At: at}]++
		}
	}
	p.lastTick = now
	if p.pending && !p.world.sc.Manual {
		p.considerOneShot()
	}
	p.ask()
}

// consider opens a claim for a firing that is due, if this node takes it for its own.
func (p *process) consider(f Firing) {
	if p.consumed[f] && !p.world.rules.forgetConsumed || p.settled[f] || p.claims[f] != nil {
		return
	}
	// A free node may take itself for the owner at any moment until the deadline.
	free := p.world.sc.Free && p.world.rng.percent(25)
	if free || Decide(Leader, true, p.current(), f.Job).Action == Run {
		p.open(f, false)
	}
}

func (p *process) considerOneShot() {
	f := Firing{Job: jobOneShot}
	if p.claims[f] != nil {
		return
	}
	d := DecideReboot(Leader, true, p.current(), f.Job, p.votes.RanElsewhere(f.Job, p.instance))
	switch {
	case d.Action == Abandon:
		p.pending = false
	case d.Action == Run || p.world.sc.Free:
		p.open(f, true)
	}
}

func (p *process) open(f Firing, probe bool) {
	n := p.world.sc.N
	if size := p.world.rules.tallySize; size != nil {
		n = size(n)
	}
	p.claims[f] = &claim{firing: f, tally: NewTally(n), probe: probe}
}

// ask sends every claim that has not been asked for a second to all peers, in batches.
func (p *process) ask() {
	var firings, probes []Firing
	now := p.world.trueTime()
	for f, c := range p.claims {
		switch {
		case now.Sub(c.asked) < time.Second:
		case !f.Reboot() && p.clock().Wall.After(f.At.Add(simDeadline)):
			p.close(c, "deadline")
		case c.probe:
			c.asked = now
			probes = append(probes, f)
		default:
			c.asked = now
			firings = append(firings, f)
		}
	}
	order := func(a, b Firing) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Job, b.Job)
	}
	slices.SortFunc(firings, order)
	p.request(firings, false)
	p.request(probes, true)
}

func (p *process) request(firings []Firing, probe bool) {
	if len(firings) == 0 {
		return
	}
	w := p.world
	r := p.current().ClaimRequest(firings)
	r.Probe = probe
	for _, f := range firings {
		if w.sc.OwnFirst {
			p.castOwn(p.claims[f])
		}
	}
	for _, other := range w.nodes {
		if other == p.node {
			continue
		}
		w.send(p.index, other.index, func() {
			q := other.proc
			if q == nil {
				return
			}
			q.vote(r, func(answers []Answer) {
				voter := Voter{Host: q.host(), InstanceID: q.instance, NodeName: q.name()}
				w.send(other.index, p.index, func() {
					if p.node.proc == p {
						p.count(voter, r, answers)
					}
				})
			})
		})
	}
	for _, f := range firings { // one node is its own majority
		p.progress(p.claims[f])
	}
}

// vote judges a request by the contract of the package.
func (p *process) vote(r ClaimRequest, answer func([]Answer)) {
	w := p.world
	c := p.current().VoterContext(r.InstanceID, p.clock())
	c.Bound = true // the hello of the session binds before any exchange does
	c.LeaderJob = func(job string) bool { return job == jobOneShot || slices.Contains(leaderJobs, job) }
	c.Exchanged = len(p.exchanged)
	judge := w.rules.judge
	if judge == nil {
		judge = (*Votes).Judge
	}
	b := judge(p.votes, c, r)
	p.votes.Record(b.Cast, c.Clock)
	if w.sc.Durable {
		if w.rules.answerBeforeSync {
			p.later(300*time.Millisecond, func() { p.write(b.Cast) })
		} else if !p.write(b.Cast) {
			p.votes.Withdraw(b.Cast)
			for i := range b.Answers {
				b.Answers[i] = Answer{Refusal: RefusedStorage}
			}
		}
	}
	for _, a := range b.Answers {
		w.refusals[a.Refusal]++
	}
	if slices.ContainsFunc(b.Cast, func(v Vote) bool { return v.Firing.Reboot() }) {
		defer p.announce()
	}
	answer(b.Answers)
}

// write makes votes durable and reports whether the disk says so. A write that fails
// may have reached the disk all the same.
func (p *process) write(votes []Vote) bool {
	failing := slices.ContainsFunc(p.world.sc.Faults, func(f simfault.Fault) bool {
		return f.Kind == simfault.Disk && f.A == p.index && f.ActiveAt(p.world.now)
	})
	if len(votes) == 0 {
		return true
	}
	if !failing || p.world.rng.percent(50) {
		for _, v := range votes {
			if !v.Firing.Reboot() {
				p.disk[v.Firing] = v
			}
		}
	}
	return !failing
}

// tidy prunes the votes.
func (p *process) tidy() {
	expired := p.votes.Expired(p.clock())
	for _, v := range expired.Votes {
		delete(p.disk, v.Firing)
	}
	p.mark = expired.LowWater
	p.votes.Prune(expired)
	if p.world.rules.pruned != nil {
		p.world.rules.pruned(p.votes)
	}
}

func (p *process) castOwn(c *claim) {
	r := p.current().ClaimRequest([]Firing{c.firing})
	r.Probe = c.probe
	p.vote(r, func(answers []Answer) {
		c.tally.Add(Voter{InstanceID: p.instance, NodeName: p.name()}, answers[0])
	})
}

func (p *process) count(voter Voter, r ClaimRequest, answers []Answer) {
	for i, f := range r.Firings {
		if c := p.claims[f]; c != nil && c.probe == r.Probe {
			c.tally.Add(voter, answers[i])
			p.progress(c)
		}
	}
}

// progress acts on what a tally says now.
func (p *process) progress(c *claim) {
	if c == nil {
		return
	}
	if c.tally.OwnVoteDue() {
		p.castOwn(c)
	}
	v := c.tally.Verdict(nil)
	switch {
	case v.Outcome == Denied:
		p.settled[c.firing] = true
		p.close(c, v.Code)
		if c.firing.Reboot() && v.Code != string(RefusedTaken) && v.Code != string(RefusedAlreadyRan) {
			delete(p.settled, c.firing) // stays pending
		} else if c.firing.Reboot() {
			p.pending = false
		}
	case v.Outcome == Granted && c.probe:
		delete(p.claims, c.firing)
		p.open(c.firing, false)
		p.claims[c.firing].asked = p.world.trueTime()
		p.request([]Firing{c.firing}, false)
	case v.Outcome == Granted:
		p.close(c, "granted")
		p.consumed[c.firing] = true
		if c.firing.Reboot() {
			p.pending = false
			p.votes.MarkRan(simJobSet, c.firing.Job)
		} else if p.clock().Wall.After(c.firing.At.Add(simDeadline)) {
			return
		}
		w := p.world
		w.launches[c.firing] = append(w.launches[c.firing], launch{c.firing, p.instance, w.now})
	}
}

func (p *process) close(c *claim, verdict string) {
	delete(p.claims, c.firing)
	p.world.verdicts[verdict]++
}
