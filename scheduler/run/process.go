package run

import (
	"os"
	"sync"
	"time"
)

const (
	// DrainWait is how long the captured streams may stay open after the process
	// has ended before they are closed.
	DrainWait = 5 * time.Second

	// stuckWait is how long a run waits for a stream whose pipe was closed: it is
	// over at once unless the shared output does not take what was read.
	stuckWait = time.Second

	// How often a cancelled run looks whether its group is gone after its first
	// process has ended.
	groupPollMin = 5 * time.Millisecond
	groupPollMax = 100 * time.Millisecond
)

// Process is one run of one command, from Start to its Result. All methods are safe
// for concurrent use.
type Process struct {
	killTimeout time.Duration
	logger      logger
	log         *Log
	streams     [2]*stream // by tag; nil: not captured
	done        chan struct{}
	result      Result // complete when done is closed

	child *child // nil: not started

	mu         sync.Mutex // guards what follows
	exited     bool       // the process has ended; its group may live on
	over       bool       // the run has ended
	timedOut   bool
	cancelled  bool
	ending     bool          // the group was told to end
	killed     bool          // the group was sent SIGKILL
	endingCh   chan struct{} // closed with ending
	killedCh   chan struct{} // closed with killed
	limitTimer *time.Timer   // ExecutionTimeout
	killTimer  *time.Timer   // KillTimeout
}

// exit is what the system tells of an ended process.
type exit struct {
	code   int
	user   time.Duration
	system time.Duration
	maxRSS int64
}

// Start runs the command. It always returns a Process; one that could not be started
// is done, and its Result says why.
func Start(spec Spec) *Process { return start(&spec, startChild) }

// start is Start with the function that forks.
func start(spec *Spec, fork func(*launch) (*child, error)) *Process {
	p := &Process{
		killTimeout: spec.KillTimeout,
		logger:      logger{spec.Logger},
		log:         newLog(),
		done:        make(chan struct{}),
		endingCh:    make(chan struct{}),
		killedCh:    make(chan struct{}),
	}
	p.result.StartedAt = time.Now()
	l := launch{spec: spec}
	defer l.close()
	if err := p.open(spec, &l); err != nil {
		p.fail(spec, err)
		return p
	}
	p.result.StartedAt = time.Now()
	c, err := fork(&l)
	if err != nil {
		p.fail(spec, err)
		return p
	}
	p.child = c
	p.result.PID = c.pid
	if spec.ExecutionTimeout > 0 {
		p.limitTimer = time.AfterFunc(spec.ExecutionTimeout, p.timeout)
	}
	for _, s := range p.streams {
		if s != nil {
			go s.pump() // waited for in drain
		}
	}
	go p.supervise() // ends by closing done
	return p
}

// launch is what a child is started with.
type launch struct {
	spec  *Spec
	files [3]*os.File // standard input, output, error
	own   []*os.File  // to be closed once the child has them
}

func (l *launch) close() {
	for _, f := range l.own {
		f.Close()
	}
}

// open makes the standard files of the child and the captured streams.
func (p *Process) open(spec *Spec, l *launch) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	l.own = append(l.own, null)
	l.files[0] = null
	for tag, captured := range [...]bool{spec.CaptureStdout, spec.CaptureStderr} {
		l.files[1+tag] = null
		if captured {
			r, w, err := newPipe()
			if err != nil {
				return err
			}
			l.own = append(l.own, w)
			l.files[1+tag] = w
			p.streams[tag] = newStream(spec, uint8(tag), p.log, r)
			continue
		}
		inherited := fileOf(spec.Stdout)
		if streamNames[tag] == StderrName {
			inherited = fileOf(spec.Stderr)
		}
		if inherited != nil {
			l.files[1+tag] = inherited
		}
	}
	return nil
}

// fail ends a run that was not started.
func (p *Process) fail(spec *Spec, err error) {
	for tag, s := range p.streams {
		if s != nil {
			s.file.Close()
			p.streams[tag] = nil
		}
	}
	p.result.FinishedAt = time.Now()
	p.result.ExitCode, p.result.StartError = explain(spec, err)
	p.result.Stdout.Captured = spec.CaptureStdout
	p.result.Stderr.Captured = spec.CaptureStderr
	p.exited, p.over = true, true
	p.log.end()
	close(p.done)
}

// PID returns the process id while the process exists, otherwise 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited {
		return 0
	}
	return p.child.pid
}

// Done is closed when the run has ended and its Result is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result waits for the end of the run.
func (p *Process) Result() Result {
	<-p.done
	return p.result
}

// Log returns the live log of the run, which may be kept longer than the Process.
func (p *Process) Log() *Log { return p.log }

// Lines returns the last lines of the captured streams, at most LogLines.
func (p *Process) Lines() []Line { return p.log.Lines() }

// Subscribe follows the captured streams; the subscription must be closed.
func (p *Process) Subscribe() *Subscription { return p.log.Subscribe() }

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
	close(p.endingCh)
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
	close(p.killedCh)
}

// supervise sees the run to its end.
func (p *Process) supervise() {
	e := p.child.wait()
	p.result.FinishedAt = time.Now()
	p.mu.Lock()
	p.exited = true
	if p.limitTimer != nil {
		p.limitTimer.Stop()
	}
	p.mu.Unlock()

	p.outlive()
	stuck := p.drain()

	p.mu.Lock()
	p.over = true
	if p.killTimer != nil {
		p.killTimer.Stop()
	}
	p.result.TimedOut, p.result.Cancelled = p.timedOut, p.cancelled
	p.mu.Unlock()
	p.child.release()
	p.complete(e, stuck)
}

// outlive waits until a group that was told to end is empty or was killed. A group
// that was not told to end may live on.
func (p *Process) outlive() {
	select {
	case <-p.endingCh:
	default:
		return
	}
	pause := groupPollMin
	for p.child.groupLives() {
		timer := time.NewTimer(pause)
		select {
		case <-p.killedCh:
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, groupPollMax)
	}
}

// drain waits for the streams, at most DrainWait, and then closes them. It returns
// notes on what was cut off.
func (p *Process) drain() (notes []string) {
	grace := time.NewTimer(DrainWait)
	defer grace.Stop()
	ending := p.endingCh
	for _, s := range p.streams {
		for s != nil {
			select {
			case <-s.done:
				s = nil
			case <-ending:
				ending = nil // cancelled meanwhile: its helpers too
				p.outlive()
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
		if s == nil {
			continue
		}
		select {
		case <-s.done:
			continue
		default:
		}
		s.file.Close()
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

// complete fills in the Result and publishes it.
func (p *Process) complete(e exit, notes []string) {
	r := &p.result
	r.ExitCode = e.code
	if r.TimedOut {
		r.ExitCode = ExitTimeout
	}
	r.UserCPU, r.SystemCPU, r.MaxRSS = e.user, e.system, e.maxRSS
	for tag, to := range [...]*Stream{&r.Stdout, &r.Stderr} {
		if s := p.streams[tag]; s != nil {
			var more []string
			*to, more = s.result()
			notes = append(notes, more...)
		}
	}
	r.Notes = notes
	p.log.end()
	close(p.done)
}
