package agent

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Limits of the connections of the API.
const (
	mostConnections   = 4096
	fewestConnections = 64
	// descriptorShare is the part of this process's file descriptors that the API may
	// take at most: jobs and cluster need theirs.
	descriptorShare = 4
)

// connectionLimit is how many connections may be open.
func connectionLimit() int {
	return max(fewestConnections, min(mostConnections, descriptorLimit()/descriptorShare))
}

// connections bounds how many connections are open on all addresses. One too many
// costs the one that has waited longest for a request, so that neither connections
// that are held open without one nor requests that are never completed keep anybody
// out; only where all are busy is the newest turned away.
type connections struct {
	log   hclog.Logger
	limit int

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // nil: busy with a request
	waiting list.List                  // of net.Conn, the one that has waited longest first
	warned  bool
}

func newConnections(log hclog.Logger, limit int) *connections {
	return &connections{log: log, limit: limit, open: make(map[net.Conn]*list.Element)}
}

// changed has the form of http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if victim := c.track(conn, state); victim != nil {
		if t, ok := victim.(*tls.Conn); ok {
			victim = t.NetConn() // a farewell could take its time
		}
		_ = victim.Close()
	}
}

// track notes a change and returns the connection that must go for it, if any.
func (c *connections) track(conn net.Conn, state http.ConnState) (victim net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[conn]; e != nil {
		c.waiting.Remove(e)
		c.open[conn] = nil
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	case http.StateHijacked, http.StateClosed:
		delete(c.open, conn)
		if len(c.open) < c.limit/2 {
			c.warned = false
		}
	}
	if len(c.open) <= c.limit {
		return nil
	}
	if !c.warned {
		c.warned = true
		c.log.Warn("too many connections: those that wait longest for a request are closed", "limit", c.limit)
	}
	front := c.waiting.Front()
	if front == nil {
		return nil // of a state that did not make it one more
	}
	victim = c.waiting.Remove(front).(net.Conn)
	delete(c.open, victim)
	return victim
}
