package kubernetes

import (
	"context"
	"slices"
	"sync"
)

// urgency orders those who wait for their turn.
type urgency bool

const (
	urgent  urgency = true // keeps or ends leadership
	patient urgency = false
)

// turns lets one writer of this process after the other change the object: writes at the
// same time would only make each other fail. A renewal goes before all claims and marks
// that wait.
type turns struct {
	mu      sync.Mutex
	busy    bool
	waiting map[urgency][]chan struct{}
}

// take waits for the turn. Without an error, it must be given back.
func (t *turns) take(ctx context.Context, u urgency) error {
	t.mu.Lock()
	if !t.busy {
		t.busy = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if t.waiting == nil {
		t.waiting = make(map[urgency][]chan struct{})
	}
	t.waiting[u] = append(t.waiting[u], mine)
	t.mu.Unlock()

	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting[u], mine)
	if i >= 0 {
		t.waiting[u] = slices.Delete(t.waiting[u], i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		t.give() // it came at the same moment
	}
	return ctx.Err()
}

// give passes the turn on.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range []urgency{urgent, patient} {
		if line := t.waiting[u]; len(line) > 0 {
			t.waiting[u] = line[1:]
			close(line[0])
			return
		}
	}
	t.busy = false
}
