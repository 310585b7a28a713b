package agent

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
)

// How many coming firings are listed.
const (
	defaultNext = 10
	mostNext    = 1000
)

// mostParameters is more than a preview has.
const mostParameters = 16

// next lists the coming firings of a job by its schedule alone: n of them after from.
func (a *httpAPI) next(w http.ResponseWriter, r *http.Request) {
	j, ok := a.dispatcher.Job(r.PathValue("name"))
	if !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	n, from, problem := listing(r.URL.Query())
	if problem != "" {
		a.refuse(w, r, http.StatusBadRequest, problem)
		return
	}
	a.json(w, api.Next{
		Name: j.Job.Name, Enabled: j.Job.Enabled, Schedule: j.Job.ScheduleText, Timezone: api.NullString(j.Job.Timezone),
		Firings: apiFirings(j.Job, from, n), ConcurrencyPolicy: string(j.Job.ConcurrencyPolicy),
		DayMatch: string(j.Job.DayMatch),
	})
}

// listing reads from a query how many firings are listed, and after which instant; or it
// returns what is wrong there.
func listing(query url.Values) (n int, from time.Time, problem string) {
	n, from = defaultNext, time.Now()
	var err error
	if text := query.Get("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > mostNext {
			return 0, from, "n must be a number from 1 to " + strconv.Itoa(mostNext)
		}
	}
	if text := query.Get("from"); text != "" {
		if from, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return 0, from, "from must be an instant such as 2026-01-31T06:00:00Z"
		}
	}
	return n, from, ""
}

// preview says when a schedule that no job has would fire. The parameters are those of
// listing, and the keys of a job that say when it fires.
func (a *httpAPI) preview(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		a.refuse(w, r, http.StatusBadRequest, "the query is not encoded as it must be: "+err.Error())
		return
	}
	n, from, problem := listing(query)
	if len(query) > mostParameters {
		problem = "there are more than " + strconv.Itoa(mostParameters) + " parameters"
	}
	if problem != "" {
		a.refuse(w, r, http.StatusBadRequest, problem)
		return
	}
	answer, diags := Preview(given(query), a.planned(), from, n)
	if !diags.HasErrors() {
		a.json(w, answer)
		return
	}
	errs := diags.Errors()
	if !wantsJSON(r) {
		a.refuse(w, r, http.StatusBadRequest, errs.Reasons())
		return
	}
	a.jsonStatus(w, http.StatusBadRequest, api.ScheduleError{Error: errs.Reasons(), Problems: parameterProblems(errs)})
}

// given are the parameters of a query that say when a job fires, in an order that does not
// change from one request to the next.
func given(query url.Values) []config.Given {
	var list []config.Given
	for key, values := range query {
		if key == "n" || key == "from" {
			continue
		}
		for _, text := range values {
			list = append(list, config.Given{Key: key, Text: text})
		}
	}
	slices.SortStableFunc(list, func(a, b config.Given) int { return cmp.Compare(a.Key, b.Key) })
	return list
}
