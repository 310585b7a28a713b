package run

// watching is the platform's part of a Process.
type watching struct{ reactor *reactor }

// join takes part in what watches, before anything is started.
func (p *Process) join() (err error) {
	p.reactor, err = joinReactor()
	return err
}

// unwatch ends that.
func (p *Process) unwatch() {
	if p.reactor != nil {
		p.reactor.leave()
	}
}

// watch has the reactor tell of the process and of its streams.
func (p *Process) watch() {
	for _, s := range p.streams {
		if s == nil {
			continue
		}
		s.io.Lock()
		key, err := p.reactor.add(s.fd, s)
		if s.key = key; err != nil {
			s.pumping = true
			go s.pump() // ends with the input
		}
		s.io.Unlock()
	}
	if fd := p.child.descriptor(); fd >= 0 {
		if _, err := p.reactor.add(fd, p); err == nil {
			return
		}
	}
	go func() { // ends with the process
		p.child.block()
		p.ready(0)
	}()
}

// ready is called when the process has ended.
func (p *Process) ready(uint32) {
	if e, ok := p.child.reap(); ok {
		p.processEnded(e)
	}
}
