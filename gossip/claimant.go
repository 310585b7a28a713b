package gossip

import (
	"context"
	"time"

	"github.com/yacron2/yacron2/election"
)

// runningWait is how long a claim on a job that must not overlap waits for all
// reachable peers to say whether it runs there.
const runningWait = time.Second

// Claim asks the cluster for the firings, one verdict each in order. The peers are
// asked first, all at once; this node's own vote is cast last, when it would make the
// majority. It returns at a majority without waiting for slow peers, except that jobs
// for which Config.NeedRunning holds wait for every reachable peer, one second at most.
//
// The claim of an @reboot one-shot is asked in earnest only after a probe has shown
// that a majority would grant it: a vote given too early would stand in the way of
// whoever leads when the cluster is ready.
func (m *Manager) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	if !m.enter() {
		return pendingAll(firings, "this node's cluster manager is not running")
	}
	defer m.leave()
	began := time.Now()
	verdicts := make([]election.Verdict, len(firings))
	var scheduled, reboots []int
	for i, f := range firings {
		if f.Reboot() {
			reboots = append(reboots, i)
		} else {
			scheduled = append(scheduled, i)
		}
	}
	m.claimThese(ctx, firings, scheduled, verdicts, false)
	if len(reboots) > 0 {
		m.claimThese(ctx, firings, reboots, verdicts, true)
		var promised []int
		for _, i := range reboots {
			if verdicts[i].Outcome == election.Granted {
				promised = append(promised, i)
			}
		}
		m.claimThese(ctx, firings, promised, verdicts, false)
	}
	m.sample(began, "claim")
	return verdicts
}

// Probe asks what Claim would be answered now, without a vote being cast: who holds the
// firings, and whether a majority would still grant them.
func (m *Manager) Probe(ctx context.Context, firings []election.Firing) []election.Verdict {
	if !m.enter() {
		return pendingAll(firings, "this node's cluster manager is not running")
	}
	defer m.leave()
	verdicts := make([]election.Verdict, len(firings))
	places := make([]int, len(firings))
	for i := range places {
		places[i] = i
	}
	m.claimThese(ctx, firings, places, verdicts, true)
	return verdicts
}

// pendingAll answers firings that could not be asked for.
func pendingAll(firings []election.Firing, reason string) []election.Verdict {
	verdicts := make([]election.Verdict, len(firings))
	for i := range verdicts {
		verdicts[i] = election.Verdict{Outcome: election.Pending, Code: election.CodeUnanswered, Reason: reason}
	}
	return verdicts
}

// claimThese claims, or probes, the firings at the given places, in as many requests as
// they need, and puts their verdicts into the same places.
func (m *Manager) claimThese(ctx context.Context, firings []election.Firing, places []int, verdicts []election.Verdict, probe bool) {
	some := make([]election.Firing, len(places))
	for k, i := range places {
		some[k] = firings[i]
	}
	for _, part := range splitClaim(some) {
		for k, v := range m.claimPart(ctx, part, probe) {
			verdicts[places[k]] = v
		}
		places = places[len(part):]
	}
}

// claimPart claims what fits into one request.
func (m *Manager) claimPart(ctx context.Context, firings []election.Firing, probe bool) []election.Verdict {
	ctx, cancel := context.WithTimeout(ctx, min(m.cfg.ConnectTimeout, requestTimeout))
	defer cancel()
	c := m.newClaim(firings, probe)
	voters := m.registry.voters()
	results := make(chan ballot, len(voters)) // what comes after the end blocks nobody
	for _, s := range voters {
		host := m.table.hostOf(s.host)
		c.outstanding++
		m.requests.Go(func() { results <- m.askVote(ctx, s, host, c) })
	}
	m.collect(ctx, c, results)
	return m.conclude(c)
}

// collect counts answers until they can't change a verdict any more.
func (m *Manager) collect(ctx context.Context, c *claim, results <-chan ballot) {
	wait := time.NewTimer(runningWait)
	defer wait.Stop()
	patient := c.needRunning
	for {
		m.castOwn(c)
		if c.settled(patient) {
			return
		}
		select {
		case b := <-results:
			c.add(b)
		case <-wait.C:
			patient = false
		case <-ctx.Done():
			return
		}
	}
}

// claim is the state of one claim in progress. It belongs to one goroutine; what it
// sends is shared and does not change.
type claim struct {
	request     election.ClaimRequest
	wire        request
	quorum      int
	tallies     []*election.Tally
	granted     []int  // votes per firing
	own         []bool // own vote cast
	needRunning bool
	outstanding int // peers that were asked and have not answered
}

// ballot is what one peer answered; err means that it did not.
type ballot struct {
	voter   election.Voter
	answers []election.Answer
	err     error
}

func (m *Manager) newClaim(firings []election.Firing, probe bool) *claim {
	v, set := m.View(), m.jobs.Load()
	c := &claim{
		request: election.ClaimRequest{
			InstanceID: m.cfg.InstanceID, NodeName: m.cfg.NodeName, Size: v.ClaimSize(),
			JobSetID: set.id, Policy: v.Distribution(), Probe: probe, Firings: firings,
		},
		quorum:  election.Quorum(v.ClaimSize()),
		tallies: make([]*election.Tally, len(firings)),
		granted: make([]int, len(firings)),
		own:     make([]bool, len(firings)),
	}
	c.wire = request{Type: typeClaim, Claim: &wireClaim{
		NodeName: c.request.NodeName, Size: c.request.Size, JobSetID: c.request.JobSetID,
		Policy: string(c.request.Policy), Probe: probe, Firings: groupFirings(firings),
	}}
	for i, f := range firings {
		c.tallies[i] = election.NewTally(v.ClaimSize())
		c.needRunning = c.needRunning || (!probe && m.cfg.NeedRunning != nil && m.cfg.NeedRunning(f.Job))
	}
	return c
}

