package run

import "time"

// Cancel ends the run: SIGTERM to its group and, after KillTimeout, SIGKILL. It does
// not wait; Done tells. It has no effect on a run that has ended.
func (p *Process) Cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.cancelled = true
	p.endGroup()
}

func (p *Process) timeout() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A process that has ended in time keeps its exit code, even if a helper
	// holds up its run.
	if p.exited || p.cancelled {
		return
	}
	p.timedOut = true
	p.endGroup()
}

// endGroup tells the group to end, once; p.mu is held.
func (p *Process) endGroup() {
	if p.ending {
		return
	}
	p.ending = true
	p.announce()
	if p.killTimeout <= 0 {
		p.killGroup()
		return
	}
	p.child.terminateGroup()
	p.killTimer = time.AfterFunc(p.killTimeout, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.killGroup()
	})
}

// killGroup sends SIGKILL to the group unless the run is over; p.mu is held.
func (p *Process) killGroup() {
	if p.over || p.killed {
		return
	}
	p.killed = true
	p.child.killGroup()
	p.announce()
}

// announce wakes settle; p.mu is held.
func (p *Process) announce() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// state tells whether the group was told to end and was killed, and when to ask again.
func (p *Process) state() (ending, killed bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.ending, p.killed, p.changed
}

// settle sees the run to its end after that of its process, when something is left:
// a group that was told to end, or a stream that is still open.
func (p *Process) settle() {
	p.outlive()
	p.finish(p.drain())
}

// outlive waits until a group that was told to end is empty or was killed. A group
// that was not told to end may live on.
func (p *Process) outlive() {
	for pause := groupPollMin; ; pause = min(2*pause, groupPollMax) {
		ending, killed, changed := p.state()
		if !ending || killed || !p.child.groupLives() {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// drain waits for the streams, at most DrainWait, and then closes them. It returns
// notes on what was cut off.
func (p *Process) drain() (notes []string) {
	grace := time.NewTimer(DrainWait)
	defer grace.Stop()
	cancelled := false
	for _, s := range p.streams {
		for s != nil {
			ending, _, changed := p.state()
			if ending && !cancelled {
				cancelled = true // perhaps meanwhile: its helpers, too
				p.outlive()
			}
			select {
			case <-s.done:
				s = nil
			case <-changed:
			case <-grace.C:
				return p.cut()
			}
		}
	}
	return nil
}

// cut closes the pipes under whatever still holds them.
func (p *Process) cut() (notes []string) {
	grace := time.NewTimer(stuckWait)
	defer grace.Stop()
	for _, s := range p.streams {
		if s == nil || s.over() {
			continue
		}
		s.cut()
		note := s.name + ": closed " + DrainWait.String() + " after the process had ended, while another process held it open"
		select {
		case <-s.done:
		case <-grace.C:
			grace.Reset(0)
			note = s.name + ": incomplete, the agent's own output did not take it in time"
		}
		p.logger.warn("output cut off", "stream", s.name, "pid", p.result.PID, "reason", note)
		notes = append(notes, note)
	}
	return notes
}
