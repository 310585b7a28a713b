package realstore

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The whole of it in one test, since each server takes seconds and 300 MB.
func TestAPIServer(t *testing.T) {
	s := StartAPIServer(t)
	n := s.Namespace(t)
	token := n.Account(t, "agent", LeaderRules("leader")...)
	lease := func(name, holder, version string) object {
		meta := object{"name": name}
		if version != "" {
			meta["resourceVersion"] = version
		}
		return object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta,
			"spec": object{"holderIdentity": holder}}
	}
	expect := func(what string, want int, token, method, path string, o any) []byte {
		t.Helper()
		code, answer := s.Request(t, token, method, path, o)
		if code != want {
			t.Errorf("%s: %d %s, want %d", what, code, answer, want)
		}
		return answer
	}
	expect("a create", http.StatusCreated, token, http.MethodPost, n.LeasePath(""), lease("leader", "a", ""))
	expect("one more", http.StatusConflict, token, http.MethodPost, n.LeasePath(""), lease("leader", "b", ""))
	expect("another's read", http.StatusForbidden, token, http.MethodGet, n.LeasePath("other"), nil)
	expect("a stranger's read", http.StatusUnauthorized, "no token", http.MethodGet, n.LeasePath("leader"), nil)

	var got struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(expect("a read", http.StatusOK, token, http.MethodGet, n.LeasePath("leader"), nil), &got); err != nil {
		t.Fatal(err)
	}
	version := got.Metadata.ResourceVersion
	expect("an update", http.StatusOK, token, http.MethodPut, n.LeasePath("leader"), lease("leader", "b", version))
	expect("a stale update", http.StatusConflict, token, http.MethodPut, n.LeasePath("leader"), lease("leader", "c", version))

	n.SetRules(t, "agent", token, Rule{Verbs: []string{"get"}})
	expect("a read by another rule", http.StatusNotFound, token, http.MethodGet, n.LeasePath("other"), nil)
	expect("an update without one", http.StatusForbidden, token, http.MethodPut, n.LeasePath("leader"), lease("leader", "d", ""))

	s.Pause(t)
	if _, _, err := s.request(t.Context(), token, http.MethodGet, n.LeasePath("leader"), nil); err == nil {
		t.Error("a stopped server has answered")
	}
	s.Resume(t)
	s.Kill()
	s.Start(t)
	s.AwaitReady(t)
	if answer := expect("a read after a restart", http.StatusOK, token, http.MethodGet, n.LeasePath("leader"), nil); !strings.Contains(string(answer), `"holderIdentity":"b"`) {
		t.Errorf("after a restart the Lease is %s", answer)
	}
}
