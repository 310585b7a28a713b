package agent

import (
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// The outcomes of runs that are counted, in the order of their names.
var countedOutcomes = [...]history.Outcome{history.Cancelled, history.Failure, history.Success}

// jobCounts is what is counted of one job.
type jobCounts struct {
	label *dto.LabelPair // job_name, shared by many samples

	runs          [len(countedOutcomes)]uint64
	retries       uint64
	permanent     uint64 // failures without a retry left
	startFailures uint64
	missed        map[string]uint64 // by code

	buckets  []uint64 // runs up to each bound, and above the one before
	timed    uint64
	duration float64 // seconds in all

	lastSuccess, lastFailure time.Time
}

func newJobCounts(name string, bounds int) *jobCounts {
	c := &jobCounts{label: label("job_name", name)}
	c.forgetDurations(bounds)
	return c
}

func label(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: proto.String(name), Value: proto.String(value)}
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
		if c.missed == nil {
			c.missed = make(map[string]uint64)
		}
		c.missed[e.Missed.Code]++
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
