package simcluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
)

// How nodes keep in touch.
const (
	roundEvery    = time.Second // from one scheduled round to the next, at least
	answerTimeout = 700 * time.Millisecond
	redialAfter   = 300 * time.Millisecond
	announceGap   = 10 * time.Millisecond
)

// member is a process's place in the cluster: what it knows of its peers. It is the
// coordinator of the process's dispatcher.
type member struct {
	p        *process
	w        *world
	rows     []election.Peer
	bound    []string // the instance behind each row, as its newest session showed
	synced   []string // the newest job-set id under which both agreed
	waiting  []bool   // an exchange is under way
	again    []bool   // another one is to follow it
	rounds   int
	stopping bool
	closed   bool
	view     *election.View
	told     election.Report
	heard    map[string]time.Time // when something came from an instance, by true time
	telling  bool
	updates  chan struct{}
	since    time.Time // when the view changed, by true time
	usurping bool
	crowned  *election.View // of a usurper
}

// newMember returns the place of a process that has not met anybody. mu is held.
func newMember(p *process) *member {
	g := &member{p: p, w: p.w, updates: make(chan struct{}, 1), stopping: p.stopping, heard: map[string]time.Time{}}
	for _, host := range p.m.peers() {
		g.rows = append(g.rows, election.Peer{Host: host, Status: election.StatusUnknown})
	}
	n := len(g.rows)
	g.bound, g.synced = make([]string, n), make([]string, n)
	g.waiting, g.again = make([]bool, n), make([]bool, n)
	g.publish()
	return g
}

// begin takes part.
func (g *member) begin() {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.later(share(g.w.roll("begin", g.p.m.index), 50*time.Millisecond), g.round)
	g.usurp()
}

// usurp lets the node take itself for the leader for a while, or come to its senses. mu
// is held.
func (g *member) usurp() {
	if usurps := g.w.usurps(g.p.m); usurps != g.usurping {
		g.usurping = usurps
		g.w.ledger.traced("%s usurps: %v", g.p.instance, usurps)
		g.signal()
	}
	if g.w.sc.Free>>g.p.m.index&1 == 1 {
		g.later(200*time.Millisecond, g.usurp)
	}
}

// signal tells the dispatcher that the view has changed.
func (g *member) signal() {
	select {
	case g.updates <- struct{}{}:
	default:
	}
}

// later is process.later for what ends with this member.
func (g *member) later(d time.Duration, do func()) {
	g.p.later(d, func() {
		if !g.closed {
			do()
		}
	})
}

// publish computes the view of the current rows and tells whom it concerns. mu is held.
func (g *member) publish() {
	g.view = election.NewView(election.State{
		Backend: "gossip", NodeName: g.p.m.name, InstanceID: g.p.instance, JobSetID: g.p.set.id,
		ElectLeader: true, Distribution: g.w.sc.distribution(), Stopping: g.stopping,
		ConfiguredSize: len(g.rows) + 1, Rounds: g.rounds, Peers: slices.Clone(g.rows),
	})
	g.since = time.Now()
	g.signal()
	g.w.ledger.traced("%s has a new view", g.p.instance)
	if r := g.report(); !reflect.DeepEqual(r, g.told) {
		g.told = r
		g.announce()
	}
}

// report returns what peers are told. mu is held.
func (g *member) report() election.Report {
	r := g.view.Report(g.p.votes.RanJobs())
	r.RebootHolders = g.p.votes.RanHolders()
	return r
}

// announce lets the peers know that there is something new, once for changes that come
// in a burst. mu is held.
func (g *member) announce() {
	if g.telling {
		return
	}
	g.telling = true
	g.later(announceGap, func() {
		g.telling = false
		for i := range g.rows {
			if to := g.w.resolve(g.rows[i].Host); to != nil && to != g.p.m {
				g.w.send(g.p.m, to, "news", func() {
					if q := to.proc; q != nil {
						q.member.heardFrom(g.p.m.host)
					}
				})
			}
		}
	})
}

// heardFrom exchanges with the peer at a host that has something new. mu is held.
func (g *member) heardFrom(host string) {
	for i := range g.rows {
		if g.rows[i].Host == host && !g.closed {
			g.exchange(i, false)
		}
	}
}

// round is one scheduled round. mu is held.
func (g *member) round() {
	for i := range g.rows {
		g.exchange(i, true)
	}
	g.later(answerTimeout+time.Millisecond, func() { g.rounds++; g.publish() })
	g.later(roundEvery+share(g.w.roll("round", g.p.m.index), roundEvery/4), g.round)
}

// exchangeAll exchanges with everybody now. mu is held.
func (g *member) exchangeAll() {
	for i := range g.rows {
		g.exchange(i, false)
	}
}

