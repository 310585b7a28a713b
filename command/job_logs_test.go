package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestJobLogs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := ""
		if r.URL.Path == "/jobs/a b/logs" && r.URL.RawQuery == "follow=false" {
			_, _ = io.WriteString(w, "event: line\ndata: {\"stream\": \"stdout\", \"line\": \"one\"}\n\nevent: end\ndata: {\"reason\": \"running\"}\n\n")
			return
		}
		switch r.URL.EscapedPath() {
		case "/jobs/a%20b/logs":
			text = "event: line\ndata: {\"stream\": \"stdout\", \"line\": \"one\"}\n\n: ping\n\n" +
				"event: line\ndata: {\"stream\": \"stderr\", \"line\": \"two\"}\n\n" +
				"event: line\ndata: {\"stream\": \"stdout\", \"line\": \"\"}\n\nevent: end\ndata: {}\n\n"
		case "/jobs/new/logs":
			text = "event: end\ndata: {\"reason\": \"no-output\"}\n\n"
		case "/jobs/cut/logs":
			text = "event: line\ndata: {\"stream\": \"stdout\", \"line\": \"one\"}\n\n"
		case "/jobs/odd/logs":
			text = "event: line\ndata: 5\n\n"
		case "/jobs":
			w.Header().Set("Content-Type", "application/json")
			text = `[{"name": "new"}]`
		default:
			http.Error(w, "404: Not Found", http.StatusNotFound)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{envAddress: server.URL}
	if r := run(t, env, "job", "logs", "-f", "a b"); r != (result{exitOK, "one\n\n", "two\n"}) {
		t.Errorf("got %+v", r)
	}
	if r := run(t, env, "job", "logs", "a b"); r != (result{exitOK, "one\n", ""}) {
		t.Errorf("so far: got %+v", r)
	}
	run(t, env, "job", "logs", "new").expect(t, exitOK, nil, []string{"new has not run at " + server.URL + " yet"})
	run(t, env, "job", "logs", "cut").expect(t, exitFailed, []string{"one\n"}, []string{"no agent answers"})
	run(t, env, "job", "logs", "odd").expect(t, exitFailed, nil, []string{"not the answer of a yacron2 agent"})
	run(t, env, "job", "logs", "nw").expect(t, exitFailed, nil, []string{`no job "nw", did you mean "new"?`})
	run(t, env, "job", "logs").expect(t, exitMisuse, nil, []string{"name the job"})
}
