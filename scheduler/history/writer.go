package history

import (
	"context"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// How long to wait before a failed write is tried again.
const (
	retryFirst = time.Second
	retryMax   = time.Minute
)

// writer is the journal of a Memory: it gathers changes and writes them in batches,
// from one goroutine.
type writer struct {
	cfg    FileConfig
	db     *bolt.DB
	memory *Memory

	wake  chan struct{} // there is something to write
	hurry chan struct{} // someone waits for it
	quit  chan struct{}
	done  chan struct{}

	mu      sync.Mutex // guards what follows; taken after memory.mu
	pending batch
	closed  bool
	err     error // of the last write
}

var _ journal = (*writer)(nil)

func newWriter(cfg FileConfig, db *bolt.DB, memory *Memory) *writer {
	return &writer{
		cfg:    cfg,
		db:     db,
		memory: memory,
		wake:   make(chan struct{}, 1),
		hurry:  make(chan struct{}, 1),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
}

// start begins to write.
func (w *writer) start() {
	go func() { // waited for in stop
		defer close(w.done)
		w.loop()
	}()
}

// stop writes what is pending and ends. It reports false if that was done before.
func (w *writer) stop() bool {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if first {
		close(w.quit)
	}
	<-w.done
	return first
}

func (w *writer) lastErr() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// flush waits for the batch that holds everything so far.
func (w *writer) flush(ctx context.Context) error {
	outcome := make(chan error, 1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.pending.waiting = append(w.pending.waiting, outcome)
	w.mu.Unlock()
	notify(w.hurry)
	notify(w.wake)
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *writer) loop() {
	retry := retryFirst
	for quit := false; !quit; {
		quit = w.await()
		if !quit {
			quit = w.pause(w.cfg.WriteDelay)
		}
		if w.commit() {
			retry = retryFirst
			continue
		}
		if !quit {
			quit = w.pause(retry)
			if quit {
				w.commit() // once more
			}
			notify(w.wake)
			retry = min(2*retry, retryMax)
		}
	}
}

// await waits for something to write. While runs go on, that includes the sign of
// life. It reports whether the writer has to end.
func (w *writer) await() (quit bool) {
	var alive <-chan time.Time
	w.memory.mu.RLock()
	if len(w.memory.started) > 0 {
		timer := time.NewTimer(w.cfg.AliveEvery)
		defer timer.Stop()
		alive = timer.C
	}
	w.memory.mu.RUnlock()
	select {
	case <-w.wake:
	case <-alive:
	case <-w.quit:
		return true
	}
	return false
}

// pause waits unless someone is in a hurry.
func (w *writer) pause(d time.Duration) (quit bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.hurry:
	case <-w.quit:
		return true
	}
	return false
}

// commit writes the pending batch and tells who waits for it.
func (w *writer) commit() bool {
	b := w.take()
	err := guard(func() error {
		return w.db.Update(func(tx *bolt.Tx) error { return b.write(tx, w.cfg.Now()) })
	})
	w.mu.Lock()
	before := w.err
	w.err = err
	if err != nil {
		w.pending.overflow()
	}
	w.mu.Unlock()
	switch {
	case err != nil && before == nil:
		w.cfg.Logger.Error("history is not written, it goes on in memory", "file", w.cfg.Path, "error", err)
	case err == nil && before != nil:
		w.cfg.Logger.Info("history is written again", "file", w.cfg.Path)
	}
	for _, waiting := range b.waiting {
		waiting <- err
	}
	return err == nil
}

func (w *writer) take() batch {
	w.memory.mu.RLock()
	defer w.memory.mu.RUnlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.pending
	w.pending = batch{}
	if b.anew {
		b.snapshot(w.memory)
	}
	return b
}

// add makes a change to the pending batch.
func (w *writer) add(change func(*batch)) {
	w.mu.Lock()
	if !w.pending.anew {
		change(&w.pending)
		if w.pending.size++; w.pending.size > w.cfg.QueueLimit {
			w.pending.overflow()
		}
	}
	w.mu.Unlock()
	notify(w.wake)
}

func (w *writer) started(run *Run) {
	w.add(func(b *batch) { set(&b.started, run.ID, run) })
}

// ended takes a started run out of the file, or out of the batch if it never got
// into the file.
func (b *batch) ended(id string) {
	if b.started[id] != nil {
		delete(b.started, id)
		return
	}
	set(&b.started, id, nil)
}

func (w *writer) dropped(id string) { w.add(func(b *batch) { b.ended(id) }) }

func (w *writer) ran(run *kept[Run], output []Line) {
	w.add(func(b *batch) {
		b.ended(run.value.ID)
		b.runs = append(b.runs, run)
		if len(output) > 0 {
			set(&b.outputs, run.value.ID, output)
		}
	})
}

func (w *writer) forgotRun(run *kept[Run]) {
	w.add(func(b *batch) { b.forgottenRuns = append(b.forgottenRuns, run) })
}

func (w *writer) missed(missed *kept[Missed]) {
	w.add(func(b *batch) { b.missed = append(b.missed, missed) })
}

func (w *writer) forgotMissed(missed *kept[Missed]) {
	w.add(func(b *batch) { b.forgottenMissed = append(b.forgottenMissed, missed) })
}

func (w *writer) paused(job string, pause *Pause) {
	w.add(func(b *batch) { set(&b.pauses, job, pause) })
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}
