package scheduler

import (
	"container/heap"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler/history"
)

// Reasons why a retry was given up, as they stand in the history.
const (
	abandonedMoved    = "retry abandoned: cluster ownership moved to another node"
	abandonedDisabled = "retry abandoned: the job was disabled"
	abandonedRemoved  = "retry abandoned: the job was removed from the configuration"
	abandonedStopping = "retry abandoned: the agent is stopping"
)

// deferMin is the shortest pause before a retry that was put off asks again.
const deferMin = time.Second

// retryState is the sequence of retries of one firing. All launches that belong to it
// share it: the first run, its retries, and manual starts meanwhile.
type retryState struct {
	entry     *entry
	at        time.Time // the firing's instant, for its retries
	token     uint64    // of the grant, under which they run
	count     int       // retries that were armed so far
	delay     time.Duration
	cancelled bool // ended: nothing is armed any more

	queued   bool      // a retry is with the launchers
	armed    bool      // a retry is due at some time; then:
	waiting  bool      // for the running instances to end; not in the heap
	due      time.Time // monotonic
	index    int       // in the heap
	deferred string    // why it was put off
}

// beginRetries gives a starting instance its sequence. A scheduled launch ends the one
// before and begins anew; a manual one joins what there is. mu is held.
func (d *Dispatcher) beginRetries(inst *instance) {
	e := inst.entry
	switch inst.trigger {
	case TriggerRetry:
	case TriggerManual:
		inst.retry = e.retry
	default:
		d.cancelRetry(e)
		if inst.job.Retry.Maximum != 0 {
			e.retry = &retryState{entry: e, at: inst.at(), token: inst.token}
		}
		inst.retry = e.retry
	}
}

// cancelRetry ends the job's sequence without a word. mu is held.
func (d *Dispatcher) cancelRetry(e *entry) {
	r := e.retry
	if r == nil {
		return
	}
	d.disarm(r)
	r.cancelled = true
	e.retry = nil
}

// disarm takes back an armed retry. mu is held.
func (d *Dispatcher) disarm(r *retryState) {
	if r.armed && !r.waiting {
		heap.Remove(&d.retries, r.index)
	}
	r.armed, r.waiting = false, false
}

// abandonRetry ends the job's sequence and records the attempt that will not be made, if
// one was to come. mu is held.
func (d *Dispatcher) abandonRetry(e *entry, reason string) {
	r := e.retry
	if r == nil {
		return
	}
	armed := r.armed || r.queued
	d.cancelRetry(e)
	if !armed {
		return
	}
	now := d.now()
	abandoned := &history.Run{
		ID: newRunID(now), Job: e.name, Firing: r.at, Trigger: string(TriggerRetry),
		Attempt: r.count + 1, Node: d.cfg.Node, Outcome: history.Cancelled,
		FinishedAt: now, FailReason: reason,
	}
	d.log.Warn(reason, "job", e.name, "attempt", abandoned.Attempt)
	d.records.abandoned(Event{
		Kind: RunAbandoned, At: now, Job: e.subject, RunID: abandoned.ID, Trigger: TriggerRetry,
		Firing: r.at, Attempt: abandoned.Attempt, Run: abandoned,
	})
}

// armRetry arms the next retry after a failed run of job and returns when it is due;
// zero: none is left. mu is held.
func (d *Dispatcher) armRetry(r *retryState, job *Job) (due time.Time) {
	if r == nil || r.cancelled || job.Retry.Maximum >= 0 && r.count >= job.Retry.Maximum {
		return time.Time{}
	}
	if !r.armed && !r.queued {
		r.delay = nextDelay(job.Retry, r.count, r.delay)
		r.count++
		r.deferred = ""
		d.arm(r, jittered(r.delay, job.Retry.Jitter, d.cfg.Random()))
	}
	return d.now().Add(max(0, time.Until(r.due)))
}

// arm puts a retry on the list. mu is held.
func (d *Dispatcher) arm(r *retryState, delay time.Duration) {
	r.armed, r.waiting = true, false
	r.due = time.Now().Add(delay)
	heap.Push(&d.retries, r)
	d.poke()
}

// retryWaits lets a retry wait for the end of the instances that keep it from starting.
// mu is held.
func (d *Dispatcher) retryWaits(r *retryState) { r.armed, r.waiting = true, true }

// dueRetries launches the retries whose time has come. mu is held.
func (d *Dispatcher) dueRetries(now time.Time) {
	for len(d.retries) > 0 && !d.retries[0].due.After(now) {
		r := heap.Pop(&d.retries).(*retryState)
		r.armed = false
		d.relaunch(r)
	}
}

// relaunch asks once more whether the retry belongs here, and launches it. mu is held.
func (d *Dispatcher) relaunch(r *retryState) {
	e := r.entry
	v := election.DecideRetry(e.job.ClusterPolicy, d.elect, d.view, e.name)
	f := &firing{entry: e, at: r.at, trigger: TriggerRetry}
	if held, paused := d.pausedNow(e.name, d.now()); paused && v.Action == election.Run {
		v.Action, v.Code, v.Reason = election.Defer, held.code, held.reason
	}
	switch v.Action {
	case election.Run:
		r.deferred = ""
		r.queued = true
		d.enqueue(&launch{entry: e, firing: f, trigger: TriggerRetry, attempt: r.count + 1,
			token: r.token, retry: r, verdict: of(DecidedRun, v)})
	case election.Abandon:
		d.decide(f, of(DecidedAbandoned, v))
		r.queued = true // so that abandonRetry records it
		d.abandonRetry(e, abandonedMoved)
	default:
		level := d.log.Info
		if r.deferred != "" {
			level = d.log.Debug
		}
		level("retry deferred", "job", e.name, "attempt", r.count+1, "reason", v.Reason)
		d.decide(f, of(DecidedDeferred, v))
		r.deferred = v.Reason
		d.arm(r, max(r.delay, deferMin))
	}
}

// nextDelay returns the pause before a retry after count earlier ones, the newest of
// which came after prev.
func nextDelay(r Retry, count int, prev time.Duration) time.Duration {
	if count == 0 {
		return min(r.InitialDelay, r.MaximumDelay)
	}
	next := float64(prev) * r.Multiplier
	if next >= float64(r.MaximumDelay) {
		return r.MaximumDelay
	}
	// Zero does not grow, and a multiplier below one shrinks for ever: without a
	// floor an endless sequence would end up starting processes all the time.
	floor := time.Second
	if r.InitialDelay > 0 {
		floor = min(floor, r.InitialDelay)
	}
	return min(max(time.Duration(next), floor), r.MaximumDelay)
}

// jittered shortens a delay by a random part of the share that is random; random is in
// [0, 1).
func jittered(delay time.Duration, share, random float64) time.Duration {
	return delay - time.Duration(float64(delay)*share*random)
}

// retryHeap orders armed retries by the time at which they are due.
type retryHeap []*retryState

func (h retryHeap) Len() int           { return len(h) }
func (h retryHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h retryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *retryHeap) Push(x any) {
	r := x.(*retryState)
	r.index = len(*h)
	*h = append(*h, r)
}

// Pop implements heap.Interface.
func (h *retryHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}
