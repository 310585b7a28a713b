package simcluster

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// process is one life of an agent: its dispatcher, its voter and its place in the
// cluster.
type process struct {
	m        *machine
	w        *world
	instance string
	born     time.Time // true time
	votes    *election.Votes
	d        *scheduler.Dispatcher
	member   *member // the newest one
	set      jobSet
	held     []holding
	watch    chan struct{} // tells the dispatcher that the clock was set
	gone     chan struct{} // closed when it dies
	dead     bool
	stopping bool      // it was told to stop
	stopped  time.Time // when, by its wall clock
	clockSet bool      // its wall clock was set
	oneShots map[string]bool
}

// jobSet is what a voter has to know of the configuration.
type jobSet struct {
	id     string
	leader map[string]bool
	forbid map[string]bool
}

// newProcess makes a process that has yet to run. mu is held.
func newProcess(m *machine) *process {
	p := &process{
		m: m, w: m.w, instance: m.instance(), born: time.Now(), votes: m.restore(),
		watch: make(chan struct{}, 1), gone: make(chan struct{}),
		oneShots: map[string]bool{},
	}
	p.set = setOf(m.version)
	p.votes.SetJobSet(p.set.id)
	p.member = newMember(p)
	return p
}

// run starts the dispatcher.
func (p *process) run() {
	d, err := scheduler.NewDispatcher(scheduler.DispatcherConfig{
		Node: p.m.name, Runner: runner{p}, History: keeper{p}, Environ: []string{"PATH=/bin"},
		Stdout: io.Discard, Stderr: io.Discard,
		Now: p.m.wall, ClockSet: p.watch,
		// Jitter differs from node to node and from instant to instant, and does not
		// depend on the order in which goroutines ask.
		Random: func() float64 { return float64(p.w.roll("jitter", p.m.index)%1000) / 1000 },
		Events: p.note,
	})
	if err != nil {
		panic(err) // the configuration is a constant
	}
	p.w.mu.Lock()
	p.d = d
	version := p.m.version
	p.w.mu.Unlock()
	d.Apply(p.plan(version))
	d.SetCoordinator(p.place())
	p.place().begin()
	if err := d.Start(context.Background()); err != nil {
		panic(err)
	}
	p.later(share(p.w.roll("tidy", p.m.index), time.Second), p.tidy)
}

// holding is the time, by the process's wall clock, in which it held a job as it is.
type holding struct {
	job      *scheduler.Job
	from, to time.Time // zero: it still does
}

// plan returns a version of the jobs, and notes since when each is held.
func (p *process) plan(version int) scheduler.Plan {
	jobs := jobsOf(version)
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	now := p.m.wall()
	same := func(a, b *scheduler.Job) bool { return a.Name == b.Name && a.ScheduleText == b.ScheduleText }
	for i := range p.held {
		if h := &p.held[i]; h.to.IsZero() && !slices.ContainsFunc(jobs, func(j *scheduler.Job) bool { return same(j, h.job) }) {
			h.to = now
		}
	}
	for _, j := range jobs {
		if !slices.ContainsFunc(p.held, func(h holding) bool { return h.to.IsZero() && same(j, h.job) }) {
			p.held = append(p.held, holding{job: j, from: now})
		}
	}
	return scheduler.Plan{Jobs: jobs, Elect: true}
}

// had reports whether the process held the job when the firing was due.
func (p *process) had(job string, firing time.Time) bool {
	return slices.ContainsFunc(p.held, func(h holding) bool {
		return h.job.Name == job && firing.After(h.from) && (h.to.IsZero() || !firing.After(h.to)) &&
			h.job.Schedule.Next(firing.Add(-time.Second), time.UTC).Equal(firing)
	})
}

// holds reports whether the process holds the job as it was when the firing was due, or
// has just let go of it.
func (p *process) holds(job string, firing time.Time) bool {
	return slices.ContainsFunc(p.held, func(h holding) bool {
		return h.job.Name == job && firing.After(h.from) && (h.to.IsZero() || p.m.wall().Sub(h.to) < time.Millisecond) &&
			h.job.Schedule.Next(firing.Add(-time.Second), time.UTC).Equal(firing)
	})
}

// apply puts a version of the jobs into effect as a reload does: the dispatcher first,
// the cluster then.
func (p *process) apply(version int) {
	p.gate("reload")
	p.d.Apply(p.plan(version))
	settle()
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.ledger.reloaded(p, version)
	p.set = setOf(version)
	p.votes.SetJobSet(p.set.id)
	p.member.publish()
	p.member.exchangeAll()
}

// place returns the process's newest place in the cluster.
func (p *process) place() *member {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.member
}

