package command

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// someJobs has one job for each state.
func someJobs() []api.Job {
	failed := api.Run{
		Outcome: api.OutcomeFailure, ExitCode: new(3), StartedAt: api.At(noon.Add(-5 * time.Minute)), FinishedAt: api.At(noon.Add(-4 * time.Minute)),
		Duration: new(60.0), FailReason: "failsWhen=nonzeroReturn and retcode=3",
	}
	fine := failed
	fine.Outcome, fine.ExitCode, fine.FailReason, fine.Duration = api.OutcomeSuccess, new(0), "", new(0.0123)
	job := func(name, schedule string) api.Job {
		return api.Job{Name: name, Enabled: true, Schedule: schedule, Command: "echo " + name, UTC: true, Timezone: "UTC", PIDs: []int{}, History: []api.HistoryEntry{}}
	}
	a, b, c, d, e, f := job("backup", "0 3 * * *"), job("clean up", "@reboot"), job("digest", "@hourly"), job("epoch", "0 0 1 1 * 1999"), job("feed", "* * * * *"), job("gone", "@daily")
	a.ScheduledIn, a.LastRun, a.CaptureStdout, a.CaptureStderr = new(3*3600.0), &failed, true, true
	c.Enabled = false
	d.Timezone, d.UTC = "", false
	e.Running, e.PIDs, e.LastRun = true, []int{11, 12}, &fine
	f.Running = true
	return []api.Job{a, b, c, d, e, f}
}

func spreadJobs() []api.Job {
	jobs := someJobs()[:3]
	for i, policy := range []string{"Leader", "PreferLeader", "EveryNode"} {
		jobs[i].ClusterPolicy = policy
	}
	jobs[0].ClusterOwner = new(api.NullString("yacron-b"))
	return jobs
}

func TestJobList(t *testing.T) {
	for name, jobs := range map[string][]api.Job{"alone": someJobs(), "spread": spreadJobs()} {
		address := serve(t, map[string]any{"/jobs": jobs})
		r := run(t, nil, "job", "list", "-address", address)
		r.expect(t, exitOK, []string{"JOB"}, nil)
		golden(t, "job/list-"+name+".txt", r.out)
		r = run(t, nil, "job", "list", "-format=json", "-address", address)
		r.expect(t, exitOK, []string{"["}, nil)
		var back []api.Job
		if err := json.Unmarshal([]byte(r.out), &back); err != nil || len(back) != len(jobs) || back[0].Name != "backup" {
			t.Errorf("%s reads back as %+v (%v)", name, back, err)
		}
	}
	empty := serve(t, map[string]any{"/jobs": "[]"})
	run(t, nil, "job", "list", "-address", empty).expect(t, exitOK, []string{"This agent has no jobs.\n"}, nil)
	if r := run(t, nil, "job", "list", "-format=json", "-address", empty); r.out != "[]\n" {
		t.Errorf("no jobs are %q", r.out)
	}
}

func TestJobShow(t *testing.T) {
	answers := map[string]any{"/jobs": someJobs()}
	for _, job := range someJobs() {
		answers["/jobs/"+url.PathEscape(job.Name)] = job
	}
	address := serve(t, answers)
	for _, job := range someJobs() {
		r := run(t, nil, "job", "show", job.Name, "-address", address)
		r.expect(t, exitOK, []string{job.Command}, nil)
		golden(t, "job/show-"+strings.ReplaceAll(job.Name, " ", "-")+".txt", r.out)
	}
	run(t, nil, "job", "show", "-format=json", "-address", address, "--", "feed").expect(t, exitOK, []string{`"name": "feed"`}, nil)
	gated := serve(t, map[string]any{"/jobs/backup": spreadJobs()[0]})
	run(t, nil, "job", "show", "backup", "-address", gated).expect(t, exitOK, []string{"Policy    Leader\n", "Owner     yacron-b\n"}, nil)
	run(t, nil, "job", "show", "bakcup", "-address", address).
		expect(t, exitFailed, nil, []string{`error: the agent has no job "bakcup", did you mean "backup"?`, "hint: yacron2 job list"})
}

