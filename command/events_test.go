package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func someEvents() []api.Event {
	about := func(kind string) api.Event {
		return api.Event{Kind: kind, At: api.At(noon), Node: "yacron-a", Job: "backup", RunID: "01", Trigger: "schedule", Firing: api.At(noon), Attempt: 1}
	}
	of := func(e api.Event) api.Event {
		e.At, e.Node = api.At(noon), "yacron-a"
		return e
	}
	started, retried, finished, abandoned := about(api.EventRunStarted), about(api.EventRunStarted), about(api.EventRunFinished), about(api.EventRunAbandoned)
	started.PID = 7
	retried.Attempt, retried.Trigger = 3, "retry"
	finished.Run = &api.Run{Outcome: api.OutcomeFailure, ExitCode: new(3), Duration: new(1.5), FailReason: "retcode=3\x1b[31m"}
	finished.RetryAt = api.At(noon.Add(time.Minute))
	abandoned.Run = &api.Run{Outcome: api.OutcomeCancelled, FailReason: "the job was removed"}
	return []api.Event{
		started, retried, finished, abandoned,
		of(api.Event{Kind: api.EventMissed, Job: "backup", Missed: &api.Missed{Firing: api.At(noon), Code: "late", Reason: "too late"}}),
		of(api.Event{Kind: api.EventRole, Role: &api.Role{Enabled: true, Leader: "yacron-a", IsLeader: true, Quorate: true}}),
		of(api.Event{Kind: api.EventRole, Role: &api.Role{Enabled: true, Leader: "yacron-b", Quorate: true, Conflict: true}}),
		of(api.Event{Kind: api.EventRole, Role: &api.Role{Enabled: true, Stopping: true}}),
		of(api.Event{Kind: api.EventRole, Role: &api.Role{Error: "address in use"}}),
		of(api.Event{Kind: api.EventRole, Role: &api.Role{}}),
		of(api.Event{Kind: api.EventMember, Member: &api.Member{Host: "b:1", NodeName: "yacron-b", Status: api.PeerAgreed, Stopping: true}}),
		of(api.Event{Kind: api.EventMember, Member: &api.Member{Host: "d:1", Status: api.PeerAgreed, Clock: &api.Clock{Ahead: 5.1, Within: 0.0001, Excessive: true}}}),
		of(api.Event{Kind: api.EventMember, Member: &api.Member{Host: "c:1", Status: api.PeerUnreachable, LastError: "refused"}}),
		of(api.Event{Kind: api.EventReload, Reload: &api.Reload{State: api.ConfigFailed, Trigger: "api", Jobs: 3, Errors: 1}}),
		of(api.Event{Kind: api.EventLost, Lost: new(3)}),
		of(api.Event{Kind: api.EventLost, Lost: new(0)}),
	}
}

func TestEvents(t *testing.T) {
	var asked, after string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, after = r.URL.RequestURI(), r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range someEvents() {
			data, err := api.Marshal(e)
			if err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprintf(w, "id: x-%d\nevent: %s\ndata: %s\n\n", i, e.Kind, data)
		}
	}))
	t.Cleanup(server.Close)
	env := map[string]string{envAddress: server.URL}
	r := run(t, env, "events")
	r.expect(t, exitFailed, []string{"run-started"}, []string{"error: no agent answers at " + server.URL + ": unexpected EOF"})
	golden(t, "events.txt", r.out)
	if asked != "/events" || after != "" {
		t.Errorf("asked %s after %q", asked, after)
	}
	r = run(t, env, "events", "-job=backup", "-kind=role,missed", "-kind=reload", "-after=x-7", "-format=json")
	if asked != "/events?job=backup&kind=role%2Cmissed%2Creload" || after != "x-7" {
		t.Errorf("asked %s after %q", asked, after)
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if len(lines) != len(someEvents()) {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		var back identified
		if err := json.Unmarshal([]byte(line), &back); err != nil || back.ID != fmt.Sprintf("x-%d", i) || back.Kind != someEvents()[i].Kind {
			t.Errorf("%s reads back as %+v (%v)", line, back, err)
		}
	}
	run(t, env, "events", "-kind=rolle").expect(t, exitMisuse, nil, []string{`there is no kind "rolle", did you mean "role"?`})
	run(t, env, "events", "now").expect(t, exitMisuse, nil, []string{`unexpected argument "now"`})
}
