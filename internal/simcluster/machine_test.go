package simcluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/simfault"
	"github.com/yacron2/yacron2/scheduler"
)

// machine is what survives the death of a process.
type machine struct {
	w       *world
	index   int
	name    string // of its node; another machine may bear it too
	host    string
	durable bool         // votes are kept on its disk
	offset  atomic.Int64 // of its wall clock, in nanoseconds; read without the lock
	hosts   []string     // the peers that its configuration lists
	version int          // of its jobs

	lives   int
	proc    *process // nil while it is down
	disk    map[election.Firing]election.Vote
	mark    time.Time // the durable low-water mark
	written bool      // the file of the votes exists
	sealed  time.Time // true time at which the newest process ended

	frozen chan struct{} // closed when it goes on; nil: it is not frozen
	held   []func()      // messages that came meanwhile
	busy   chan struct{} // holds a token while somebody operates it
	again  bool          // a process is to follow the one that stops
	doomed bool          // its process dies when it is next granted a firing
}

// wall reads the machine's clock.
func (m *machine) wall() time.Time { return time.Now().Add(time.Duration(m.offset.Load())) }

// exclusive lets one operation after the other have the machine.
func (m *machine) exclusive(do func()) {
	m.busy <- struct{}{}
	do()
	<-m.busy
}

// receive hands a message to the machine: at once, or when it goes on.
func (m *machine) receive(deliver func()) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	switch {
	case m.w.ended:
	case m.frozen != nil:
		m.held = append(m.held, deliver)
	default:
		deliver()
	}
}

// start starts a process, unless there is one.
func (m *machine) start() {
	if m.w.sc.Dead && m.w.sc.Gone>>m.index&1 == 1 {
		return
	}
	m.exclusive(func() {
		m.w.mu.Lock()
		if m.proc != nil || m.w.ended {
			m.again = m.proc != nil && m.proc.stopping
			m.w.mu.Unlock()
			return
		}
		m.again = false
		m.lives++
		p := newProcess(m)
		m.proc = p
		m.w.ledger.started(p)
		m.w.mu.Unlock()
		p.run()
	})
}

// crash ends the process without a word. What it had on its way into the network goes
// on, what it was about to do does not happen.
func (m *machine) crash() {
	m.w.mu.Lock()
	p := m.proc
	if p == nil {
		m.w.mu.Unlock()
		return
	}
	m.proc = nil
	p.die()
	m.w.mu.Unlock()
	p.end()
}

// stop ends the process as SIGTERM does: it hands over, goes on answering until its last
// run has ended or the time is over, and leaves.
func (m *machine) stop(limit time.Duration) {
	m.w.mu.Lock()
	p := m.proc
	if p == nil || p.stopping {
		m.w.mu.Unlock()
		return
	}
	p.stopping = true
	m.w.mu.Unlock()

	p.gate("stop")
	m.w.mu.Lock()
	p.stopped = m.wall()
	m.w.ledger.lifeOf(p).stop = m.w.elapsed()
	m.w.mu.Unlock()
	p.d.Quiesce()
	settle()
	p.place().Resign(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p.d.Stop(ctx)

	m.w.mu.Lock()
	if m.proc == p {
		m.proc = nil
		p.die()
	}
	again := m.again
	m.w.mu.Unlock()
	if again {
		m.start()
	}
}

// freeze stops the machine's processes, as SIGSTOP does, and lets them go on later.
func (m *machine) freeze(d time.Duration) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if m.frozen != nil || m.w.ended {
		return
	}
	thaw := make(chan struct{})
	m.frozen = thaw
	m.w.ledger.froze(m, d)
	m.w.after(d, func() {
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		m.frozen = nil
		close(thaw)
		for i, deliver := range m.held {
			m.w.after(share(m.w.roll("thaw", m.index, i), 5*time.Millisecond), func() { m.receive(deliver) })
		}
		m.held = nil
	})
}

// setClock sets the wall clock.
func (m *machine) setClock(by time.Duration) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.offset.Add(int64(by))
	if p := m.proc; p != nil {
		p.clockSet = true
		m.w.ledger.lifeOf(p).set = true
		select {
		case p.watch <- struct{}{}:
		default:
		}
	}
}

// reload puts another version of the jobs into effect.
func (m *machine) reload(version int) {
	m.exclusive(func() {
		m.w.mu.Lock()
		m.version = version
		p := m.proc
		m.w.mu.Unlock()
		if p != nil {
			p.apply(version)
		}
	})
}

// relist changes the list of peers. A running process gets a new coordinator for it.
func (m *machine) relist(hosts []string) {
	m.exclusive(func() {
		m.w.mu.Lock()
		m.hosts = slices.Clone(hosts)
		p := m.proc
		m.w.mu.Unlock()
		if p != nil {
			p.rejoin()
		}
	})
}

// peers lists the configured hosts but the machine's own.
func (m *machine) peers() []string {
	return slices.DeleteFunc(slices.Clone(m.hosts), func(h string) bool { return h == m.host })
}

// failing reports whether the disk refuses writes now.
func (m *machine) failing() bool {
	now := m.w.elapsed()
	return slices.ContainsFunc(m.w.sc.Faults, func(f simfault.Fault) bool {
		return f.Kind == simfault.Disk && f.A == m.index && f.ActiveAt(now)
	})
}

// write makes votes durable and reports whether the disk says so. What it refuses may
// have reached it all the same.
func (m *machine) write(votes []election.Vote) bool {
	failing := m.failing()
	if failing && m.w.roll("disk", m.index)%2 == 0 {
		return false
	}
	for _, v := range votes {
		m.disk[v.Firing] = v
	}
	return !failing
}

// restore returns the memory with which a new process votes.
func (m *machine) restore() *election.Votes {
	if m.durable && m.written {
		kept := make([]election.Vote, 0, len(m.disk))
		for _, v := range m.disk {
			kept = append(kept, v)
		}
		return election.RestoreVotes(kept, m.mark)
	}
	m.disk = make(map[election.Firing]election.Vote)
	m.written = true
	return election.NewVotes()
}

func (m *machine) instance() string {
	return fmt.Sprintf("%04x-%s-%d.%d", m.w.roll("instance", m.index, m.lives)%0x10000, m.name, m.index, m.lives)
}

var _ scheduler.Coordinator = (*member)(nil)
