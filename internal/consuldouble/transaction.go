package consuldouble

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// maxOperations is how many operations a transaction may have. Newer servers take twice
// as many.
const maxOperations = 64

// operation is one step of a transaction as the API takes it.
type operation struct {
	Verb, Key string
	Value     []byte
	Index     uint64
	Session   string
}

type failure struct {
	OpIndex int
	What    string
}

// transaction does all operations or none.
func (s *Server) transaction(w http.ResponseWriter, body []byte) {
	if len(body) > maxValue {
		http.Error(w, fmt.Sprintf("Request body too large, max size: %d bytes", maxValue), http.StatusRequestEntityTooLarge)
		return
	}
	var asked []struct{ KV *operation }
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, "Failed to parse body: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(asked) > maxOperations {
		http.Error(w, fmt.Sprintf("Transaction contains too many operations (%d > %d)", len(asked), maxOperations), http.StatusRequestEntityTooLarge)
		return
	}
	// Nothing is done before everything is known to be possible: no operation that this
	// double takes depends on an earlier one of the same transaction.
	var failures []failure
	for i, op := range asked {
		what := "no operation specified"
		if op.KV != nil {
			what = s.refuses(op.KV)
		}
		if what != "" {
			failures = append(failures, failure{i, what})
		}
	}
	if len(failures) > 0 {
		answer(w, http.StatusConflict, map[string]any{"Results": nil, "Errors": failures})
		return
	}
	index := s.change()
	for _, op := range asked {
		switch op.KV.Verb {
		case "set", "cas":
			s.put(op.KV.Key, op.KV.Value, index)
		case "delete":
			s.bury(op.KV.Key, index)
		}
	}
	answer(w, http.StatusOK, map[string]any{"Results": []any{}, "Errors": nil})
}

// refuses returns why the operation would fail, "" if it would not.
func (s *Server) refuses(op *operation) string {
	if s.denied[op.Key] {
		return "Permission denied: token with AccessorID '00000000-0000-0000-0000-000000000002' lacks permission 'key:write' on \"" + op.Key + "\""
	}
	p := s.state.keys[op.Key]
	switch op.Verb {
	case "set", "delete":
		return ""
	case "check-session":
		switch {
		case p == nil:
			return fmt.Sprintf("failed to check session, key %q is not there", op.Key)
		case p.Session != op.Session:
			return fmt.Sprintf("failed session check for key %q, current session %q != %q", op.Key, p.Session, op.Session)
		}
		return ""
	case "cas":
		if !s.current(op.Key, op.Index) {
			return fmt.Sprintf("failed to set key %q, index is stale", op.Key)
		}
		return ""
	}
	return fmt.Sprintf("unknown KV verb %q", op.Verb)
}