// rejoin replaces the coordinator, as a changed cluster section does. The voter stays.
func (p *process) rejoin() {
	old := p.place()
	old.Resign(context.Background())
	p.w.mu.Lock()
	old.closed = true
	p.w.after(time.Millisecond+share(p.w.roll("rejoin", p.m.index), 20*time.Millisecond), func() {
		p.w.mu.Lock()
		if p.dead {
			p.w.mu.Unlock()
			return
		}
		p.member = newMember(p)
		fresh := p.member
		p.w.mu.Unlock()
		fresh.begin()
		p.d.SetCoordinator(fresh)
	})
	p.w.mu.Unlock()
}

// die makes the process one that nothing comes from any more. mu is held.
func (p *process) die() {
	if p.dead {
		return
	}
	p.dead = true
	p.m.sealed = time.Now()
	close(p.gone)
	p.w.ledger.died(p)
	// Whoever has a session with it notices at once, as far as packets get through.
	for _, other := range p.w.machines {
		if other != p.m {
			p.w.send(p.m, other, "reset", func() {
				if q := other.proc; q != nil {
					q.member.lost(p.instance)
				}
			})
		}
	}
}

// end ends the goroutines of a dead process.
func (p *process) end() {
	if p.d == nil {
		return
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	p.d.Stop(over)
}

// gate waits while the process is frozen. What names what waits here sets it apart from
// what else goes on at the same instant.
func (p *process) gate(what string) {
	for {
		p.w.mu.Lock()
		frozen := p.m.frozen
		if p.dead {
			frozen = nil
		}
		p.w.mu.Unlock()
		if frozen == nil {
			return
		}
		p.w.mu.Lock()
		p.w.ledger.traced("%s frozen at %s", p.instance, what)
		p.w.mu.Unlock()
		select {
		case <-frozen:
			<-time.After(share(p.w.roll("gate "+what, p.m.index), 100*time.Microsecond))
		case <-p.gone:
			return
		}
	}
}

// later does something unless the process has died by then. What comes due while it is
// frozen waits until it goes on. do is called with mu held.
func (p *process) later(d time.Duration, do func()) {
	p.w.after(d, func() {
		p.m.receive(func() {
			if !p.dead {
				do()
			}
		})
	})
}

// clock reads the voter's clocks.
func (p *process) clock() election.Clock {
	return election.Clock{Wall: p.m.wall(), Uptime: time.Since(p.born)}
}

// vote judges a request by the contract of package election. mu is held.
func (p *process) vote(r election.ClaimRequest, bound bool) []election.Answer {
	v := p.member.view
	c := v.VoterContext(r.InstanceID, p.clock())
	c.Bound = bound
	c.JobSetID = p.set.id
	c.LeaderJob = func(job string) bool { return p.set.leader[job] }
	c.Running = p.d.IsRunning
	c.Exchanged = p.member.exchangedWith()
	b := p.votes.Judge(c, r)
	p.votes.Record(b.Cast, c.Clock)
	// The votes for one-shots hold for this process and are not kept.
	kept := slices.DeleteFunc(slices.Clone(b.Cast), func(v election.Vote) bool { return v.Firing.Reboot() })
	if p.m.durable && len(kept) > 0 {
		if mutated("answer after the sync") {
			p.later(time.Second, func() { p.m.write(kept) })
		} else if !p.m.write(kept) {
			p.votes.Withdraw(b.Cast)
			for i := range b.Answers {
				if b.Answers[i].Granted() {
					b.Answers[i] = election.Answer{Refusal: election.RefusedStorage}
				}
			}
		}
	}
	p.w.ledger.voted(p, r, b)
	if slices.ContainsFunc(b.Cast, func(v election.Vote) bool { return v.Firing.Reboot() }) {
		p.member.publish()
	}
	return b.Answers
}

// tidy prunes old votes now and then.
func (p *process) tidy() {
	p.later(10*time.Second, p.tidy)
	expired := p.votes.Expired(p.clock())
	if p.m.durable {
		for _, v := range expired.Votes {
			delete(p.m.disk, v.Firing)
		}
		p.m.mark = expired.LowWater
	}
	p.votes.Prune(expired)
}

// note takes what the dispatcher tells.
func (p *process) note(e scheduler.Event) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.dead {
		p.w.ledger.event(p, e)
	}
}

// keeper is a history that keeps what was missed, in the ledger.
type keeper struct{ p *process }

func (keeper) AddStarted(history.Run) error       { return nil }
func (keeper) DropStarted(string) error           { return nil }
func (keeper) AddRun(history.Run) error           { return nil }
func (keeper) SetPause(history.Pause) error       { return nil }
func (keeper) ClearPause(string) (bool, error)    { return false, nil }
func (keeper) Pause(string) (history.Pause, bool) { return history.Pause{}, false }
func (keeper) LastRun(string) (history.Run, bool) { return history.Run{}, false }

func (k keeper) AddMissed(m history.Missed) error {
	k.p.w.mu.Lock()
	defer k.p.w.mu.Unlock()
	if !k.p.dead {
		k.p.w.ledger.missed(k.p, m)
	}
	return nil
}
