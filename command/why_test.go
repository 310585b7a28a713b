package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func someReasons() api.Why {
	at := func(minutes int) api.Instant { return api.At(noon.Add(time.Duration(minutes) * time.Minute)) }
	return api.Why{
		Name: "backup", Node: "yacron-a",
		Now: &api.WhyNow{Action: "skip", Code: "not-leader", Reason: "yacron-b leads", Owner: "yacron-b"},
		Decisions: []api.Decision{
			{Count: 1, At: at(-90), Trigger: "reboot", Outcome: "retired", Code: "removed", Reason: "it ran elsewhere"},
			{First: at(-60), Firing: at(-60), Count: 1, At: at(-60), Trigger: "schedule", Outcome: "run", Code: "granted", Reason: "2 of 3 nodes granted it", Owner: "yacron-a"},
			{First: at(-50), Firing: at(-10), Count: 5, At: at(-10), Trigger: "schedule", Outcome: "skipped", Code: "not-leader", Reason: "yacron-b leads", Owner: "yacron-b"},
		},
		Missed: []api.Missed{{Firing: at(-70), At: at(-69), Code: "no-quorum", Reason: "1 of 3 nodes agree"}},
		Runs: []api.Run{{
			Outcome: api.OutcomeSuccess, ExitCode: new(0), StartedAt: at(-60), FinishedAt: at(-59), Duration: new(60.0),
			Trigger: "schedule", Attempt: 1, Node: "yacron-a", Firing: at(-60),
		}},
	}
}

// What a whole cluster suffers from is told by another command.
func TestWhyNamesTheNextQuestion(t *testing.T) {
	for _, test := range []struct {
		now  api.WhyNow
		next bool
	}{
		{api.WhyNow{Action: "skip", Code: "no-quorum", Reason: "1 of 3 nodes agree"}, true},
		{api.WhyNow{Action: "skip", Code: "conflict", Reason: "two names"}, true},
		{api.WhyNow{Action: "skip", Code: "no-manager", Reason: "not running"}, true},
		{api.WhyNow{Action: "run", Code: "no-manager", Reason: "a PreferLeader job runs anyway"}, false},
		{api.WhyNow{Action: "skip", Code: "not-leader", Reason: "yacron-b leads"}, false},
		{api.WhyNow{Action: "run", Code: "leader", Reason: "this node leads"}, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			data, err := api.Marshal(api.Why{Name: "backup", Node: "yacron-a", Now: &test.now})
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(data)
		}))
		t.Cleanup(server.Close)
		r := run(t, nil, "why", "-address", server.URL, "backup")
		r.expect(t, exitOK, []string{test.now.Reason}, nil)
		if next := strings.Contains(r.out, "Ask next    yacron2 members"); next != test.next {
			t.Errorf("%s, %s: members is named: %v", test.now.Action, test.now.Code, next)
		}
	}
}

func TestWhy(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI()
		answer := someReasons()
		if r.URL.RawQuery != "" {
			answer = api.Why{Name: "backup", Node: "yacron-a"}
		}
		data, err := api.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{envAddress: server.URL}

	r := run(t, env, "why", "backup")
	r.expect(t, exitOK, []string{"If due now  skip, yacron-b owns it (not-leader): yacron-b leads\n"}, nil)
	golden(t, "job/why.txt", r.out)
	if asked != "/jobs/backup/why" {
		t.Errorf("asked for %s", asked)
	}

	for _, instant := range []string{"2026-03-01T11:00:00Z", "2026-03-01T12:00:00+01:00", "2026-03-01 11:00:00Z"} {
		r = run(t, env, "why", "backup", "-at", instant)
		r.expect(t, exitOK, []string{"Firing  2026-03-01 11:00:00Z\n", "Nothing is known here of this firing"}, nil)
		if asked != "/jobs/backup/why?at=2026-03-01T11%3A00%3A00Z" {
			t.Errorf("asked for %s", asked)
		}
	}

	r = run(t, env, "why", "backup", "-format=json")
	r.expect(t, exitOK, []string{"{"}, nil)
	var back api.Why
	if err := json.Unmarshal([]byte(r.out), &back); err != nil || len(back.Decisions) != 3 || back.Now.Owner != "yacron-b" {
		t.Errorf("reads back as %+v (%v)", back, err)
	}
}

func TestWhyOfNothing(t *testing.T) {
	address := serve(t, map[string]any{"/jobs": someJobs(), "/jobs/new/why": api.Why{Name: "new", Node: "yacron-a"}})
	run(t, nil, "why", "new", "-address", address).expect(t, exitOK, []string{"No firing of it has come due on this node yet.\n"}, nil)
	run(t, nil, "why", "feeed", "-address", address).
		expect(t, exitFailed, nil, []string{`error: the agent has no job "feeed", did you mean "feed"?`, "hint: yacron2 job list"})
	run(t, nil, "why").expect(t, exitMisuse, nil, []string{"name the job"})
	run(t, nil, "why", "a", "b").expect(t, exitMisuse, nil, []string{`unexpected argument "b"`})
	run(t, nil, "why", "a", "-at=now").expect(t, exitMisuse, nil, []string{"write it like 2026-03-29T01:30:00Z"})
}
