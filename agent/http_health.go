package agent

import (
	"errors"
	"net/http"

	"github.com/yacron2/yacron2/api"
)

// The paths for probes, which need no token: they tell nothing but that all is well.
const (
	pathHealth = "/health"
	pathReady  = "/ready"
)

// health answers as long as the scheduler does: a caller that gets no answer has an
// agent to restart.
func (a *httpAPI) health(w http.ResponseWriter, r *http.Request) {
	a.dispatcher.Job("")
	a.answerHealth(w, r, nil)
}

// readiness answers 200 while the agent does its work. That its cluster has no quorum
// is no reason for it not to: nothing would get better by taking it out of service.
func (a *httpAPI) readiness(w http.ResponseWriter, r *http.Request) {
	a.dispatcher.Job("")
	a.answerHealth(w, r, a.ready())
}

func (a *httpAPI) answerHealth(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case err != nil && wantsJSON(r):
		a.jsonStatus(w, http.StatusServiceUnavailable, api.Health{Reason: err.Error()})
	case err != nil:
		a.refuse(w, r, http.StatusServiceUnavailable, err.Error())
	case wantsJSON(r):
		a.json(w, api.Health{OK: true})
	default:
		a.text(w, "ok")
	}
}

// Why an agent is not ready.
var (
	errNotStarted = errors.New("the agent has not started yet")
	errStopping   = errors.New("the agent is stopping")
)

// Where an agent is in its life, as probes see it.
const (
	notStarted int32 = iota
	inService
	outOfService
)

// ready reports why the agent does not do its work; nil if it does. Its configuration
// was loaded before it was made.
func (a *Agent) ready() error {
	switch a.service.Load() {
	case notStarted:
		return errNotStarted
	case outOfService:
		return errStopping
	}
	return nil
}
