package gossip

import (
	"sync"
	"time"
)

// releaseTime bounds the wait for the readers of a session that ends.
const releaseTime = 100 * time.Millisecond

// calls follows the reads of a session's streams. While yamux shuts a session down,
// whoever waits in a read spins: it wakes up, finds that its stream is not closed yet, and
// waits again, which returns at once. On a machine that is short of processors that keeps
// other sessions from answering, so that they end too, and so on. Hence all reads are
// called back before yamux hears of the end.
type calls struct {
	mu      sync.Mutex
	over    bool
	busy    int
	idle    chan struct{} // closed when nothing is busy any more; nil: nobody waits
	streams map[*muxStream]struct{}
}

// enter reports whether a read may begin; leave must follow if so.
func (c *calls) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.busy++
	return true
}

func (c *calls) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.busy == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// add and remove follow the streams that are open.
func (c *calls) add(s *muxStream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == nil {
		c.streams = make(map[*muxStream]struct{})
	}
	c.streams[s] = struct{}{}
}

func (c *calls) remove(s *muxStream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s)
}

// ended reports whether release was called.
func (c *calls) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// release lets no read begin any more and returns when those under way have ended.
// Writes that wait for the other end are called back too.
func (c *calls) release() {
	c.mu.Lock()
	c.over = true
	for s := range c.streams {
		_ = s.SetDeadline(time.Unix(1, 0)) // wakes up who waits
	}
	if c.busy == 0 {
		c.mu.Unlock()
		return
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	timer := time.NewTimer(releaseTime)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C: // one has to write, which the other end does not take
	}
}
