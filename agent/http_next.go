package agent

import (
	"net/http"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler"
)

// How many coming firings are listed.
const (
	defaultNext = 10
	mostNext    = 1000
)

// next lists the coming firings of a job by its schedule alone: n of them after from.
func (a *httpAPI) next(w http.ResponseWriter, r *http.Request) {
	j, ok := a.dispatcher.Job(r.PathValue("name"))
	if !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	n, from := defaultNext, time.Now()
	var err error
	if text := query.Get("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > mostNext {
			a.refuse(w, r, http.StatusBadRequest, "n must be a number from 1 to "+strconv.Itoa(mostNext))
			return
		}
	}
	if text := query.Get("from"); text != "" {
		if from, err = time.Parse(time.RFC3339Nano, text); err != nil {
			a.refuse(w, r, http.StatusBadRequest, "from must be an instant such as 2026-01-31T06:00:00Z")
			return
		}
	}
	answer := api.Next{
		Name: j.Job.Name, Enabled: j.Job.Enabled, Schedule: j.Job.ScheduleText, Timezone: api.NullString(j.Job.Timezone),
	}
	if !j.Job.Schedule.Reboot() {
		for _, o := range scheduler.Upcoming(j.Job.Schedule, j.Job.Location, from, n) {
			answer.Firings = append(answer.Firings, api.Firing{
				At: api.At(o.At), Local: o.Local.Format(time.RFC3339), Note: api.NullString(o.Note),
			})
		}
	}
	a.json(w, answer)
}
