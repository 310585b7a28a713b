package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler/run"
)

// logs streams the output of the newest run of a job: what is kept of it, then what
// comes, then the end. A reader that was cut off goes on after the line that it names
// in the header Last-Event-ID, if that is of the same run. With follow=false the end
// comes after what there is.
func (a *httpAPI) logs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if _, ok := a.dispatcher.Job(name); !ok {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	once := false
	switch follow := r.URL.Query().Get("follow"); follow {
	case "", "true":
	case "false":
		once = true
	default:
		a.refuse(w, r, http.StatusBadRequest, "follow must be true or false, not "+quoteName(follow))
		return
	}
	s := a.stream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	s.begin()
	after := r.Header.Get("Last-Event-ID")
	var err error
	if log, id, ok := a.dispatcher.Logs(name); ok {
		err = follow(s, log, id, after, once)
	} else {
		err = a.replay(s, name, after)
	}
	if err != nil {
		a.log.Trace("log stream ended early", "job", name, "error", err)
	}
}

// Lines have ids for readers that are cut off after them: the run, and how many lines came
// up to this one. Of what the history keeps of a run another id is made: that counts from
// the first line that is kept.
const (
	liveLine = "-"
	keptLine = "+"
)

func lineID(run, kind string, position uint64) string {
	return run + kind + strconv.FormatUint(position, 10)
}

// positionIn returns where in the output of a run the line of an id is; false if it is of
// another one.
func positionIn(run, kind, id string) (uint64, bool) {
	text, ok := strings.CutPrefix(id, run+kind)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// follow sends every line of the log of a run until that ends, or once those that there
// are.
func follow(s *eventStream, log *run.Log, id, after string, once bool) error {
	var subscription *run.Subscription
	if position, ok := positionIn(id, liveLine, after); ok {
		subscription = log.SubscribeAfter(position)
	} else {
		subscription = log.Subscribe()
	}
	defer subscription.Close()
	for sent := 0; ; {
		wait, cancel := context.WithTimeout(s.ctx, pingInterval)
		if once {
			cancel() // lines that are there come all the same
		}
		lines, lost, err := subscription.Next(wait)
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return s.end(lineID(id, liveLine, subscription.Position()), api.LogEnd{})
		case once && (errors.Is(err, context.Canceled) && s.ctx.Err() == nil || sent >= run.LogLines):
			return s.end(lineID(id, liveLine, subscription.Position()), api.LogEnd{Reason: api.LogEndRunning})
		case errors.Is(err, context.DeadlineExceeded):
			s.comment("ping")
		case err != nil:
			return err
		case lost > 0:
			s.comment(fmt.Sprintf("%d lines were lost: this reader is too slow", lost))
		}
		first := subscription.Position() - uint64(len(lines)) + 1
		for i, line := range lines {
			event := api.LogLine{Stream: line.Stream, Line: line.Text}
			if err := s.add(lineID(id, liveLine, first+uint64(i)), api.EventLine, event); err != nil {
				return err
			}
		}
		if err := s.flush(); err != nil {
			return err
		}
		sent += len(lines)
	}
}

// replay sends what the history keeps of the newest run.
func (a *httpAPI) replay(s *eventStream, job, after string) error {
	runs := a.history.RecentRuns(job, 1)
	if len(runs) == 0 {
		return s.end("", api.LogEnd{Reason: api.LogEndNoOutput})
	}
	id := runs[0].ID
	lines, err := a.history.Output(job, id)
	if err != nil {
		return err
	}
	seen, _ := positionIn(id, keptLine, after)
	for i, line := range lines {
		if position := uint64(i) + 1; position > seen {
			if err := s.add(lineID(id, keptLine, position), api.EventLine, api.LogLine{Stream: line.Stream, Line: line.Text}); err != nil {
				return err
			}
		}
	}
	return s.end(lineID(id, keptLine, uint64(len(lines))), api.LogEnd{})
}

// end sends the last event of a log stream. Its id is that of the last line, and tells of
// a run without lines which one it was.
func (s *eventStream) end(id string, end api.LogEnd) error {
	if err := s.add(id, api.EventEnd, end); err != nil {
		return err
	}
	return s.flush()
}
