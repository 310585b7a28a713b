//go:build !linux

package run

// watching is the platform's part of a Process; here goroutines do it.
type watching struct{}

func (p *Process) join() error { return nil }

func (p *Process) unwatch() {}

// watch waits for the process and reads its streams.
func (p *Process) watch() {
	for _, s := range p.streams {
		if s != nil {
			go s.pump() // ends with the input
		}
	}
	go func() { p.processEnded(p.child.wait()) }() // ends with the process
}
