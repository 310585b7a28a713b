package run

import (
	"io"
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

	// inlineResult is the most retained text, in bytes, that is put together where
	// the end of a run is noticed, and not in a goroutine of its own.
	inlineResult = 64 << 10
)

// Process is one run of one command, from Start to its Result. All methods are safe
// for concurrent use.
type Process struct {
	killTimeout time.Duration
	logger      logger
	log         *Log
	streams     [2]*stream // by tag; nil: not captured
	child       *child     // nil: not started
	watching

	done   chan struct{}
	result Result // complete when done is closed; until then of whoever settles

	mu         sync.Mutex // guards what follows
	open       int        // streams that have not ended
	exit       exit
	exited     bool // the process has ended; its group may live on
	settling   bool // someone brings the run to its end
	over       bool // the run has ended
	timedOut   bool
	cancelled  bool
	ending     bool          // the group was told to end
	killed     bool          // the group was sent SIGKILL
	changed    chan struct{} // closed when ending or killed changes; nil: nobody waits
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
		logger:      logger{spec.Logger, spec.JobName},
		log:         newLog(),
		done:        make(chan struct{}),
	}
	p.result.StartedAt = time.Now()
	l := launch{spec: spec}
	defer l.close()
	if err := p.prepare(&l); err != nil {
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
		p.mu.Lock() // it may be over before it is set
		p.limitTimer = time.AfterFunc(spec.ExecutionTimeout, p.timeout)
		p.mu.Unlock()
	}
	p.watch()
	return p
}

// prepare makes the standard files of the child and the captured streams.
func (p *Process) prepare(l *launch) error {
	if err := p.join(); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	for tag, captured := range [...]bool{l.spec.CaptureStdout, l.spec.CaptureStderr} {
		if captured {
			s := newStream(l.spec, uint8(tag), p)
			if err := l.pipe(1+tag, s); err != nil {
				return err
			}
			p.streams[tag] = s
			p.open++
			continue
		}
		if f := fileOf(l.spec.output(uint8(tag))); f != nil {
			l.inherit(1+tag, f)
		}
	}
	return nil
}

// output returns where a stream is re-emitted to.
func (s *Spec) output(tag uint8) io.Writer {
	if streamNames[tag] == StderrName {
		return s.Stderr
	}
	return s.Stdout
}

// fail ends a run that was not started.
func (p *Process) fail(spec *Spec, err error) {
	for tag, s := range p.streams {
		if s != nil {
			s.discard()
			p.streams[tag] = nil
		}
	}
	p.unwatch()
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

// GivenPID returns the process id that the process was given, also when it is gone; 0 if
// it was not started.
func (p *Process) GivenPID() int {
	if p.child == nil { // never changes after Start
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

// processEnded is told that the process has ended.
func (p *Process) processEnded(e exit) {
	now := time.Now()
	p.mu.Lock()
	p.exit, p.exited = e, true
	p.result.FinishedAt = now
	if p.limitTimer != nil {
		p.limitTimer.Stop()
	}
	p.mu.Unlock()
	p.advance()
}

// streamEnded is told that one of the streams has ended.
func (p *Process) streamEnded() {
	p.mu.Lock()
	p.open--
	p.mu.Unlock()
	p.advance()
}

// advance sees to the end of the run once the process has ended: at once if nothing
// is left to wait for, otherwise in a goroutine that ends with the run.
func (p *Process) advance() {
	p.mu.Lock()
	if !p.exited || p.settling {
		p.mu.Unlock()
		return
	}
	p.settling = true
	plain := p.open == 0 && !p.ending
	p.mu.Unlock()
	if plain && p.retained() <= inlineResult {
		p.finish(nil)
		return
	}
	go p.settle() // ends by closing done
}

func (p *Process) retained() (n int) {
	for _, s := range p.streams {
		if s != nil {
			n += s.size()
		}
	}
	return n
}

// finish puts the Result together and publishes it.
func (p *Process) finish(notes []string) {
	p.mu.Lock()
	p.over = true
	if p.killTimer != nil {
		p.killTimer.Stop()
	}
	r := &p.result
	r.TimedOut, r.Cancelled = p.timedOut, p.cancelled
	e := p.exit
	p.mu.Unlock()
	p.child.release()
	p.unwatch()

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

// launch is what a child is started with.
type launch struct {
	spec *Spec
	launchFiles
}
