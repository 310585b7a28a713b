package agent

import (
	"net/http"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// why tells what became of a job's firings on this node, or of the one that the
// parameter at names, and why.
func (a *httpAPI) why(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	job, ok := a.dispatcher.Job(name)
	if !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	var at time.Time
	if text := r.URL.Query().Get("at"); text != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			a.refuse(w, r, http.StatusBadRequest, "at must be an instant such as 2026-01-31T06:00:00Z")
			return
		}
	}
	asked := func(first, last time.Time) bool {
		return at.IsZero() || !at.Before(first) && !at.After(last)
	}
	answer := api.Why{Name: name, Node: a.node}
	if at.IsZero() {
		answer.Now = a.whyNow(job)
	}
	for _, d := range a.dispatcher.Decisions(name) {
		if asked(d.First, d.Firing) {
			answer.Decisions = append(answer.Decisions, apiDecision(d))
		}
	}
	for _, m := range a.history.Missed(name, shownMissed) {
		if asked(m.Firing, m.Firing) {
			answer.Missed = append(answer.Missed, apiMissed(m))
		}
	}
	for _, run := range a.history.Runs(name) {
		if asked(run.Firing, run.Firing) {
			answer.Runs = append(answer.Runs, apiRun(run))
		}
	}
	a.json(w, answer)
}

// whyNow is the verdict on a firing that was due now.
func (a *httpAPI) whyNow(job scheduler.JobStatus) *api.WhyNow {
	if !job.Job.Enabled {
		return &api.WhyNow{Action: election.Skip.String(), Code: "disabled", Reason: "the job is disabled"}
	}
	if p, ok := a.history.Pause(job.Job.Name); ok && p.Active(time.Now()) {
		return &api.WhyNow{Action: election.Skip.String(), Code: scheduler.CodePaused, Reason: scheduler.PauseText(p)}
	}
	d := election.Decide(job.Job.ClusterPolicy, a.settings().elect, a.coordination.View(), job.Job.Name)
	return &api.WhyNow{Action: d.Action.String(), Code: d.Code, Reason: d.Reason, Owner: api.NullString(d.Owner)}
}

func apiDecision(d scheduler.Decided) api.Decision {
	return api.Decision{
		First: api.At(d.First), Firing: api.At(d.Firing), Count: d.Count, At: api.At(d.At), Trigger: string(d.Trigger),
		Outcome: d.Outcome, Code: d.Code, Reason: d.Reason, Owner: api.NullString(d.Owner),
	}
}
