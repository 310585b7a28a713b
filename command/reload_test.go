package command

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/yacron2/yacron2/api"
)

// serveReload answers a reload with a status.
func serveReload(t *testing.T, code int, status api.ConfigStatus) map[string]string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/reload" {
			t.Errorf("asked %s %s", r.Method, r.URL.Path)
		}
		data, err := api.Marshal(status)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(code)
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return map[string]string{envAddress: server.URL}
}

func TestReload(t *testing.T) {
	good := api.ConfigStatus{State: api.ConfigLoaded, Jobs: 2, JobSetID: someID}
	env := serveReload(t, http.StatusOK, good)
	run(t, env, "reload").expect(t, exitOK, []string{"Reloaded: 2 jobs, job set " + someID + "\n"}, nil)
	run(t, env, "reload", "-format=json").expect(t, exitOK, []string{`"state": "loaded"`, `"errors": []`}, nil)

	odd := good
	odd.Warnings = []api.Problem{{Message: "the cluster has an even size", File: "a.yaml", Line: 7}}
	run(t, serveReload(t, http.StatusOK, odd), "reload").
		expect(t, exitOK, []string{"Reloaded: "}, []string{"a.yaml:7: warning: the cluster has an even size\n"})

	bad := good
	bad.State = api.ConfigFailed
	bad.Errors = []api.Problem{
		{File: "a.yaml", Line: 3, Column: 5, Job: "backup", Message: `unknown key "comand"`, Hint: "did you mean command?", Source: "    comand: echo"},
		{File: "b.yaml", Message: "\x1b[1mnot readable"},
		{Message: "no files"},
	}
	env = serveReload(t, http.StatusUnprocessableEntity, bad)
	r := run(t, env, "reload")
	r.expect(t, exitFailed, nil, []string{"error"})
	want := `a.yaml:3:5: error: job "backup": unknown key "comand"
  3 |     comand: echo
  hint: did you mean command?
b.yaml: error: \x1b[1mnot readable
error: no files
error: refused, the old configuration stays in effect: 3 errors
`
	if r.err != want {
		t.Errorf("got\n%s\nwant\n%s", r.err, want)
	}
	run(t, env, "reload", "-format=json").expect(t, exitFailed, []string{`"state": "failed"`}, nil)
}
