package agent

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/yacron2/yacron2/api"
)

// eventsKept is how many of the newest events are kept: how far a reader may fall
// behind, or be away, without losing any.
const eventsKept = 4096

// eventLog keeps the newest events for any number of readers. Each reads at its own
// pace from the one ring, so that a reader costs nothing but itself, and a slow one
// loses the oldest events and is told so.
type eventLog struct {
	epoch string // of the ids: tells this process's events from those of any other

	mu   sync.Mutex
	ring []loggedEvent // the newest, oldest first from start on
	next uint64        // number of the next event; from 0
	wake chan struct{} // closed when one comes; nil while nobody waits
}

// loggedEvent is an event as it is sent.
type loggedEvent struct {
	kind, job string
	wire      *wireEvent
}

// wireEvent is encoded for the first of its readers: most events have none.
type wireEvent struct {
	once  sync.Once
	event *api.Event // nil once it is encoded
	data  []byte
	err   error
}

// bytes returns the event in one line of JSON.
func (w *wireEvent) bytes() ([]byte, error) {
	w.once.Do(func() {
		w.data, w.err = api.Marshal(w.event)
		w.event = nil
	})
	return w.data, w.err
}

func newEventLog(epoch string) *eventLog { return &eventLog{epoch: epoch} }

// add appends an event, which must not be changed any more.
func (l *eventLog) add(e *api.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	logged := loggedEvent{kind: e.Kind, job: e.Job, wire: &wireEvent{event: e}}
	if len(l.ring) < eventsKept {
		l.ring = append(l.ring, logged)
	} else {
		l.ring[l.next%eventsKept] = logged
	}
	l.next++
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// eventFilter is what a reader wants.
type eventFilter struct {
	job   string          // "": of all jobs, and those that are of none
	kinds map[string]bool // nil: all
}

func (f eventFilter) wants(e *loggedEvent) bool {
	return (f.job == "" || f.job == e.job) && (f.kinds == nil || f.kinds[e.kind])
}

// eventReader is one reader's place in the log.
type eventReader struct {
	log    *eventLog
	filter eventFilter
	cursor uint64 // number of the next event to look at
}

// numberedEvent is an event with its id.
type numberedEvent struct {
	id string
	loggedEvent
}

// reader begins after the event of an id, or with what comes if there is none. known is
// false for an id that is not of this log: nobody knows what its reader has missed.
func (l *eventLog) reader(filter eventFilter, after string) (r *eventReader, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r = &eventReader{log: l, filter: filter, cursor: l.next}
	if after == "" {
		return r, true
	}
	epoch, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != l.epoch || n >= l.next {
		return r, false
	}
	r.cursor = n + 1
	return r, true
}

// eventBatch bounds how many events one take returns.
const eventBatch = 256

// wait returns some events that the reader wants, and how many were lost before them,
// wanted or not. If there are none it waits until something happens, which need not be
// what the reader wants.
func (r *eventReader) wait(ctx context.Context) (events []numberedEvent, lost int, err error) {
	events, lost, wake := r.take()
	if len(events) > 0 || lost > 0 {
		return events, lost, nil
	}
	select {
	case <-wake:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	events, lost, _ = r.take()
	return events, lost, nil
}

func (r *eventReader) take() (events []numberedEvent, lost int, wake <-chan struct{}) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.next - uint64(len(l.ring)); r.cursor < oldest {
		lost = int(oldest - r.cursor)
		r.cursor = oldest
	}
	for ; r.cursor < l.next && len(events) < eventBatch; r.cursor++ {
		if e := &l.ring[r.cursor%eventsKept]; r.filter.wants(e) {
			events = append(events, numberedEvent{l.id(r.cursor), *e})
		}
	}
	if r.cursor == l.next && l.wake == nil {
		l.wake = make(chan struct{})
	}
	return events, lost, l.wake
}

func (l *eventLog) id(n uint64) string { return l.epoch + "-" + strconv.FormatUint(n, 10) }
