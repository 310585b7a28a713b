package agent

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler/history"
)

// Bounds of a pause. It ends by itself, so that a job that somebody forgot runs again.
const (
	defaultPause = time.Hour
	longestPause = 30 * 24 * time.Hour
	maxPauseNote = 500 // characters
	maxPauseBy   = 100
)

// pause keeps a job from firing on this node for a time.
func (a *httpAPI) pause(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	request, problem := pauseRequest(r.Body)
	if problem != "" {
		a.refuse(w, r, http.StatusBadRequest, problem)
		return
	}
	length := defaultPause
	if request.Seconds != nil {
		length = time.Duration(*request.Seconds * float64(time.Second))
	}
	now := time.Now().UTC().Round(0)
	p := history.Pause{Job: name, Since: now, Until: now.Add(length), Note: request.Note, By: request.By}
	if p.By == "" {
		p.By = tokenOf(r)
	}
	if err := a.dispatcher.PauseJob(p); err != nil {
		a.acted(w, r, name, err)
		return
	}
	a.json(w, apiPause(p))
}

// resume ends the pause of a job.
func (a *httpAPI) resume(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	a.acted(w, r, name, a.dispatcher.ResumeJob(name))
}

// pauseRequest reads the body of a request, which may be empty, or says in words what
// is wrong with it.
func pauseRequest(body io.Reader) (request api.PauseRequest, problem string) {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&request)
	if errors.Is(err, io.EOF) {
		return request, ""
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	switch {
	case err != nil:
		return request, "the body must be JSON with seconds, note and by, or empty: " + err.Error()
	case request.Seconds != nil && !(*request.Seconds >= 1 && *request.Seconds <= longestPause.Seconds()):
		return request, "seconds must be 1 to 2592000, which is 30 days"
	case utf8.RuneCountInString(request.Note) > maxPauseNote:
		return request, "the note is too long: 500 characters at most"
	case utf8.RuneCountInString(request.By) > maxPauseBy:
		return request, "by is too long: 100 characters at most"
	}
	return request, ""
}

func apiPause(p history.Pause) api.Pause {
	return api.Pause{Since: api.At(p.Since), Until: api.At(p.Until), Note: api.NullString(p.Note), By: api.NullString(p.By)}
}
