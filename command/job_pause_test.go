package command

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func TestJobPause(t *testing.T) {
	var asked, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked, body = r.Method+" "+r.URL.EscapedPath(), string(data)
		switch {
		case r.URL.Path == "/jobs":
			_, _ = io.WriteString(w, `[{"name": "backup"}]`)
		case strings.Contains(r.URL.Path, "/idle/"):
			http.Error(w, "job 'idle' is not paused", http.StatusConflict)
		case strings.Contains(r.URL.Path, "/bakcup/"):
			http.Error(w, "404: Not Found", http.StatusNotFound)
		default:
			answer, err := api.Marshal(api.Pause{Since: api.At(noon), Until: api.At(noon.Add(time.Hour)), By: "eve"})
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(server.Close)
	env := map[string]string{envAddress: server.URL, "USER": "eve"}

	run(t, env, "job", "pause", "clean up").expect(t, exitOK, []string{"Paused clean up at " + server.URL + " until 2026-03-01 13:00:00Z.\n"}, nil)
	if asked != "POST /jobs/clean%20up/pause" || body != `{"seconds":3600,"by":"eve"}` {
		t.Errorf("sent %s with %s", asked, body)
	}
	for option, seconds := range map[string]string{"90s": "90", "1.5h": "5400", "7d": "604800", "0.5d": "43200", "30d": "2592000"} {
		run(t, env, "job", "pause", "-for", option, "-note=disk is full", "-by=bob", "backup").expect(t, exitOK, []string{"Paused"}, nil)
		if want := `{"seconds":` + seconds + `,"note":"disk is full","by":"bob"}`; body != want {
			t.Errorf("-for=%s sent %s, want %s", option, body, want)
		}
	}
	run(t, env, "job", "pause", "-until=2026-03-01T20:00:00+01:00", "backup").expect(t, exitOK, []string{"Paused"}, nil)
	if want := `{"seconds":25200,"by":"eve"}`; body != want {
		t.Errorf("-until sent %s, want %s", body, want)
	}
	r := run(t, env, "job", "pause", "-format=json", "backup")
	var back api.Pause
	if err := json.Unmarshal([]byte(r.out), &back); err != nil || back.By != "eve" || !back.Until.Equal(noon.Add(time.Hour)) {
		t.Errorf("reads back as %+v (%v)", back, err)
	}
	run(t, env, "job", "resume", "backup").expect(t, exitOK, []string{"Resumed backup at " + server.URL + ".\n"}, nil)
	if asked != "POST /jobs/backup/resume" || body != "" {
		t.Errorf("sent %s with %q", asked, body)
	}
	run(t, env, "job", "resume", "idle").expect(t, exitFailed, nil, []string{"error: the agent says: job 'idle' is not paused\n"})
	for _, verb := range []string{"pause", "resume"} {
		run(t, env, "job", verb, "bakcup").expect(t, exitFailed, nil, []string{`no job "bakcup", did you mean "backup"?`})
		run(t, env, "job", verb).expect(t, exitMisuse, nil, []string{"name the job"})
		run(t, env, "job", verb, "a", "b").expect(t, exitMisuse, nil, []string{`unexpected argument "b"`})
	}
	for _, length := range []string{"", "x", "5", "-1h", "0s", "31d", "721h", "d", "NaNd", "1e300d"} {
		run(t, env, "job", "pause", "backup", "-for="+length).expect(t, exitMisuse, nil, []string{"write 1s to 30d"})
	}
	for _, until := range []string{"2026-03-01T12:00:00Z", "2026-02-28", "2026-04-01"} {
		run(t, env, "job", "pause", "backup", "-until="+until).expect(t, exitMisuse, nil, []string{"write an instant that is to come"})
	}
	run(t, env, "job", "pause", "backup", "-until=tomorrow").expect(t, exitMisuse, nil, []string{"write it like 2026"})
	run(t, env, "job", "pause", "backup", "-for=1h", "-until=2026-03-01T20:00:00Z").expect(t, exitMisuse, nil, []string{"-for and -until exclude each other"})
}

func TestPausedJobsShow(t *testing.T) {
	job := someJobs()[0]
	job.Paused = &api.Pause{Since: api.At(noon), Until: api.At(noon.Add(time.Hour)), Note: "disk is full", By: "eve"}
	endless := someJobs()[4]
	endless.Paused = &api.Pause{Since: api.At(noon)}
	env := map[string]string{envAddress: serve(t, map[string]any{"/jobs": []api.Job{job, endless}, "/jobs/backup": job, "/jobs/feed": endless})}
	run(t, env, "job", "list").expect(t, exitOK, []string{"paused until 2026-03-01 13:00:00Z"}, nil)
	run(t, env, "job", "show", "backup").expect(t, exitOK, []string{
		"State     paused until 2026-03-01 13:00:00Z\n", "Paused    until 2026-03-01 13:00:00Z by eve: disk is full\n",
	}, nil)
	run(t, env, "job", "show", "feed").expect(t, exitOK, []string{"Paused    until it is resumed\n"}, nil)
}
