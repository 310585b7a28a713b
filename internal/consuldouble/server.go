package consuldouble

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxOperations is how many operations a transaction may have.
const maxOperations = 64

// maxValue bounds a value, and the body of a transaction.
const maxValue = 512 << 10

// Server is a double of one Consul server. The zero value is not ready: use Start.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}

	mu       sync.Mutex
	changed  chan struct{} // closed at each change
	index    uint64
	keys     map[string]*pair
	sessions map[string]*session
	made     uint64 // sessions so far
	delays   map[string]time.Time
	token    string
	leader   bool
	stalled  chan struct{} // closed when the stall ends; nil: none
	requests map[string]int
}

// pair is a key as the API tells of it.
type pair struct {
	Key         string
	Value       []byte
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string `json:",omitempty"`
}

type session struct {
	ID        string
	Name      string
	TTL       string
	Behavior  string
	LockDelay time.Duration
	ttl       time.Duration
	expiry    *time.Timer
}

// Start serves on a free port of the loopback address.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		listener: l, done: make(chan struct{}), changed: make(chan struct{}),
		keys: map[string]*pair{}, sessions: map[string]*session{}, delays: map[string]time.Time{},
		leader: true, requests: map[string]int{}, index: 10,
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with Close
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
	for _, session := range s.sessions {
		session.expiry.Stop()
	}
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// RequireToken makes every call without the token fail.
func (s *Server) RequireToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// SetLeader lets the cluster have a leader or none.
func (s *Server) SetLeader(has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = has
}

// Stall makes every call wait, or lets them go on.
func (s *Server) Stall(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.stalled == nil:
		s.stalled = make(chan struct{})
	case !on && s.stalled != nil:
		close(s.stalled)
		s.stalled = nil
	}
}

// Delete removes a key, as an operator would.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
}

// Holder returns the session that holds the key, "" if none does.
func (s *Server) Holder(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.keys[key]; p != nil {
		return p.Session
	}
	return ""
}

// Lives reports whether the session is alive.
func (s *Server) Lives(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id] != nil
}

// Invalidate ends a session, as an operator or a failed node would.
func (s *Server) Invalidate(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidate(id)
}

