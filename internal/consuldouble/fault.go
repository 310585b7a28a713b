package consuldouble

import (
	"maps"
	"net"
	"net/http"
	"sync"
)

// Blocking is how a server answers blocking queries.
type Blocking int

// The ways of which the documentation of blocking queries warns, and that of a server
// that never answers.
const (
	Waits         Blocking = iota // as it should
	ZeroIndex                     // at once, and each answer has the index 0
	SameIndex                     // at once, though nothing is new
	GrowingIndex                  // at once, each time as if something were new
	FallingIndex                  // at once, each time as if the servers had been restored
	NeverAnswered                 // not at all, whatever happens and however long it takes
)

// SetBlocking makes blocking queries be answered that way from now on, those under way
// excepted.
func (s *Server) SetBlocking(b Blocking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocking = b
}

// misbehave returns the index of an answer to a blocking query.
func (s *Server) misbehave(r *http.Request, after, index uint64) uint64 {
	switch s.blocking {
	case ZeroIndex:
		return 0
	case SameIndex:
		return after
	case GrowingIndex:
		return after + 1
	case FallingIndex:
		return max(after-1, 1)
	case NeverAnswered:
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
	case Waits:
	}
	return index
}

// Kill ends the server as SIGKILL does: connections are reset, and so is every new one.
// What it has on disk stays.
func (s *Server) Kill() {
	s.door.shut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopTimers()
	clear(s.delays)
}

// Restart lets a server that was killed serve again.
func (s *Server) Restart() {
	s.mu.Lock()
	s.startTimers()
	s.mu.Unlock()
	s.door.open()
}

// SetLeader lets the cluster have a leader or none.
func (s *Server) SetLeader(has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader == has {
		return
	}
	if s.leader = has; has {
		s.startTimers()
		return
	}
	s.stopTimers()
	clear(s.delays)
}

// Stall makes the server stand still, or go on. Then it first ends the sessions whose time
// has passed.
func (s *Server) Stall(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.stalled == nil:
		s.stalled = make(chan struct{})
	case !on && s.stalled != nil:
		for _, id := range s.overdue {
			s.invalidate(id)
		}
		s.overdue = nil
		close(s.stalled)
		s.stalled = nil
	}
}

// RequireToken makes every call without the token fail.
func (s *Server) RequireToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// Deny makes transactions fail that touch one of the keys, as for a token whose policy
// does not reach that far. None allows everything.
func (s *Server) Deny(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = map[string]bool{}
	for _, k := range keys {
		s.denied[k] = true
	}
}

// refusal is what every call is answered.
type refusal struct {
	code int
	kind string
	text string
}

func (f *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", f.kind)
	w.WriteHeader(f.code)
	_, _ = w.Write([]byte(f.text)) // the client may be gone
}

// Refuse answers every call with a status and a text of that media type, be it the
// server's own or that of something in front of it.
func (s *Server) Refuse(code int, kind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = &refusal{code, kind, text}
}

// Accept ends Refuse.
func (s *Server) Accept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = nil
}

// Delete removes a key, as an operator would.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
}

// Put writes a key, as an operator would.
func (s *Server) Put(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, []byte(value), s.change())
}

// Invalidate ends a session, as an operator would.
func (s *Server) Invalidate(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidate(id)
}

// FailNode lets the check of the node fail to which the sessions belong, and with it
// those that have that check.
func (s *Server) FailNode() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, session := range maps.Clone(s.state.sessions) {
		if session.checked {
			s.invalidate(id)
		}
	}
}

// Deregister removes the node to which the sessions belong, and them with it.
func (s *Server) Deregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range maps.Clone(s.state.sessions) {
		s.invalidate(id)
	}
}

// Snapshot returns a function that restores what the server has now: indexes go back.
func (s *Server) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := s.state.clone()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopTimers()
		s.state = saved.clone()
		s.startTimers()
		s.restored++
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// clone copies the state. What its maps point to is not changed by anybody.
func (s state) clone() state {
	s.keys, s.graves, s.sessions = maps.Clone(s.keys), maps.Clone(s.graves), maps.Clone(s.sessions)
	return s
}

// door is a listener that can be shut without giving its port to others.
type door struct {
	net.Listener

	mu     sync.Mutex
	closed bool
	guests map[net.Conn]bool
}

// guest is a connection that came in by the door.
type guest struct {
	net.Conn
	door *door
}

func (g *guest) Close() error {
	g.door.mu.Lock()
	delete(g.door.guests, g.Conn)
	g.door.mu.Unlock()
	return g.Conn.Close()
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		shut := d.closed
		if !shut {
			d.guests[c] = true
		}
		d.mu.Unlock()
		if !shut {
			return &guest{Conn: c, door: d}, nil
		}
		reset(c)
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for c := range d.guests {
		reset(c)
	}
	clear(d.guests)
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = false
}

// reset ends a connection without a word.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // if it fails, the client sees an orderly end
	}
	_ = c.Close()
}
