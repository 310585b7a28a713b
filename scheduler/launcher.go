package scheduler

import "sync"

// launcher runs what is queued in order, at most width at a time. Its workers come when
// there is something to do and go when there is nothing.
type launcher struct {
	width int
	do    func(*launch)

	mu      sync.Mutex
	queue   []*launch
	head    int // index of the next one in queue
	workers int
}

func newLauncher(width int, do func(*launch)) *launcher {
	return &launcher{width: width, do: do}
}

// add queues l and returns whether the caller must start a worker that runs work.
func (q *launcher) add(l *launch) (more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, l)
	if q.workers == q.width {
		return false
	}
	q.workers++
	return true
}

// work runs what is queued until nothing is left.
func (q *launcher) work() {
	for {
		q.mu.Lock()
		if q.head == len(q.queue) {
			q.workers--
			if q.workers == 0 {
				q.queue, q.head = nil, 0
			}
			q.mu.Unlock()
			return
		}
		l := q.queue[q.head]
		q.queue[q.head] = nil
		q.head++
		q.mu.Unlock()
		q.do(l)
	}
}
