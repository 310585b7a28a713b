package consuldouble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	minTTL, maxTTL = 10 * time.Second, 24 * time.Hour
	maxDelay       = time.Minute
	defaultDelay   = 15 * time.Second
)

type session struct {
	ID, Name  string
	TTL       string
	Behavior  string
	LockDelay time.Duration
	checked   bool // has its node's check
	ttl       time.Duration
}

// Holder returns the session that holds the key, "" if none does.
func (s *Server) Holder(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.state.keys[key]; p != nil {
		return p.Session
	}
	return ""
}

// Lives reports whether the session is alive.
func (s *Server) Lives(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.sessions[id] != nil
}

// Sessions returns how many sessions there are.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.sessions)
}

// LockDelay returns what the session has asked for.
func (s *Server) LockDelay(id string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.state.sessions[id]; session != nil {
		return session.LockDelay
	}
	return 0
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
		session := s.state.sessions[path[1]]
		if session == nil {
			http.Error(w, fmt.Sprintf("Session id '%s' not found", path[1]), http.StatusNotFound)
			return
		}
		s.startTimer(session)
		answer(w, http.StatusOK, []any{session})
	case path[0] == "destroy" && len(path) == 2:
		if s.options.UnknownSession && s.state.sessions[path[1]] == nil {
			http.Error(w, fmt.Sprintf("rpc error making call: Unknown session %q", path[1]), http.StatusInternalServerError)
			return
		}
		s.invalidate(path[1])
		answer(w, http.StatusOK, true)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) create(w http.ResponseWriter, body []byte) {
	var asked struct {
		Name, TTL, Behavior, LockDelay string
		Checks, NodeChecks             *[]string
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, "Request decode failed: "+err.Error(), http.StatusBadRequest)
		return
	}
	ttl, err := time.ParseDuration(asked.TTL)
	if err != nil || ttl < minTTL || ttl > maxTTL {
		http.Error(w, fmt.Sprintf("Invalid Session TTL '%s', must be between [%v=%v]", asked.TTL, minTTL, maxTTL), http.StatusInternalServerError)
		return
	}
	delay := defaultDelay
	if asked.LockDelay != "" {
		if delay, err = time.ParseDuration(asked.LockDelay); err != nil {
			http.Error(w, "Request decode failed: "+err.Error(), http.StatusBadRequest)
			return
		}
		if delay < 1000 {
			delay = time.Duration(delay.Nanoseconds()) * time.Second
		}
	}
	s.state.made++
	made := &session{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", s.state.made, s.state.made), Name: asked.Name, TTL: asked.TTL,
		Behavior: asked.Behavior, LockDelay: min(delay, maxDelay), ttl: ttl, checked: asked.Checks == nil && asked.NodeChecks == nil}
	s.state.sessions[made.ID] = made
	s.startTimer(made)
	s.change()
	answer(w, http.StatusOK, map[string]string{"ID": made.ID})
}

// startTimer begins the time of a session.
func (s *Server) startTimer(session *session) {
	if old := s.timers[session.ID]; old != nil {
		old.Stop()
	}
	after := session.ttl
	if s.options.Expiry == Late {
		after *= 2
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.timers[session.ID] != timer: // it was renewed at the same moment
		case s.stalled != nil:
			s.overdue = append(s.overdue, session.ID)
		default:
			s.invalidate(session.ID)
		}
	})
	s.timers[session.ID] = timer
}

func (s *Server) stopTimers() {
	for id, timer := range s.timers {
		timer.Stop()
		delete(s.timers, id)
	}
}

func (s *Server) startTimers() {
	for _, session := range s.state.sessions {
		s.startTimer(session)
	}
}

// invalidate ends a session and what it holds.
func (s *Server) invalidate(id string) {
	session := s.state.sessions[id]
	if session == nil {
		return
	}
	if timer := s.timers[id]; timer != nil {
		timer.Stop()
		delete(s.timers, id)
	}
	delete(s.state.sessions, id)
	index := s.change()
	for key, p := range s.state.keys {
		if p.Session != id {
			continue
		}
		if session.LockDelay > 0 {
			s.delays[key] = time.Now().Add(session.LockDelay)
		}
		if session.Behavior == "delete" {
			s.remove(key)
			continue
		}
		freed := *p
		freed.Session, freed.ModifyIndex = "", index
		s.state.keys[key], s.state.keysAt = &freed, index
	}
}