// exchange reads the state of the peer in a row. mu is held.
func (g *member) exchange(i int, scheduled bool) {
	if g.waiting[i] {
		g.again[i] = true
		return
	}
	g.waiting[i], g.again[i] = true, false
	over := false
	end := func(o election.Observation, instance string) {
		if over || g.closed {
			return
		}
		over = true
		g.waiting[i] = false
		o.Scheduled = scheduled
		g.observe(i, o, instance)
		if g.again[i] {
			g.later(announceGap+time.Duration(i), func() { g.exchange(i, false) })
		}
	}
	failed := func() { end(election.Observation{Failure: &election.Failure{Text: "no answer"}}, "") }
	g.later(answerTimeout+time.Duration(i), failed) // no two rows fail at one instant
	to := g.w.resolve(g.rows[i].Host)
	if to == nil {
		return
	}
	from := g.p.m
	g.w.send(from, to, fmt.Sprint("exchange ", i), func() {
		q := to.proc
		if q == nil {
			g.w.send(to, from, fmt.Sprint("refused ", i), failed)
			return
		}
		q.member.heard[g.p.instance] = time.Now()
		q.member.accepted(from.host, g.p.instance)
		report := q.member.report()
		g.w.send(to, from, fmt.Sprint("state ", i), func() {
			if !g.p.dead {
				end(election.Observation{Report: report}, q.instance)
			}
		})
	})
}

// observe puts the outcome of an exchange into a row. mu is held.
func (g *member) observe(i int, o election.Observation, instance string) {
	o.At = g.p.m.wall()
	g.rows[i] = election.Observe(g.rows[i], election.Self{
		NodeName: g.p.m.name, InstanceID: g.p.instance, JobSetID: g.p.set.id, DriftAfter: 3,
	}, o)
	if o.Failure == nil {
		g.bound[i] = instance
		g.heard[instance] = time.Now()
		if r := o.Report; r.JobSetID == g.p.set.id {
			g.synced[i] = r.JobSetID
			g.p.votes.LearnRan(r.JobSetID, r.RanRebootJobs, r.RebootHolders)
		}
	} else {
		g.later(redialAfter+time.Duration(i), func() { g.exchange(i, false) })
	}
	g.publish()
}

// accepted notes a session that a peer opened: if it shows another instance than this
// node's own newest one to that host, it dials anew. mu is held.
func (g *member) accepted(host, instance string) {
	for i := range g.rows {
		if g.rows[i].Host == host && (g.bound[i] != instance || !g.rows[i].Status.Fresh()) && !g.closed {
			g.exchange(i, false)
		}
	}
}

// lost notes that the session to an instance has ended. mu is held.
func (g *member) lost(instance string) {
	for i := range g.rows {
		if g.bound[i] == instance && g.rows[i].Status.Fresh() && !g.closed {
			g.observe(i, election.Observation{Failure: &election.Failure{Text: "the session has ended"}}, "")
		}
	}
}

// knows reports whether a configured host is bound to the instance. mu is held.
func (g *member) knows(instance string) bool { return slices.Contains(g.bound, instance) }

// exchangedWith counts the peers whose state under the current job set was taken in. mu
// is held.
func (g *member) exchangedWith() int {
	seen := map[string]bool{g.p.instance: true}
	for i := range g.rows {
		if g.synced[i] == g.p.set.id && g.rows[i].Status != election.StatusSelf {
			seen[g.rows[i].InstanceID] = true
		}
	}
	return len(seen) - 1
}

// Start implements scheduler.Coordinator.
func (g *member) Start(context.Context) error { return nil }

// Stop implements scheduler.Coordinator.
func (g *member) Stop(context.Context) error { return nil }

// Resign implements scheduler.Coordinator.
func (g *member) Resign(context.Context) error {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	if !g.p.dead {
		g.stopping = true
		g.publish()
	}
	return nil
}

// View implements scheduler.Coordinator. A usurper's view is that it is alone and leads.
func (g *member) View() *election.View {
	g.p.gate("view")
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	if g.usurping && !g.stopping {
		return g.crown()
	}
	return g.view
}

// crown returns the view of a usurper.
func (g *member) crown() *election.View {
	if g.crowned == nil || g.crowned.JobSetID() != g.p.set.id {
		g.crowned = election.NewView(election.State{
			Backend: "gossip", NodeName: g.p.m.name, InstanceID: g.p.instance, JobSetID: g.p.set.id,
			ElectLeader: true, Distribution: g.w.sc.distribution(), ConfiguredSize: 1, Rounds: 10,
		})
	}
	return g.crowned
}

// Updates implements scheduler.Coordinator.
func (g *member) Updates() <-chan struct{} { return g.updates }

// RebootRan implements scheduler.Coordinator.
func (g *member) RebootRan(job string) bool {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	return g.p.oneShots[g.p.set.id+" "+job] || g.p.votes.RanElsewhere(job, g.p.instance)
}

// MarkRebootRan implements scheduler.Coordinator.
func (g *member) MarkRebootRan(_ context.Context, job string) error {
	g.delay([]election.Firing{{Job: job}})
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	if !g.p.dead {
		g.p.oneShots[g.p.set.id+" "+job] = true
		g.p.votes.MarkRan(g.p.set.id, job)
		g.publish()
	}
	return nil
}