// askVote asks one peer.
func (m *Manager) askVote(ctx context.Context, s *session, host string, c *claim) ballot {
	b := ballot{voter: election.Voter{Host: host, InstanceID: s.instance, NodeName: nodeName(m.View(), s.instance)}}
	r, err := ask(ctx, s, &c.wire)
	if err == nil {
		m.registry.signs.note(s.instance, time.Now())
		b.answers, err = decodeAnswer(r.Answer, c.request.Firings)
	}
	if b.err = err; err != nil && ctx.Err() == nil {
		m.log.Debug("a peer did not vote", "peer", host, "error", clean(err.Error()))
	}
	return b
}

// add counts a peer's answers.
func (c *claim) add(b ballot) {
	c.outstanding--
	if b.err != nil {
		return
	}
	for i, a := range b.answers {
		c.count(i, b.voter, a)
	}
}

func (c *claim) count(i int, voter election.Voter, a election.Answer) {
	c.tallies[i].Add(voter, a)
	if a.Granted() {
		c.granted[i]++
	}
}

// castOwn casts this node's own vote on every firing for which it would now make the
// majority, all in one batch.
func (m *Manager) castOwn(c *claim) {
	var due []int
	for i := range c.tallies {
		if !c.own[i] && (c.tallies[i].OwnVoteDue() || c.thorough() && c.outstanding == 0) {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return
	}
	r := c.request
	r.Firings = make([]election.Firing, len(due))
	for k, i := range due {
		r.Firings[k] = c.request.Firings[i]
	}
	answers := m.vote(m.voterContext(true, false), r)
	me := election.Voter{InstanceID: m.cfg.InstanceID, NodeName: m.cfg.NodeName}
	for k, i := range due {
		c.own[i] = true
		c.count(i, me, answers[k])
	}
}

// thorough reports whether every peer is to be heard, and this node's own voter: the
// question is not whether the firings can be had, but who has them.
func (c *claim) thorough() bool { return c.request.Probe && !c.request.Firings[0].Reboot() }

// settled reports whether waiting for more answers can't change a verdict: every
// firing has its majority or can't get one any more. A patient claim with a majority
// still waits for whoever might run the job.
func (c *claim) settled(patient bool) bool {
	if c.outstanding == 0 {
		return true
	}
	if c.thorough() {
		return false
	}
	won := false
	for i, granted := range c.granted {
		if granted >= c.quorum {
			won = true
			continue
		}
		open := c.outstanding
		if !c.own[i] {
			open++
		}
		if granted+open >= c.quorum {
			return false
		}
	}
	return !won || !patient
}

// conclude turns the tallies into verdicts.
func (m *Manager) conclude(c *claim) []election.Verdict {
	v := m.View()
	verdicts := make([]election.Verdict, len(c.tallies))
	var reboots []string
	holders := make(map[string]string)
	for i, t := range c.tallies {
		verdicts[i] = t.Verdict(func(instance string) string { return nodeName(v, instance) })
		if f := c.request.Firings[i]; !c.request.Probe && f.Reboot() && verdicts[i].Outcome == election.Granted {
			reboots = append(reboots, f.Job)
			holders[f.Job] = m.cfg.InstanceID
		}
	}
	// Whatever this node voted itself, it now knows who runs it.
	if m.voter.learnRan(c.request.JobSetID, reboots, holders) {
		m.table.refresh()
	}
	return verdicts
}

// unstoredEvery is how often votes that can't be stored are logged.
const unstoredEvery = time.Minute

// vote lets this node's voter answer, for itself or a peer.
func (m *Manager) vote(c election.VoterContext, r election.ClaimRequest) []election.Answer {
	m.registry.signs.note(r.InstanceID, time.Now())
	before := m.voter.unstored()
	answers, ran, err := m.voter.judge(c, r)
	switch {
	case err != nil:
		// Claims are repeated many times a second.
		if more, ok := m.unstored.allow(time.Now(), unstoredEvery); ok {
			m.log.Error("votes can't be stored: this node votes for nobody until they can", "error", err, "more", more)
		}
	case before != nil && m.voter.unstored() == nil:
		m.unstored.reset()
		m.log.Info("votes are stored again")
	}
	if ran {
		m.table.refresh()
	}
	return answers
}

// voterContext is what the voter needs besides the request and its clock. A node that
// does not elect is in conflict with every claimant, whatever it has heard of it yet:
// its votes may be kept nowhere.
func (m *Manager) voterContext(bound, conflict bool) election.VoterContext {
	v, set := m.View(), m.jobs.Load()
	return election.VoterContext{
		Size:      v.ClaimSize(),
		JobSetID:  set.id,
		Policy:    v.Distribution(),
		Bound:     bound,
		Conflict:  conflict || !m.cfg.ElectLeader,
		LeaderJob: func(job string) bool { return set.leader[job] },
		Running:   m.cfg.Running,
		Exchanged: m.table.exchangedWith(),
	}
}
