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
func (m *Manager) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	verdicts := make([]election.Verdict, 0, len(firings))
	began := time.Now()
	for _, part := range splitClaim(firings) {
		verdicts = append(verdicts, m.claimPart(ctx, part)...)
	}
	m.metrics.AddSample([]string{"yacron2", "gossip", "claim"}, float32(time.Since(began).Seconds()*1000))
	return verdicts
}

// claimPart claims what fits into one request.
func (m *Manager) claimPart(ctx context.Context, firings []election.Firing) []election.Verdict {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ConnectTimeout)
	defer cancel()
	if !m.enter() {
		return pendingAll(firings, "this node's cluster manager is not running")
	}
	defer m.leave()

	c := m.newClaim(firings)
	results := make(chan ballot, len(m.links))
	for _, s := range m.registry.voters() {
		host := m.table.hostOf(s.host)
		c.outstanding++
		m.requests.Go(func() { results <- m.askVote(ctx, s, host, c) })
	}
	wait := time.NewTimer(runningWait)
	defer wait.Stop()
	patient := true
	for {
		m.castOwn(c)
		if c.settled(patient) {
			break
		}
		select {
		case b := <-results:
			c.add(b)
			continue
		case <-wait.C:
			patient = false
			continue
		case <-ctx.Done():
		}
		break
	}
	return m.conclude(c)
}

// pendingAll answers firings that could not be asked for.
func pendingAll(firings []election.Firing, reason string) []election.Verdict {
	verdicts := make([]election.Verdict, len(firings))
	for i := range verdicts {
		verdicts[i] = election.Verdict{Outcome: election.Pending, Code: election.CodeUnanswered, Reason: reason}
	}
	return verdicts
}

// claim is the state of one claim in progress. It belongs to one goroutine.
type claim struct {
	firings     []election.Firing
	request     election.ClaimRequest
	quorum      int
	tallies     []*election.Tally
	granted     []int  // peers' grants per firing
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

func (m *Manager) newClaim(firings []election.Firing) *claim {
	v, set := m.View(), m.jobs.Load()
	c := &claim{
		firings: firings,
		request: election.ClaimRequest{
			InstanceID: m.cfg.InstanceID, NodeName: m.cfg.NodeName, Size: v.ClaimSize(),
			JobSetID: set.id, Policy: v.Distribution(), Firings: firings,
		},
		quorum:  election.Quorum(v.ClaimSize()),
		tallies: make([]*election.Tally, len(firings)),
		granted: make([]int, len(firings)),
		own:     make([]bool, len(firings)),
	}
	for i, f := range firings {
		c.tallies[i] = election.NewTally(v.ClaimSize())
		c.needRunning = c.needRunning || (m.cfg.NeedRunning != nil && m.cfg.NeedRunning(f.Job))
	}
	return c
}

// askVote asks one peer.
func (m *Manager) askVote(ctx context.Context, s *session, host string, c *claim) ballot {
	b := ballot{voter: election.Voter{Host: host, InstanceID: s.instance, NodeName: nodeName(m.View(), s.instance)}}
	r, err := ask(ctx, s, &request{Type: typeClaim, Claim: &wireClaim{
		NodeName: c.request.NodeName, Size: c.request.Size, JobSetID: c.request.JobSetID,
		Policy: string(c.request.Policy), Firings: groupFirings(c.firings),
	}})
	if err == nil {
		b.answers, err = decodeAnswer(r.Answer, c.firings)
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
		c.tallies[i].Add(b.voter, a)
		if a.Granted() {
			c.granted[i]++
		}
	}
}

// castOwn casts this node's own vote on every firing for which it would now make the
// majority, all in one batch.
func (m *Manager) castOwn(c *claim) {
	var due []int
	for i := range c.firings {
		if !c.own[i] && c.tallies[i].OwnVoteDue() {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return
	}
	r := c.request
	r.Firings = make([]election.Firing, len(due))
	for k, i := range due {
		r.Firings[k] = c.firings[i]
	}
	answers := m.voter.judge(m.voterContext(true, false), r)
	me := election.Voter{InstanceID: m.cfg.InstanceID, NodeName: m.cfg.NodeName}
	for k, i := range due {
		c.own[i] = true
		c.tallies[i].Add(me, answers[k])
		if answers[k].Granted() {
			c.granted[i]++
		}
	}
}

// settled reports whether waiting for more answers can't change a verdict: every
// firing has its majority or can't get one any more.
func (c *claim) settled(patient bool) bool {
	if c.outstanding == 0 {
		return true
	}
	any := false
	for i, granted := range c.granted {
		if granted >= c.quorum {
			any = true
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
	return !any || !c.needRunning || !patient
}

// conclude turns the tallies into verdicts.
func (m *Manager) conclude(c *claim) []election.Verdict {
	v := m.View()
	verdicts := make([]election.Verdict, len(c.firings))
	var reboots []string
	for i, t := range c.tallies {
		verdicts[i] = t.Verdict(func(instance string) string { return nodeName(v, instance) })
		if verdicts[i].Outcome == election.Granted && c.firings[i].Reboot() {
			reboots = append(reboots, c.firings[i].Job)
		}
	}
	if m.voter.markRan(c.request.JobSetID, reboots...) {
		m.table.refresh()
	}
	return verdicts
}

// voterContext is what the voter needs besides the request.
func (m *Manager) voterContext(bound, conflict bool) election.VoterContext {
	v, set := m.View(), m.jobs.Load()
	return election.VoterContext{
		Clock:     m.clock(),
		Size:      v.ClaimSize(),
		JobSetID:  set.id,
		Policy:    v.Distribution(),
		Bound:     bound,
		Conflict:  conflict,
		LeaderJob: func(job string) bool { return set.leader[job] },
		Running:   m.cfg.Running,
		Exchanged: m.table.exchangedWith(),
	}
}

// clock reads the wall clock and the monotonic time since the start.
func (m *Manager) clock() election.Clock {
	now := time.Now()
	return election.Clock{Wall: now.Round(0), Uptime: now.Sub(m.started)}
}
