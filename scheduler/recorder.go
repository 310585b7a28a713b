package scheduler

import (
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/scheduler/history"
)

// recorderLimit bounds what waits for a slow disk or receiver. A tick in which each of
// 10,000 jobs is decided about fits several times.
const recorderLimit = 65536

// recorder writes down what did not run and tells of everything, in order, from one
// goroutine, so that no tick waits for a disk or for a receiver.
type recorder struct {
	history History
	receive func(Event)
	log     hclog.Logger

	mu      sync.Mutex
	queue   []record
	dropped int
	ended   bool

	wake chan struct{}
	done chan struct{}
}

// record is what is written or told: an event, and what of it belongs into the history.
type record struct {
	event  Event
	missed *history.Missed
	run    *history.Run
}

func newRecorder(h History, receive func(Event), log hclog.Logger) *recorder {
	return &recorder{
		history: h,
		receive: receive,
		log:     log,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
}

func (r *recorder) start() { go r.work() }

// stop writes what is queued and ends the goroutine.
func (r *recorder) stop() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.signal()
	<-r.done
}

func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// event queues an event that leaves no record.
func (r *recorder) event(e Event) {
	if r.receive != nil {
		r.add(record{event: e})
	}
}

// missed queues a firing that did not run.
func (r *recorder) missed(e Event) { r.add(record{event: e, missed: e.Missed}) }

// abandoned queues a retry that was given up.
func (r *recorder) abandoned(e Event) { r.add(record{event: e, run: e.Run}) }

func (r *recorder) add(rec record) {
	r.mu.Lock()
	if len(r.queue) >= recorderLimit {
		r.dropped++
	} else {
		r.queue = append(r.queue, rec)
	}
	r.mu.Unlock()
	r.signal()
}

func (r *recorder) work() {
	defer close(r.done)
	var batch []record
	for {
		r.mu.Lock()
		batch, r.queue = r.queue, batch[:0]
		dropped, ended := r.dropped, r.ended
		r.dropped = 0
		r.mu.Unlock()
		if dropped > 0 {
			r.log.Warn("history or event receivers are too slow, records were dropped", "dropped", dropped)
		}
		for i := range batch {
			r.write(&batch[i])
			batch[i] = record{}
		}
		if len(batch) > 0 {
			continue
		}
		if ended {
			return
		}
		if cap(batch) > 1024 {
			batch = nil // what a burst took is given back
		}
		<-r.wake
	}
}

func (r *recorder) write(rec *record) {
	var err error
	switch {
	case rec.missed != nil:
		err = r.history.AddMissed(*rec.missed)
	case rec.run != nil:
		err = r.history.AddRun(*rec.run)
	}
	if err != nil {
		r.log.Error("history not written", "job", rec.event.Job.Name, "error", err)
	}
	if r.receive != nil {
		r.receive(rec.event)
	}
}
