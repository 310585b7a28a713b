package simcluster

import (
	"time"

	"github.com/yacron2/yacron2/internal/simfault"
)

// inflict lets a fault come about at its time.
func (w *world) inflict(f simfault.Fault) {
	m := w.machines[f.A]
	switch f.Kind {
	case simfault.Crash:
		w.plan(f.At, m.crash)
		w.plan(f.At+f.Last, m.start)
	case simfault.Grant:
		w.plan(f.At, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			m.doomed = true
		})
		w.plan(f.At+f.Last, func() {
			w.mu.Lock()
			m.doomed = false
			w.mu.Unlock()
			m.start()
		})
	case simfault.Stop:
		limit := 2 * time.Second
		if w.sc.Long {
			limit = 12 * time.Second
		}
		w.plan(f.At, func() { m.stop(min(limit, f.Last)) })
		w.plan(f.At+f.Last, m.start)
	case simfault.Freeze:
		w.plan(f.At, func() { m.freeze(f.Last) })
	case simfault.Clock:
		w.plan(f.At, func() { m.setClock(f.By) })
		w.plan(f.At+f.Last, func() { m.setClock(-f.By) })
	case simfault.Reload:
		w.plan(f.At, func() { m.reload(f.Version) })
	case simfault.Roll:
		for i, m := range w.machines {
			w.plan(f.At+time.Duration(i)*f.Last/time.Duration(len(w.machines)), func() { m.reload(f.Version) })
		}
	}
}
