package scheduler

// ClockWatch tells when the wall clock was set, or went ahead because the machine
// slept. Timers run on the monotonic clock and notice neither.
type ClockWatch struct {
	set  chan struct{}
	stop func()
}

// C receives after each such change; several in a row may become one.
func (w *ClockWatch) C() <-chan struct{} { return w.set }

// Close ends the watch and waits for its goroutine.
func (w *ClockWatch) Close() { w.stop() }

// changed tells of a change, unless one is yet to be received.
func (w *ClockWatch) changed() {
	select {
	case w.set <- struct{}{}:
	default:
	}
}
