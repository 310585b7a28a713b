package consuldouble

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Expiry is when a session that is not renewed ends.
type Expiry int

// Both ends of what Consul documents.
const (
	Late  Expiry = iota // after twice its time to live, as servers do
	Early               // after its time to live, as they may
)

// Options are what servers differ in. The zero value is a Consul of today.
type Options struct {
	Expiry Expiry
	// UnknownSession: to destroy a session that is not there is an error, as it was where
	// there are access lists.
	UnknownSession bool
}

// Server is a double of one Consul server. The zero value is not ready: use Start.
type Server struct {
	options Options
	http    *http.Server
	door    *door
	done    chan struct{}

	mu       sync.Mutex
	state    state
	changed  chan struct{} // closed at each change
	restored int           // how often a snapshot was restored: that ends blocking queries
	delays   map[string]time.Time
	timers   map[string]*time.Timer // of sessions
	token    string
	leader   bool
	stalled  chan struct{} // closed when the stall ends; nil: none
	overdue  []string      // sessions that ended during a stall
	refusal  *refusal
	denied   map[string]bool
	blocking Blocking
	requests map[string]int
}

// state is what a server keeps on its disk. It is replaced, never shared.
type state struct {
	index    uint64 // of the newest write
	keysAt   uint64 // of the newest write to a key
	keys     map[string]*pair
	graves   map[string]uint64 // of deleted keys: when
	sessions map[string]*session
	made     uint64 // sessions so far
}

// Start serves on a free port of the loopback address.
func Start(o Options) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, door: &door{Listener: l, guests: map[net.Conn]bool{}}, done: make(chan struct{}), changed: make(chan struct{}),
		state:  state{index: 10, keys: map[string]*pair{}, graves: map[string]uint64{}, sessions: map[string]*session{}},
		delays: map[string]time.Time{}, timers: map[string]*time.Timer{}, leader: true, requests: map[string]int{},
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.door) // ends with Close
	}()
	return s, nil
}

// Close ends the server and all calls under way.
func (s *Server) Close() {
	s.Stall(false)
	_ = s.http.Close()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopTimers()
	s.leader = false
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + s.door.Addr().String() }

// Requests returns how many requests there were: by method and kind of path, such as
// "GET kv"; with "?index" for blocking queries, and "?stale" for reads that did not ask
// for what the servers agree on.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// kind is how Requests calls a request.
func kind(r *http.Request, path string) string {
	k := r.Method + " " + path
	if r.Method != http.MethodGet {
		return k
	}
	query := r.URL.Query()
	if query.Has("index") {
		k += "?index"
	}
	if !query.Has("consistent") {
		k += "?stale"
	}
	return k
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*maxValue))
	if err != nil {
		http.Error(w, "Request body too large", http.StatusRequestEntityTooLarge)
		return
	}
	s.mu.Lock()
	s.requests[kind(r, path[0])]++
	for s.stalled != nil {
		stalled := s.stalled
		s.mu.Unlock()
		select {
		case <-stalled:
		case <-r.Context().Done():
			return
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	switch {
	case s.refusal != nil:
		s.refusal.write(w)
	case !s.leader:
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
	case s.token != "" && r.Header.Get("X-Consul-Token") != s.token:
		http.Error(w, "Permission denied: token with AccessorID '00000000-0000-0000-0000-000000000002' lacks permission", http.StatusForbidden)
	case r.URL.Query().Has("ns") || r.URL.Query().Has("partition"):
		http.Error(w, "Invalid query parameter: namespaces and partitions are a Consul Enterprise feature", http.StatusBadRequest)
	case path[0] == "session" && len(path) > 1:
		s.session(w, r, path[1:], body)
	case path[0] == "txn" && r.Method == http.MethodPut:
		s.transaction(w, body)
	case path[0] == "kv" && r.Method == http.MethodGet:
		s.read(w, r)
	case path[0] == "kv" && r.Method == http.MethodPut:
		s.write(w, r, body)
	case path[0] == "kv" && r.Method == http.MethodDelete:
		s.clear(query{key: key(r), prefix: r.URL.Query().Has("recurse")})
		answer(w, http.StatusOK, true)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// change makes a write visible to blocking queries, and returns its index. mu is held, as
// everywhere below.
func (s *Server) change() uint64 {
	s.state.index++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.state.index
}
