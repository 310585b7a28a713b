package agent

import (
	"context"
	"errors"
	"net/http"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
)

// shownProblems bounds the lists of errors and warnings in an answer.
const shownProblems = 50

func (a *httpAPI) configStatus(w http.ResponseWriter, _ *http.Request) {
	a.json(w, a.apiConfigStatus())
}

// reloadConfig reads the configuration again. Files with errors give 422 with what is
// wrong with them.
func (a *httpAPI) reloadConfig(w http.ResponseWriter, r *http.Request) {
	// A client that goes away does not leave half a reload behind.
	err := a.reload(context.WithoutCancel(r.Context()))
	if errors.Is(err, ErrStopped) {
		a.refuse(w, r, http.StatusServiceUnavailable, "the agent is stopping")
		return
	}
	status := http.StatusOK
	if err != nil {
		status = http.StatusUnprocessableEntity
	}
	a.jsonStatus(w, status, a.apiConfigStatus())
}

func (a *httpAPI) apiConfigStatus() api.ConfigStatus {
	loaded, s := a.loaded(), a.settings()
	out := api.ConfigStatus{
		State:    api.ConfigLoaded,
		Trigger:  string(loaded.trigger),
		At:       api.At(loaded.at),
		LoadedAt: api.At(loaded.loadedAt),
		JobSetID: s.jobSetID,
		Jobs:     s.jobs,
		Reloads:  loaded.reloads,
		Failures: loaded.failures,
		Warnings: apiProblems(loaded.problems.Warnings()),
	}
	if loaded.failure == nil {
		return out
	}
	out.State = api.ConfigFailed
	if out.Errors = apiProblems(loaded.problems.Errors()); len(out.Errors) == 0 {
		out.Errors = []api.Problem{{Message: loaded.failure.Error()}}
	}
	return out
}

func apiProblems(diags config.Diagnostics) []api.Problem {
	var list []api.Problem
	for _, d := range diags[:min(len(diags), shownProblems)] {
		list = append(list, api.Problem{
			File: d.File, Line: d.Line, Column: d.Column, Job: d.Job,
			Key: d.Key, Message: d.Message, Hint: d.Hint, Source: d.Source,
		})
	}
	return list
}
