package agent

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// Limits of the lists in answers.
const (
	shownHistory = 20 // entries of history in /jobs
	shownMissed  = 50 // missed firings in /jobs/{name}/runs
)

// historyReader is what the API reads of the history.
type historyReader interface {
	Runs(job string) []history.Run // oldest first
	RecentRuns(job string, n int) []history.Run
	Output(job, id string) ([]history.Line, error)
	Missed(job string, n int) []history.Missed
	Pause(job string) (history.Pause, bool)
}

func (a *httpAPI) status(w http.ResponseWriter, r *http.Request) {
	list := func() []api.JobStatus {
		now := time.Now()
		jobs := a.dispatcher.Jobs()
		list := make([]api.JobStatus, len(jobs))
		for i, j := range jobs {
			list[i] = jobStatus(j, now)
		}
		return list
	}
	if wantsJSON(r) {
		a.largeJSON(w, r, func() any { return list() })
		return
	}
	a.large(w, r, contentTypeText, func() ([]byte, error) { return []byte(api.StatusText(list())), nil })
}

// jobStatus says which of the three states a job is in; running comes first.
func jobStatus(j scheduler.JobStatus, now time.Time) api.JobStatus {
	s := api.JobStatus{Job: j.Job.Name, Status: api.StatusScheduled}
	switch {
	case j.Running:
		s.Status, s.PIDs = api.StatusRunning, j.PIDs
	case !j.Job.Enabled:
		s.Status = api.StatusDisabled
	case j.Job.Schedule.Reboot():
		s.Reboot = true
	default:
		s.ScheduledIn = scheduledIn(&j, now)
	}
	if j.Pause != nil {
		s.Paused = new(apiPause(*j.Pause))
	}
	return s
}

// untilNext is the time to the next firing in seconds; there is none while the job runs,
// is disabled, or never fires again.
func untilNext(j *scheduler.JobStatus, now time.Time) (seconds float64, ok bool) {
	if j.Running || !j.Job.Enabled || j.NextAt.IsZero() {
		return 0, false
	}
	return max(j.NextAt.Sub(now), 0).Seconds(), true
}

// scheduledIn is untilNext in its wire form.
func scheduledIn(j *scheduler.JobStatus, now time.Time) *float64 {
	if in, ok := untilNext(j, now); ok {
		return &in
	}
	return nil
}

// job tells of one job what jobs tells of all.
func (a *httpAPI) job(w http.ResponseWriter, r *http.Request) {
	j, ok := a.dispatcher.Job(r.PathValue("name"))
	if !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	a.json(w, apiJob(j, time.Now(), a.settings().elect, a.coordination.View(), a.history))
}

func apiJob(j scheduler.JobStatus, now time.Time, elect bool, view *election.View, history historyReader) api.Job {
	out := api.Job{
		Name:          j.Job.Name,
		Enabled:       j.Job.Enabled,
		Schedule:      j.Job.ScheduleText,
		Command:       commandText(j.Job.Command),
		CaptureStdout: j.Job.CaptureStdout,
		CaptureStderr: j.Job.CaptureStderr,
		UTC:           j.Job.UTC,
		Timezone:      api.NullString(j.Job.Timezone),
		Running:       j.Running,
		PIDs:          append([]int{}, j.PIDs...),
		ScheduledIn:   scheduledIn(&j, now),
		History:       []api.HistoryEntry{},
	}
	runs := history.RecentRuns(j.Job.Name, shownHistory)
	if n := len(runs); n > 0 {
		out.LastRun = new(apiRun(runs[n-1]))
		out.History = make([]api.HistoryEntry, n)
		for i, r := range runs {
			out.History[i] = api.HistoryEntry{Outcome: string(r.Outcome), Duration: duration(r)}
		}
	}
	if j.Pause != nil {
		out.Paused = new(apiPause(*j.Pause))
	}
	if elect {
		out.ClusterPolicy = string(j.Job.ClusterPolicy)
		out.ClusterOwner = clusterOwner(j.Job, view)
	}
	return out
}

