package gossip

import (
	"context"
	"errors"
	"sync"
)

// pushes lets calls of push share what they ask for: those that come while one push is
// under way all wait for the next one.
type pushes struct {
	mu   sync.Mutex
	now  *pushRound // under way; nil: none
	next *pushRound // begins when now ends; nil: nobody waits for it
}

// pushRound is one push. err is set before done is closed.
type pushRound struct {
	done chan struct{}
	err  error
}

// join returns a push that has not begun, and whether the caller must begin it.
func (p *pushes) join() (push *pushRound, begin bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = &pushRound{done: make(chan struct{})}
	}
	push = p.next
	if begin = p.now == nil; begin {
		p.now, p.next = push, nil
	}
	return push, begin
}

// end ends the push under way and reports whether the next one begins.
func (p *pushes) end(err error) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.err = err
	close(p.now.done)
	p.now, p.next = p.next, nil
	return p.now != nil
}

// push makes every reachable peer fetch this node's state, and returns when all have,
// or ctx ends. The error names those that have not. The caller has entered.
func (m *Manager) push(ctx context.Context) error {
	push, begin := m.pushes.join()
	if begin {
		m.requests.Go(func() {
			for more := true; more; {
				more = m.pushes.end(m.pushNow())
			}
		})
	}
	select {
	case <-push.done:
		return push.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pushNow makes every reachable peer fetch the state as it is now.
func (m *Manager) pushNow() error {
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	q := &request{Type: typeSync, Version: m.table.versionNow()}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, s := range m.registry.voters() {
		wg.Go(func() {
			if _, err := ask(ctx, s, q); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, &pushError{m.table.hostOf(s.host), err})
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pushError says which peer may not know the newest state.
type pushError struct {
	host string
	err  error
}

func (e *pushError) Error() string { return e.host + " may not know yet: " + clean(e.err.Error()) }
func (e *pushError) Unwrap() error { return e.err }
