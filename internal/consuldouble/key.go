package consuldouble

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxValue bounds a value, and the body of a transaction.
const maxValue = 512 << 10

// pair is a key as the API tells of it. One that is in the store is replaced, not changed.
type pair struct {
	Key         string
	Value       []byte
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string `json:",omitempty"`
}

func key(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/v1/kv/") }

// query is a question for one key, or for those with a prefix.
type query struct {
	key    string
	prefix bool
}

func (q query) asksFor(key string) bool {
	return key == q.key || q.prefix && strings.HasPrefix(key, q.key)
}

// find returns what is asked for, and its index.
func (s *Server) find(q query) (found []*pair, index uint64) {
	for _, k := range slices.Sorted(maps.Keys(s.state.keys)) {
		if q.asksFor(k) {
			found = append(found, s.state.keys[k])
			index = max(index, s.state.keys[k].ModifyIndex)
		}
	}
	if q.prefix {
		for k, at := range s.state.graves {
			if q.asksFor(k) {
				index = max(index, at)
			}
		}
	}
	if index == 0 {
		index = max(s.state.keysAt, 1)
	}
	return found, index
}

// read answers a question for a key, the keys with a prefix, or their names.
func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	params := r.URL.Query()
	q := query{key: key(r), prefix: params.Has("recurse") || params.Has("keys")}
	found, index := s.find(q)
	if after, err := strconv.ParseUint(params.Get("index"), 10, 64); err == nil && after > 0 {
		if s.blocking == Waits {
			found, index = s.await(r, q, after)
		} else {
			index = s.misbehave(r, after, index)
		}
	} else if s.blocking == ZeroIndex {
		index = 0
	}
	w.Header().Set("X-Consul-Index", strconv.FormatUint(index, 10))
	w.Header().Set("X-Consul-KnownLeader", "true")
	w.Header().Set("X-Consul-LastContact", "0")
	switch {
	case len(found) == 0:
		w.WriteHeader(http.StatusNotFound)
	case params.Has("keys"):
		var names []string
		for _, p := range found {
			names = append(names, p.Key)
		}
		answer(w, http.StatusOK, names)
	default:
		answer(w, http.StatusOK, found)
	}
}

// await waits until what a blocking query asks for is there: an index above the one that
// is known.
func (s *Server) await(r *http.Request, q query, after uint64) ([]*pair, uint64) {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil || wait <= 0 {
		wait = 5 * time.Minute
	}
	wait = min(wait, 10*time.Minute)
	timer := time.NewTimer(wait + rand.N(wait/16+1))
	defer timer.Stop()
	restored := s.restored
	for over := false; ; {
		found, index := s.find(q)
		if index > after || over || s.restored != restored {
			return found, index
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-r.Context().Done():
			over = true
		}
		s.mu.Lock()
		for s.stalled != nil { // a server that stands still answers nobody
			stalled := s.stalled
			s.mu.Unlock()
			select {
			case <-stalled:
			case <-r.Context().Done():
			}
			s.mu.Lock()
			if r.Context().Err() != nil {
				break
			}
		}
	}
}

// write answers a put, with a lock, an unlock or a condition.
func (s *Server) write(w http.ResponseWriter, r *http.Request, body []byte) {
	if len(body) > maxValue {
		http.Error(w, fmt.Sprintf("Request body(%d bytes) too large, max size: %d bytes.", len(body), maxValue), http.StatusRequestEntityTooLarge)
		return
	}
	params := r.URL.Query()
	ok := true
	switch {
	case params.Has("acquire"):
		if s.state.sessions[params.Get("acquire")] == nil {
			http.Error(w, fmt.Sprintf("rpc error making call: invalid session %q", params.Get("acquire")), http.StatusInternalServerError)
			return
		}
		ok = s.lock(key(r), body, params.Get("acquire"))
	case params.Has("release"):
		ok = s.unlock(key(r), body, params.Get("release"))
	case params.Has("cas"):
		index, err := strconv.ParseUint(params.Get("cas"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if ok = s.current(key(r), index); ok {
			s.put(key(r), body, s.change())
		}
	default:
		s.put(key(r), body, s.change())
	}
	answer(w, http.StatusOK, ok)
}

// put writes a key's value, and who holds it stays.
func (s *Server) put(key string, value []byte, index uint64) {
	next := &pair{Key: key, CreateIndex: index}
	if p := s.state.keys[key]; p != nil {
		*next = *p
	}
	next.Value = slices.Clone(value)
	s.store(next, index)
}

// store replaces a key, unless nothing would be different.
func (s *Server) store(next *pair, index uint64) {
	before := s.state.keys[next.Key]
	if before != nil && before.Session == next.Session && before.LockIndex == next.LockIndex && slices.Equal(before.Value, next.Value) {
		return
	}
	next.ModifyIndex = index
	s.state.keys[next.Key], s.state.keysAt = next, index
	delete(s.state.graves, next.Key)
}

func (s *Server) remove(key string) { s.bury(key, s.change()) }

// clear removes what is asked for, in one write.
func (s *Server) clear(q query) {
	found, _ := s.find(q)
	index := s.change()
	for _, p := range found {
		s.bury(p.Key, index)
	}
}

func (s *Server) bury(key string, index uint64) {
	if s.state.keys[key] != nil {
		delete(s.state.keys, key)
		s.state.graves[key], s.state.keysAt = index, index
	}
}

func (s *Server) lock(key string, value []byte, id string) bool {
	if time.Now().Before(s.delays[key]) {
		return false // also to who would lock it again
	}
	index := s.change()
	next := &pair{Key: key, CreateIndex: index}
	switch p := s.state.keys[key]; {
	case p != nil && p.Session != "" && p.Session != id:
		return false
	case p != nil:
		*next = *p
	}
	if next.Session != id {
		next.LockIndex++
	}
	next.Session, next.Value = id, slices.Clone(value)
	s.store(next, index)
	return true
}

func (s *Server) unlock(key string, value []byte, id string) bool {
	p := s.state.keys[key]
	if p == nil || p.Session != id || id == "" {
		return false
	}
	next := *p
	next.Session, next.Value = "", slices.Clone(value)
	s.store(&next, s.change())
	return true
}

// current reports whether the key has that ModifyIndex; 0 stands for one that is not there.
func (s *Server) current(key string, index uint64) bool {
	p := s.state.keys[key]
	return p == nil && index == 0 || p != nil && p.ModifyIndex == index
}
