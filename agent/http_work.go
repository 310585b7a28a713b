package agent

import (
	"context"
	"net/http"
	"runtime"

	"github.com/yacron2/yacron2/api"
)

// workSlots bounds how many answers that take time and memory, with thousands of jobs,
// are made at once: clients that ask as fast as they can wait for each other, and leave
// at least half of the processors to the jobs.
type workSlots chan struct{}

func newWorkSlots() workSlots { return make(workSlots, max(1, runtime.GOMAXPROCS(0)/2)) }

// do works in a slot, or returns false if ctx ends before there is one.
func (s workSlots) do(ctx context.Context, work func()) bool {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s }()
	work()
	return true
}

// large answers 200 with what is made in a slot, and sent outside of it.
func (a *httpAPI) large(w http.ResponseWriter, r *http.Request, contentType string, body func() ([]byte, error)) {
	var data []byte
	var err error
	if !a.work.do(r.Context(), func() { data, err = body() }) {
		return // nobody waits for it any more
	}
	if err != nil {
		a.log.Error("cannot encode an answer", "error", err)
		plainStatus(w, r, http.StatusInternalServerError)
		return
	}
	a.send(w, http.StatusOK, contentType, data)
}

// largeJSON is large of a value in JSON.
func (a *httpAPI) largeJSON(w http.ResponseWriter, r *http.Request, value func() any) {
	a.large(w, r, contentTypeJSON, func() ([]byte, error) { return api.Marshal(value()) })
}
