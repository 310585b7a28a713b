package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/yacron2/yacron2/internal/exposition"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// The outcomes of runs that are counted, in the order of their names.
var countedOutcomes = [...]history.Outcome{history.Cancelled, history.Failure, history.Success}

// jobCounts is what is counted of one job.
type jobCounts struct {
	label exposition.Labels // job_name, shared by many samples; never changed

	runs          [len(countedOutcomes)]uint64
	retries       uint64
	permanent     uint64 // failures without a retry left
	startFailures uint64
	missed        []missedCount // by code, in the order of the codes

	buckets  []uint64 // runs up to each bound, and above the one before
	timed    uint64
	duration float64 // seconds in all

	lastSuccess, lastFailure time.Time
}

// missedCount counts firings that were missed for one reason.
type missedCount struct {
	code string
	n    uint64
}

func newJobCounts(name string, bounds int) *jobCounts {
	c := &jobCounts{label: exposition.AppendLabel(nil, "job_name", name)}
	c.forgetDurations(bounds)
	return c
}

// forgetDurations begins the histogram anew.
func (c *jobCounts) forgetDurations(bounds int) {
	c.buckets, c.timed, c.duration = make([]uint64, bounds), 0, 0
}

// observe counts an event of the job.
func (c *jobCounts) observe(e scheduler.Event, bounds []float64) {
	switch e.Kind {
	case scheduler.RunStarted, scheduler.StartFailed:
		if e.Trigger == scheduler.TriggerRetry {
			c.retries++
		}
		if e.Kind == scheduler.StartFailed {
			c.startFailures++
		}
	case scheduler.RunFinished, scheduler.RunAbandoned:
		if e.Run != nil {
			c.recorded(e.Run, bounds)
		}
		if e.Permanent {
			c.permanent++
		}
	case scheduler.FiringMissed:
		i, found := slices.BinarySearchFunc(c.missed, e.Missed.Code, func(m missedCount, code string) int { return cmp.Compare(m.code, code) })
		if !found {
			c.missed = slices.Insert(c.missed, i, missedCount{code: e.Missed.Code})
		}
		c.missed[i].n++
	}
}

// recorded counts a run that entered the history.
func (c *jobCounts) recorded(r *history.Run, bounds []float64) {
	if i := slices.Index(countedOutcomes[:], r.Outcome); i >= 0 {
		c.runs[i]++
	}
	c.remember(*r)
	took, ok := r.Duration()
	if !ok {
		return
	}
	seconds := took.Seconds()
	c.timed++
	c.duration += seconds
	for i, bound := range bounds {
		if seconds <= bound {
			c.buckets[i]++
			break
		}
	}
}

// remember keeps when a run ended, if it is the newest of its outcome.
func (c *jobCounts) remember(r history.Run) {
	switch {
	case r.Outcome == history.Success && r.FinishedAt.After(c.lastSuccess):
		c.lastSuccess = r.FinishedAt
	case r.Outcome == history.Failure && r.FinishedAt.After(c.lastFailure):
		c.lastFailure = r.FinishedAt
	}
}

// copies copies counts so that their owner may go on counting. Of a job the slices in the
// copy are parts of arrays that all jobs share.
type copies struct {
	jobs    []jobCounts
	buckets []uint64
}

func (c *copies) add(counts *jobCounts) {
	k := *counts
	k.missed = slices.Clone(k.missed)
	from := len(c.buckets)
	c.buckets = append(c.buckets, k.buckets...)
	k.buckets = c.buckets[from:]
	c.jobs = append(c.jobs, k)
}
