package report

import "sync"

const (
	// laneWidth is how many deliveries to one destination are under way at once.
	laneWidth = 4

	// laneLength is how many may wait for one destination.
	laneLength = 256
)

// lanes queue work by destination. Each lane has goroutines only while it has work.
type lanes struct {
	maxBytes int // of all that waits or is under way

	mu      sync.Mutex // guards what follows
	byKey   map[string]*lane
	bytes   int
	work    int // how many wait or are under way
	dropped uint64
	closed  bool
	workers sync.WaitGroup
}

type lane struct {
	queue  []work
	active int
}

type work struct {
	size int
	do   func()
}

func newLanes(maxBytes int) *lanes {
	return &lanes{maxBytes: maxBytes, byKey: make(map[string]*lane)}
}

// add queues work on the lane called key, of which at most width are done at once, in
// order. It reports false if there is no room or no more time.
func (l *lanes) add(key string, width int, w work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.byKey[key]
	if l.closed || l.bytes+w.size > l.maxBytes || n != nil && len(n.queue) >= laneLength {
		l.dropped++
		return false
	}
	if n == nil {
		n = new(lane)
		l.byKey[key] = n
	}
	l.bytes += w.size
	l.work++
	n.queue = append(n.queue, w)
	if n.active < width {
		n.active++
		l.workers.Go(func() { l.serve(key, n) })
	}
	return true
}

// serve works until the lane is empty.
func (l *lanes) serve(key string, n *lane) {
	for {
		l.mu.Lock()
		if len(n.queue) == 0 {
			if n.active--; n.active == 0 {
				delete(l.byKey, key)
			}
			l.mu.Unlock()
			return
		}
		w := n.queue[0]
		n.queue[0] = work{}
		n.queue = n.queue[1:]
		l.mu.Unlock()
		w.do()
		l.mu.Lock()
		l.bytes -= w.size
		l.work--
		l.mu.Unlock()
	}
}

// close takes no more work; wait returns when what was taken is done.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
}

func (l *lanes) wait() { l.workers.Wait() }

// pending counts the work that waits or is under way.
func (l *lanes) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.work
}

func (l *lanes) drops() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}
