package gossip

import (
	"sync"
	"time"
)

// What one node does at a time, and how long one thing counts if it does not end: peers
// that do not answer must not keep the others waiting.
const (
	maxDials      = 8
	turnConnect   = time.Second     // until there is a connection
	turnHandshake = 5 * time.Second // from then on

	maxExchanges = 8
	turnExchange = 2 * time.Second
)

// turnstile lets a few in at a time. A handshake or an exchange costs processor time at
// both ends. If a node with many peers began with all of them at once, on machines that
// are too slow for that, none would be done in time, and all would begin anew.
type turnstile struct{ slots chan struct{} }

func newTurnstile(n int) *turnstile { return &turnstile{slots: make(chan struct{}, n)} }

// enter waits for a turn, which must be left and counts for d at most. It returns nil
// if done is closed before.
func (t *turnstile) enter(done <-chan struct{}, d time.Duration) *turn {
	select {
	case t.slots <- struct{}{}:
	case <-done:
		return nil
	}
	u := &turn{}
	u.free = sync.OnceFunc(func() { <-t.slots })
	u.timer = time.AfterFunc(d, u.free)
	return u
}

// turn is the place of one that was let in.
type turn struct {
	timer *time.Timer
	free  func()
}

// extend lets the turn count for d from now on, unless it was given up.
func (u *turn) extend(d time.Duration) {
	if u.timer.Stop() {
		u.timer.Reset(d)
	}
}

// leave gives the place to the next one.
func (u *turn) leave() {
	u.timer.Stop()
	u.free()
}
