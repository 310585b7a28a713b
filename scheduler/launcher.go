package scheduler

// launcher is the queue of launches and the workers that empty it, at most width of them.
// They come when there is something to do and go when there is nothing. The Dispatcher's
// mu guards it, so that launches are admitted in the order in which they were queued,
// however many workers start processes meanwhile: of two firings of a job that must not
// overlap it is always the older one that starts.
type launcher struct {
	width   int
	queue   []*launch
	head    int // index of the next one in queue
	workers int
}

func newLauncher(width int) launcher { return launcher{width: width} }

// add queues l and returns whether one more worker must be started.
func (q *launcher) add(l *launch) (more bool) {
	q.queue = append(q.queue, l)
	if q.workers == q.width {
		return false
	}
	q.workers++
	return true
}

// next takes a launch from the queue; nil: there is none, and the worker must end.
func (q *launcher) next() *launch {
	if q.head == len(q.queue) {
		q.workers--
		if q.workers == 0 {
			q.queue, q.head = nil, 0
		}
		return nil
	}
	l := q.queue[q.head]
	q.queue[q.head] = nil
	q.head++
	return l
}
