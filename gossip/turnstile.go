package gossip

import (
	"context"
	"sync"
	"time"
)

// The dials of one node that are under way at a time, and how long one counts if it
// does not end: peers that do not answer must not keep the others waiting.
const (
	maxDials      = 8
	turnConnect   = 500 * time.Millisecond // until there is a connection
	turnHandshake = 3 * time.Second        // from then on
)

// turnstile lets a few dials in at a time. A handshake costs processor time at both
// ends. If a node with many peers began them all at once, on machines that are too slow
// for that, none would be done in time, and all would begin anew.
type turnstile struct{ slots chan struct{} }

func newTurnstile() *turnstile { return &turnstile{slots: make(chan struct{}, maxDials)} }

// enter waits for a turn, which must be left.
func (t *turnstile) enter(ctx context.Context) (*turn, error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	u := &turn{}
	u.free = sync.OnceFunc(func() { <-t.slots })
	u.timer = time.AfterFunc(turnConnect, u.free)
	return u, nil
}

// turn is the place of one dial.
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
