package agent

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"

	"github.com/yacron2/yacron2/api"
)

// largeAnswers makes the answers that take time and memory with thousands of jobs: few at
// once, so that clients that ask as fast as they can leave at least half of the processors
// to the jobs, and each for all that ask for it until it is begun. So what such an answer
// tells is never older than the question.
type largeAnswers struct {
	slots chan struct{}

	mu      sync.Mutex
	waiting map[string]*largeAnswer // not begun yet, by what is asked for
}

// largeAnswer is what several clients wait for.
type largeAnswer struct {
	done chan struct{} // closed when the rest is set
	body []byte
	err  error
}

// errNoAnswer is what the others get if whoever makes an answer panics.
var errNoAnswer = errors.New("the answer could not be made")

func newLargeAnswers() *largeAnswers {
	return &largeAnswers{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), waiting: make(map[string]*largeAnswer)}
}

// get returns what body makes, or what it has made for another who asks for the same; an
// error of ctx if that ends before.
func (l *largeAnswers) get(ctx context.Context, what string, body func() ([]byte, error)) ([]byte, error) {
	l.mu.Lock()
	answer := l.waiting[what]
	if answer != nil {
		l.mu.Unlock()
		select {
		case <-answer.done:
			return answer.body, answer.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	answer = &largeAnswer{done: make(chan struct{}), err: errNoAnswer}
	l.waiting[what] = answer
	l.mu.Unlock()

	l.slots <- struct{}{} // whatever becomes of ctx: the others wait
	defer func() {
		<-l.slots
		close(answer.done)
	}()
	l.mu.Lock()
	delete(l.waiting, what)
	l.mu.Unlock()
	answer.body, answer.err = body()
	return answer.body, answer.err
}

// large answers 200 with what body makes for all that ask for the same path in the same
// form.
func (a *httpAPI) large(w http.ResponseWriter, r *http.Request, contentType string, body func() ([]byte, error)) {
	data, err := a.answers.get(r.Context(), r.URL.Path+" "+contentType, body)
	switch {
	case err != nil && r.Context().Err() != nil: // nobody waits for it any more
	case err != nil:
		a.log.Error("cannot encode an answer", "error", err)
		plainStatus(w, r, http.StatusInternalServerError)
	default:
		a.send(w, http.StatusOK, contentType, data)
	}
}

// largeJSON is large of a value in JSON.
func (a *httpAPI) largeJSON(w http.ResponseWriter, r *http.Request, value func() any) {
	a.large(w, r, contentTypeJSON, func() ([]byte, error) { return api.Marshal(value()) })
}