func TestJobHistory(t *testing.T) {
	runs := []api.Run{
		{Outcome: api.OutcomeSuccess, ExitCode: new(0), StartedAt: api.At(noon), FinishedAt: api.At(noon.Add(time.Second)), Duration: new(1.0), Trigger: "schedule", Attempt: 1, Node: "yacron-a", CPUSeconds: new(0.0421), MaxRSSBytes: 3_540_000},
		{Outcome: api.OutcomeFailure, ExitCode: new(-15), StartedAt: api.At(noon), FinishedAt: api.At(noon.Add(time.Hour)), Duration: new(3600.0), FailReason: "killed",
			Trigger: "retry", Attempt: 3, Node: "yacron-a", Notes: []string{"pipes were closed"}},
		{Outcome: api.OutcomeLost, StartedAt: api.At(noon), FinishedAt: api.At(noon.Add(2 * time.Hour)), FailReason: "the agent ended while the job was running", Trigger: "schedule", Attempt: 1, Node: "yacron-a"},
		{Outcome: api.OutcomeCancelled, FinishedAt: api.At(noon.Add(2 * time.Hour)), FailReason: "retry abandoned"},
	}
	answer := api.Runs{
		Name: "a/b", Runs: runs, Stats: api.StatsOf(runs),
		Missed: []api.Missed{{Firing: api.At(noon), At: api.At(noon), Code: "no-quorum", Reason: "1 of 3 nodes agree"}},
	}
	address := serve(t, map[string]any{"/jobs/a%2Fb/runs": answer, "/jobs/new/runs": api.Runs{Name: "new"}, "/jobs": someJobs()})
	r := run(t, nil, "job", "history", "a/b", "-address", address)
	r.expect(t, exitOK, []string{"ENDED"}, nil)
	golden(t, "job/history.txt", r.out)
	r = run(t, nil, "job", "history", "-n=1", "a/b", "-address", address)
	r.expect(t, exitOK, []string{"retry abandoned"}, nil)
	if strings.Contains(r.out, "schedule") {
		t.Errorf("-n=1 lists more:\n%s", r.out)
	}
	run(t, nil, "job", "history", "-format=json", "a/b", "-address", address).expect(t, exitOK, []string{`"name": "a/b"`, `"missed": [`}, nil)
	run(t, nil, "job", "history", "new", "-address", address).expect(t, exitOK, []string{"new: no runs yet\n"}, nil)
	run(t, nil, "job", "history", "feeed", "-address", address).expect(t, exitFailed, nil, []string{`no job "feeed", did you mean "feed"?`})
	run(t, nil, "job", "history", "-n=0", "a").expect(t, exitMisuse, nil, []string{"-n=0: write a number above 0"})
}

func TestJobRunAndCancel(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `[{"name": "backup"}]`)
			return
		}
		asked = r.Method + " " + r.URL.EscapedPath()
		switch {
		case strings.Contains(asked, "/none/"):
			http.Error(w, "404: Not Found", http.StatusNotFound)
		case strings.Contains(asked, "/off/"):
			http.Error(w, "job 'off' is disabled", http.StatusConflict)
		}
	}))
	t.Cleanup(server.Close)
	env := map[string]string{envAddress: server.URL}
	for verb, done := range map[string]string{"run": "Started", "cancel": "Cancelled"} {
		path := map[string]string{"run": "start", "cancel": "cancel"}[verb]
		run(t, env, "job", verb, "clean up").expect(t, exitOK, []string{done + " clean up at " + server.URL + ".\n"}, nil)
		if want := "POST /jobs/clean%20up/" + path; asked != want {
			t.Errorf("asked %q, want %q", asked, want)
		}
		run(t, env, "job", verb, "off").expect(t, exitFailed, nil, []string{"error: the agent says: job 'off' is disabled\n"})
		run(t, env, "job", verb, "none").expect(t, exitFailed, nil, []string{`error: the agent has no job "none"` + "\n"})
		run(t, env, "job", verb).expect(t, exitMisuse, nil, []string{"name the job"})
		run(t, env, "job", verb, "").expect(t, exitMisuse, nil, []string{"name the job"})
		run(t, env, "job", verb, "a", "b").expect(t, exitMisuse, nil, []string{`unexpected argument "b"`})
	}
}

func TestSecondsText(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 0.0123: "12ms", 0.9: "900ms", 1.26: "1.3s", 59.94: "59.9s", 61.4: "1m1s", 7322: "2h2m2s"} {
		if got := secondsText(&seconds); got != want {
			t.Errorf("%v is %q, want %q", seconds, got, want)
		}
	}
	if got := secondsText(nil); got != "" {
		t.Errorf("nothing is %q", got)
	}
}

// What is due within a second is due now: "in 0 second" says less, and is no English.
func TestStateTextOfWhatIsDue(t *testing.T) {
	for in, want := range map[float64]string{-1: "due now", 0.4: "due now", 1: "due in 1 second", 90: "due in 90 seconds"} {
		if got := stateText(&api.Job{Enabled: true, ScheduledIn: &in}); got != want {
			t.Errorf("%v gives %q, want %q", in, got, want)
		}
	}
}
