package scheduler

import (
	"container/list"

	"github.com/yacron2/yacron2/scheduler/run"
)

// logBytes bounds the output that is kept of finished runs in all.
const logBytes = 64 << 20

// finishedLogs keeps the output lines of each job's newest finished run for viewers,
// those of the runs that ended last if all of them would be too much.
type finishedLogs struct {
	limit int
	total int
	order list.List // of *entry, the one that ended longest ago first
}

// finishedLog is an entry's place among them.
type finishedLog struct {
	run  string // its id
	log  *run.Log
	size int
	at   *list.Element
}

// keep replaces the entry's log by that of a run. mu of the Dispatcher is held for all
// methods.
func (f *finishedLogs) keep(e *entry, id string, log *run.Log) {
	f.drop(e)
	if log == nil {
		return
	}
	e.finished = finishedLog{run: id, log: log, size: log.Size(), at: f.order.PushBack(e)}
	f.total += e.finished.size
	for f.total > f.limit && f.order.Len() > 1 {
		f.drop(f.order.Front().Value.(*entry))
	}
}

// drop forgets the entry's log.
func (f *finishedLogs) drop(e *entry) {
	if e.finished.at == nil {
		return
	}
	f.total -= e.finished.size
	f.order.Remove(e.finished.at)
	e.finished = finishedLog{}
}

// Logs returns the output lines of the newest running instance of the job, else of the
// last one that finished, and the id of that run; false if there is none.
func (d *Dispatcher) Logs(name string) (log *run.Log, id string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[name]
	if e == nil {
		return nil, "", false
	}
	for i := len(e.instances) - 1; i >= 0; i-- {
		if inst := e.instances[i]; inst.process != nil {
			return inst.process.Log(), inst.id, true
		}
	}
	return e.finished.log, e.finished.run, e.finished.log != nil
}