// clusterOwner names the node that owns a gated job under spread. It is nil where no
// job has an owner of its own.
func clusterOwner(j *scheduler.Job, view *election.View) *api.NullString {
	if view == nil || view.Distribution() != election.Spread || view.Lease() != nil {
		return nil
	}
	switch j.ClusterPolicy {
	case election.Leader:
		return new(api.NullString(view.JobOwner(j.Name)))
	case election.PreferLeader:
		return new(api.NullString(view.AvailableOwner(j.Name)))
	}
	return nil
}

func commandText(c scheduler.Command) string {
	if c.Argv != nil {
		return strings.Join(c.Argv, " ")
	}
	return c.Line
}

// took is how long a run took in seconds, unless nothing was started or nobody knows when
// it ended.
func took(r *history.Run) (seconds float64, ok bool) {
	if r.StartedAt.IsZero() || r.Outcome == history.Lost {
		return 0, false
	}
	return max(r.FinishedAt.Sub(r.StartedAt), 0).Seconds(), true
}

// duration is took in its wire form.
func duration(r history.Run) *float64 {
	if seconds, ok := took(&r); ok {
		return &seconds
	}
	return nil
}

func apiRun(r history.Run) api.Run {
	out := api.Run{
		Outcome:    string(r.Outcome),
		ExitCode:   r.ExitCode,
		StartedAt:  api.At(r.StartedAt),
		FinishedAt: api.At(r.FinishedAt),
		Duration:   duration(r),
		FailReason: api.NullString(r.FailReason),
		ID:         r.ID,
		Firing:     api.At(r.Firing),
		Trigger:    r.Trigger,
		Attempt:    r.Attempt,
		Node:       r.Node,
		Notes:      r.Notes,

		MaxRSSBytes: r.MaxRSS,
	}
	if cpu := r.UserCPU + r.SystemCPU; cpu > 0 {
		out.CPUSeconds = new(cpu.Seconds())
	}
	return out
}

func (a *httpAPI) runs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if _, ok := a.dispatcher.Job(name); !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	answer := api.Runs{Name: name, Runs: []api.Run{}}
	for _, run := range a.history.Runs(name) {
		answer.Runs = append(answer.Runs, apiRun(run))
	}
	answer.Stats = api.StatsOf(answer.Runs)
	for _, m := range a.history.Missed(name, shownMissed) {
		answer.Missed = append(answer.Missed, apiMissed(m))
	}
	a.json(w, answer)
}

func apiMissed(m history.Missed) api.Missed {
	return api.Missed{Firing: api.At(m.Firing), At: api.At(m.At), Code: m.Code, Reason: m.Reason}
}

func (a *httpAPI) start(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a.acted(w, r, name, a.dispatcher.StartJob(r.Context(), name))
}

func (a *httpAPI) cancel(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a.acted(w, r, name, a.dispatcher.CancelJob(r.Context(), name))
}

// acted answers a manual request: an empty 200, or why it was refused.
func (a *httpAPI) acted(w http.ResponseWriter, r *http.Request, name string, err error) {
	switch {
	case err == nil:
		a.send(w, http.StatusOK, "application/octet-stream", nil)
	case errors.Is(err, scheduler.ErrUnknownJob):
		plainStatus(w, r, http.StatusNotFound)
	case errors.Is(err, scheduler.ErrDisabled):
		a.refuse(w, r, http.StatusConflict, "job "+quoteName(name)+" is disabled")
	case errors.Is(err, scheduler.ErrNotRunning):
		a.refuse(w, r, http.StatusConflict, "job "+quoteName(name)+" is not running")
	case errors.Is(err, scheduler.ErrNotPaused):
		a.refuse(w, r, http.StatusConflict, "job "+quoteName(name)+" is not paused")
	case errors.Is(err, scheduler.ErrStopping):
		a.refuse(w, r, http.StatusServiceUnavailable, "the agent is stopping: start the job on another node")
	default:
		a.log.Error("manual request failed", "job", name, "error", err)
		a.refuse(w, r, http.StatusInternalServerError, err.Error())
	}
}

// quoteName puts a job name into single quotes, or into double quotes if it holds a
// single one and no double one.
func quoteName(name string) string {
	if strings.Contains(name, "'") && !strings.Contains(name, `"`) {
		return `"` + name + `"`
	}
	return "'" + name + "'"
}
