package agent

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/api"
)

// monitor streams the agent's own log: the lines of a level and above, from now on, after
// the last so many that are kept, or from the one on that the header Last-Event-ID names.
// The log tells more than the rest of the API, addresses and files among it, so it takes
// a token that may operate.
func (a *httpAPI) monitor(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	level := hclog.Info
	if query.Has("level") {
		var err error
		if level, err = parseLevel(query.Get("level")); err != nil || !slices.Contains(api.LogLevels(), level.String()) {
			a.refuse(w, r, http.StatusBadRequest, "there is no level "+quoteName(query.Get("level"))+": the levels are "+strings.Join(api.LogLevels(), ", "))
			return
		}
	}
	last, ok := a.lastOf(w, r, linesKept)
	if !ok {
		return
	}
	s := a.stream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	reader, known, release := a.agentLog.follow(level, r.Header.Get("Last-Event-ID"), last)
	defer release()
	// Logging why it ends would be a line for the others who follow.
	_ = s.follow(reader, known, linesMissing)
}

// linesMissing stands where lines are missing, 0 if nobody knows how many.
func linesMissing(lost int) told {
	line := api.AgentLine{At: api.At(time.Now()), Level: hclog.Warn.String(), Component: "monitor", Message: "lines may be missing here", Lost: &lost}
	if lost > 0 {
		line.Message = fmt.Sprintf("%d lines are missing here: whoever reads them is too slow, or was away for too long", lost)
	}
	return told{kind: api.EventLost, wire: &wireValue{value: line}}
}