// Sessions returns how many sessions there are.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Requests returns how many requests there were, by method and kind of path.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
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
	s.requests[r.Method+" "+path[0]]++
	stalled := s.stalled
	s.mu.Unlock()
	if stalled != nil {
		select {
		case <-stalled:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	switch {
	case !s.leader:
		s.mu.Unlock()
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
		return
	case s.token != "" && r.Header.Get("X-Consul-Token") != s.token:
		s.mu.Unlock()
		http.Error(w, "Permission denied: token with AccessorID '00000000-0000-0000-0000-000000000002' lacks permission", http.StatusForbidden)
		return
	}
	defer s.mu.Unlock()
	switch {
	case path[0] == "session" && len(path) > 1:
		s.session(w, r, path[1:], body)
	case path[0] == "txn" && r.Method == http.MethodPut:
		s.transaction(w, body)
	case path[0] == "kv" && r.Method == http.MethodGet:
		s.read(w, r)
	case path[0] == "kv" && r.Method == http.MethodPut:
		s.write(w, r, body)
	case path[0] == "kv" && r.Method == http.MethodDelete:
		s.remove(key(r))
		s.answer(w, http.StatusOK, true)
	default:
		http.NotFound(w, r)
	}
}

func key(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/v1/kv/") }

// answer writes an answer. mu is held, as everywhere below.
func (s *Server) answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Consul-Index", strconv.FormatUint(s.index, 10))
	w.Header().Set("X-Consul-KnownLeader", "true")
	w.Header().Set("X-Consul-LastContact", "0")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// change makes a change visible to blocking queries.
func (s *Server) change() uint64 {
	s.index++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.index
}

func (s *Server) session(w http.ResponseWriter, r *http.Request, path []string, body []byte) {
	if r.Method != http.MethodPut {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	switch {
	case path[0] == "create":
		s.create(w, body)
	case path[0] == "renew" && len(path) == 2:
		session := s.sessions[path[1]]
		if session == nil {
			http.Error(w, fmt.Sprintf("Session id '%s' not found", path[1]), http.StatusNotFound)
			return
		}
		session.expiry.Reset(2 * session.ttl)
		s.answer(w, http.StatusOK, []entry{{ID: session.ID, TTL: session.TTL, Behavior: session.Behavior}})
	case path[0] == "destroy" && len(path) == 2:
		s.invalidate(path[1])
		s.answer(w, http.StatusOK, true)
	default:
		http.NotFound(w, r)
	}
}

// entry is a session as the API tells of it.
type entry struct{ ID, TTL, Behavior string }

func (s *Server) create(w http.ResponseWriter, body []byte) {
	var asked struct{ Name, TTL, Behavior, LockDelay string }
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, "Request decode failed: "+err.Error(), http.StatusBadRequest)
		return
	}
	ttl, err := time.ParseDuration(asked.TTL)
	if err != nil || ttl < 10*time.Second || ttl > 86400*time.Second {
		http.Error(w, fmt.Sprintf("Invalid Session TTL '%s', must be between [10s=24h0m0s]", asked.TTL), http.StatusInternalServerError)
		return
	}
	delay := 15 * time.Second
	if asked.LockDelay != "" {
		if delay, err = time.ParseDuration(asked.LockDelay); err != nil {
			http.Error(w, "Request decode failed: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	s.made++
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", s.made, s.made)
	s.sessions[id] = &session{
		ID: id, Name: asked.Name, TTL: asked.TTL, Behavior: asked.Behavior, LockDelay: min(delay, time.Minute), ttl: ttl,
		expiry: time.AfterFunc(2*ttl, func() { s.Invalidate(id) }),
	}
	s.change()
	s.answer(w, http.StatusOK, map[string]string{"ID": id})
}

// invalidate ends a session and what it holds.
func (s *Server) invalidate(id string) {
	session := s.sessions[id]
	if session == nil {
		return
	}
	session.expiry.Stop()
	delete(s.sessions, id)
	s.change()
	for key, p := range s.keys {
		if p.Session != id {
			continue
		}
		s.delays[key] = time.Now().Add(session.LockDelay)
		if session.Behavior == "delete" {
			s.remove(key)
			continue
		}
		p.Session, p.ModifyIndex = "", s.change()
	}
}

func (s *Server) remove(key string) {
	if s.keys[key] != nil {
		delete(s.keys, key)
		s.change()
	}
}

// read answers a question for a key, the keys with a prefix, or their names.
func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if after, err := strconv.ParseUint(query.Get("index"), 10, 64); err == nil && after > 0 {
		s.await(r, after)
	}
	_, recurse := query["recurse"]
	_, names := query["keys"]
	var found []*pair
	for _, k := range slices.Sorted(maps.Keys(s.keys)) {
		if k == key(r) || (recurse || names) && strings.HasPrefix(k, key(r)) {
			found = append(found, s.keys[k])
		}
	}
	switch {
	case len(found) == 0:
		s.answer(w, http.StatusNotFound, []*pair{})
	case names:
		var list []string
		for _, p := range found {
			list = append(list, p.Key)
		}
		s.answer(w, http.StatusOK, list)
	default:
		s.answer(w, http.StatusOK, found)
	}
}

// await waits until what a blocking query asks for is there: the index of the key, or of
// the store if there is none, above the one that is known.
func (s *Server) await(r *http.Request, after uint64) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil || wait > 10*time.Minute {
		wait = 5 * time.Minute
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for s.index <= after {
		changed := s.changed
		s.mu.Unlock()
		over := false
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-r.Context().Done():
			over = true
		}
		s.mu.Lock()
		if over {
			return
		}
	}
}

// write answers a put, with a lock, an unlock or a condition.
func (s *Server) write(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(body) > maxValue {
		http.Error(w, "Request body too large", http.StatusRequestEntityTooLarge)
		return
	}
	query := r.URL.Query()
	var ok bool
	switch {
	case query.Has("acquire"):
		if s.sessions[query.Get("acquire")] == nil {
			http.Error(w, fmt.Sprintf("rpc error making call: invalid session %q", query.Get("acquire")), http.StatusInternalServerError)
			return
		}
		ok = s.lock(key(r), body, query.Get("acquire"))
	case query.Has("release"):
		ok = s.unlock(key(r), body, query.Get("release"))
	case query.Has("cas"):
		index, err := strconv.ParseUint(query.Get("cas"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ok = s.swap(key(r), body, index)
	default:
		s.put(key(r), body)
		ok = true
	}
	s.answer(w, http.StatusOK, ok)
}

func (s *Server) put(key string, value []byte) *pair {
	index := s.change()
	p := s.keys[key]
	if p == nil {
		p = &pair{Key: key, CreateIndex: index}
		s.keys[key] = p
	}
	p.Value, p.ModifyIndex = slices.Clone(value), index
	return p
}

func (s *Server) lock(key string, value []byte, id string) bool {
	p := s.keys[key]
	switch {
	case p != nil && p.Session != "" && p.Session != id:
		return false
	case time.Now().Before(s.delays[key]) && (p == nil || p.Session == ""):
		return false
	}
	fresh := p == nil || p.Session == ""
	p = s.put(key, value)
	if fresh {
		p.LockIndex++
	}
	p.Session = id
	return true
}

func (s *Server) unlock(key string, value []byte, id string) bool {
	p := s.keys[key]
	if p == nil || p.Session != id || id == "" {
		return false
	}
	s.put(key, value).Session = ""
	return true
}

func (s *Server) swap(key string, value []byte, index uint64) bool {
	p := s.keys[key]
	if (p == nil) != (index == 0) || p != nil && p.ModifyIndex != index {
		return false
	}
	s.put(key, value)
	return true
}
