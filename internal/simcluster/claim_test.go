package simcluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/election"
)

const (
	claimTimeout = 2 * time.Second // of one request
	runningWait  = time.Second     // for all to say whether a job runs that must not overlap
)

// Claim implements scheduler.Coordinator: peers first, the own vote last.
func (g *member) Claim(ctx context.Context, firings []election.Firing) []election.Verdict {
	g.delay(firings)
	g.p.gate(nameOf(firings))
	g.w.mu.Lock()
	g.w.ledger.asked(g.p, firings)
	g.w.mu.Unlock()
	var scheduled, reboots, promised []election.Firing
	for _, f := range firings {
		if f.Reboot() {
			reboots = append(reboots, f)
		} else {
			scheduled = append(scheduled, f)
		}
	}
	verdicts := g.claim(ctx, scheduled, false)
	if len(reboots) > 0 {
		// In earnest only when a majority would grant.
		for f, v := range g.claim(ctx, reboots, true) {
			if v.Outcome == election.Granted {
				promised = append(promised, f)
				v = election.Verdict{Reason: "a majority would grant it"}
			}
			verdicts[f] = v
		}
		slices.SortFunc(promised, byName)
		for f, v := range g.claim(ctx, promised, false) {
			verdicts[f] = v
		}
	}
	g.p.gate(nameOf(firings)) // it may have been frozen while it waited
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.w.ledger.answered(g.p, verdicts)
	if g.p.m.doomed && !g.p.dead && g.w.ledger.granted(verdicts) {
		g.p.m.doomed = false
		g.w.after(share(g.w.roll("doom", g.p.m.index), 2*time.Millisecond), g.p.m.crash)
	}
	return inOrder(firings, verdicts)
}

// Probe tells what a claim would come to.
func (g *member) Probe(ctx context.Context, firings []election.Firing) []election.Verdict {
	g.delay(firings)
	g.p.gate(nameOf(firings))
	verdicts := g.claim(ctx, firings, true)
	g.p.gate(nameOf(firings))
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.w.ledger.probed(g.p, verdicts)
	return inOrder(firings, verdicts)
}

// Witness tells what this node itself knows of a firing that another process holds.
func (g *member) Witness(f election.Firing, instance string) (voted, heard time.Time) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	if to, ago := g.p.votes.Voted(f, g.p.clock().Uptime); to == instance {
		voted = g.p.m.wall().Add(-ago)
	}
	if at, ok := g.heard[instance]; ok {
		heard = g.p.m.wall().Add(-time.Since(at))
	}
	return voted, heard
}

func inOrder(firings []election.Firing, verdicts map[election.Firing]election.Verdict) []election.Verdict {
	list := make([]election.Verdict, len(firings))
	for i, f := range firings {
		list[i] = verdicts[f]
	}
	return list
}

func byName(a, b election.Firing) int {
	if a.Job < b.Job {
		return -1
	}
	return 1
}

// nameOf tells claims of one process apart.
func nameOf(firings []election.Firing) string {
	return "claim " + firings[0].Job + firings[0].At.Format(time.RFC3339)
}

// delay is the moment that a claim takes at least: it keeps claims that begin at one
// instant apart, from each other and from what else the process does.
func (g *member) delay(firings []election.Firing) {
	<-time.After(time.Microsecond + share(g.w.roll(nameOf(firings), g.p.m.index), 50*time.Microsecond))
}

// claimant is one claim in progress. mu guards it.
type claimant struct {
	g           *member
	request     election.ClaimRequest
	tallies     map[election.Firing]*election.Tally
	outstanding int
	more        chan struct{} // signalled when something was counted
}

