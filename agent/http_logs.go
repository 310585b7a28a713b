package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler/run"
)

// logs streams the output of the newest run of a job: what is kept of it, then what
// comes, then the end.
func (a *httpAPI) logs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if _, ok := a.dispatcher.Job(name); !ok {
		plainStatus(w, http.StatusNotFound)
		return
	}
	s := a.stream(w, r)
	defer s.close()
	if r.Method == http.MethodHead {
		return
	}
	log, ok := a.dispatcher.Logs(name)
	if !ok {
		var end api.LogEnd
		if len(a.history.Runs(name)) == 0 {
			end.Reason = api.LogEndNoOutput
		}
		_ = s.send(api.EventEnd, end)
		return
	}
	if err := follow(s, log); err != nil {
		a.log.Trace("log stream ended early", "job", name, "error", err)
	}
}

// follow sends every line of a log until its run ends.
func follow(s *eventStream, log *run.Log) error {
	subscription := log.Subscribe()
	defer subscription.Close()
	for {
		wait, cancel := context.WithTimeout(s.ctx, pingInterval)
		lines, lost, err := subscription.Next(wait)
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return s.send(api.EventEnd, api.LogEnd{})
		case errors.Is(err, context.DeadlineExceeded):
			err = s.comment("ping")
		case err == nil && lost > 0:
			err = s.comment(fmt.Sprintf("%d lines were lost: this reader is too slow", lost))
		}
		if err != nil {
			return err
		}
		events := make([]any, len(lines))
		for i, line := range lines {
			events[i] = api.LogLine{Stream: line.Stream, Line: line.Text}
		}
		if err := s.send(api.EventLine, events...); err != nil {
			return err
		}
	}
}