// claim asks once.
func (g *member) claim(ctx context.Context, firings []election.Firing, probe bool) map[election.Firing]election.Verdict {
	verdicts := make(map[election.Firing]election.Verdict, len(firings))
	for _, f := range firings {
		verdicts[f] = election.Verdict{Code: election.CodeUnanswered, Reason: "this node's cluster manager is not running"}
	}
	if len(firings) == 0 {
		return verdicts
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout+share(g.w.roll("claim", g.p.m.index), time.Millisecond))
	defer cancel()
	g.w.mu.Lock()
	if g.p.dead || g.closed {
		g.w.mu.Unlock()
		return verdicts
	}
	c := &claimant{g: g, tallies: make(map[election.Firing]*election.Tally), more: make(chan struct{}, 1)}
	c.request = g.view.ClaimRequest(firings)
	c.request.JobSetID, c.request.Probe = g.p.set.id, probe
	patient := false
	for _, f := range firings {
		c.tallies[f] = election.NewTally(g.view.ClaimSize())
		patient = patient || !probe && g.p.set.forbid[f.Job]
	}
	c.ask()
	g.w.mu.Unlock()

	wait := time.NewTimer(runningWait + share(g.w.roll("patience", g.p.m.index), time.Millisecond))
	defer wait.Stop()
	for {
		g.w.mu.Lock()
		c.castOwn()
		settled := g.p.dead || c.settled(patient)
		g.w.mu.Unlock()
		if settled {
			break
		}
		select {
		case <-c.more:
			continue
		case <-wait.C:
			patient = false
			continue
		case <-ctx.Done():
			g.delay(firings) // deadlines are instants at which others fire
		case <-g.p.gone:
		}
		break
	}
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	for f, t := range c.tallies {
		verdicts[f] = t.Verdict(g.nameOf)
		if v := verdicts[f]; f.Reboot() && !probe && v.Outcome == election.Granted && !g.p.dead {
			g.p.votes.LearnRan(c.request.JobSetID, []string{f.Job}, map[string]string{f.Job: g.p.instance})
			g.publish()
		}
	}
	return verdicts
}

// nameOf returns the node name of an instance, or the instance. mu is held.
func (g *member) nameOf(instance string) string {
	for _, r := range g.rows {
		if r.InstanceID == instance && r.NodeName != "" {
			return r.NodeName
		}
	}
	return instance
}

// ask sends the request to every peer with a session, one per instance. mu is held.
func (c *claimant) ask() {
	g := c.g
	from := g.p.m
	what := nameOf(c.request.Firings) + strconv.FormatBool(c.request.Probe)
	seen := map[string]bool{g.p.instance: true}
	for i := range g.rows {
		to := g.w.resolve(g.rows[i].Host)
		if to == nil || seen[g.bound[i]] || g.bound[i] == "" || !g.rows[i].Status.Fresh() {
			continue
		}
		seen[g.bound[i]] = true
		c.outstanding++
		voter := election.Voter{Host: g.rows[i].Host, InstanceID: g.bound[i], NodeName: g.rows[i].NodeName}
		g.w.send(from, to, what, func() {
			q := to.proc
			if q == nil || q.instance != voter.InstanceID {
				return // the session is that of another process
			}
			bound := q.member.knows(c.request.InstanceID)
			q.member.heard[c.request.InstanceID] = time.Now()
			q.member.accepted(from.host, c.request.InstanceID)
			answers := q.vote(c.request, bound)
			g.w.send(to, from, "votes "+what, func() { c.count(voter, answers) })
		})
	}
}

// count takes the answers of a peer. mu is held.
func (c *claimant) count(voter election.Voter, answers []election.Answer) {
	if c.g.p.dead {
		return
	}
	c.outstanding--
	c.g.heard[voter.InstanceID] = time.Now()
	for i, f := range c.request.Firings {
		c.tallies[f].Add(voter, answers[i])
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// castOwn casts the node's own vote where it would now make the majority. mu is held.
func (c *claimant) castOwn() {
	p := c.g.p
	r := c.request
	r.Firings = nil
	for _, f := range c.request.Firings {
		if c.tallies[f].OwnVoteDue() || c.thorough() && c.outstanding == 0 && !c.tallies[f].Answered("") {
			r.Firings = append(r.Firings, f)
		}
	}
	if len(r.Firings) == 0 || p.dead {
		return
	}
	for i, a := range p.vote(r, true) {
		c.tallies[r.Firings[i]].Add(election.Voter{InstanceID: p.instance, NodeName: p.m.name}, a)
	}
}

// thorough reports whether all are to be heard: the question is who has the firings.
func (c *claimant) thorough() bool { return c.request.Probe && !c.request.Firings[0].Reboot() }

// settled reports whether more answers can't change a verdict. mu is held.
func (c *claimant) settled(patient bool) bool {
	if c.thorough() {
		return c.outstanding == 0
	}
	won := false
	for _, t := range c.tallies {
		switch t.Outcome() {
		case election.Pending:
			if c.outstanding > 0 {
				return false
			}
		case election.Granted:
			won = true
		}
	}
	return c.outstanding == 0 || !won || !patient
}
