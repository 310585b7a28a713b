package scheduler

import (
	"container/heap"
	"slices"
	"time"
)

const (
	// maxMissed bounds the missed firings that a Batch lists for one job.
	maxMissed = 20
	// maxPast bounds what Past lists. It covers a job that fires every second over
	// the longest startingDeadline.
	maxPast = 1000
	// A clock set back by less than this repeats nothing of a job that fires less
	// often than that.
	smallStep = time.Minute
)

// Batch is everything that is due at one instant.
type Batch struct {
	At   time.Time // the scheduled instant, UTC
	Jobs []*Job    // in configuration order
	// Missed has the older firings of Jobs that came due in the same call: of each
	// job only the newest firing is in a batch.
	Missed []Missed
}

// Missed are the firings of one job that a newer due firing stands for.
type Missed struct {
	Job      *Job
	At       []time.Time // the newest ones, ascending, UTC
	Unlisted int64       // how many more there were before At[0]
}

// Timetable knows which job is due when. It reads no clock: every method that needs
// the time is told. It is for one goroutine.
//
// Instants are compared by the wall clock. A Due or Replace with an earlier instant
// than the one before means that the clock was set back: a job whose schedule has
// fixed hour and minute then waits for its first instant that was not handed out
// yet, any other job goes on from the new time at once. Steps back of less than a
// minute, and of less than the job's own period, repeat nothing either.
type Timetable struct {
	now       time.Time
	positions map[identity]*position // all enabled jobs but @reboot
	queue     positionQueue          // those that have a coming one
}

// identity tells whether a job of a new configuration is the same to the timetable.
type identity struct{ name, schedule, zone string }

func identityOf(job *Job) identity {
	zone := job.Timezone
	if zone == "" && job.Location != nil {
		zone = job.Location.String()
	}
	return identity{job.Name, job.Schedule.Canonical(), zone}
}

// NewTimetable makes a timetable whose first firings are those after now. Disabled
// and @reboot jobs never appear in it.
func NewTimetable(jobs []*Job, now time.Time) *Timetable {
	t := &Timetable{now: wallClock(now)}
	t.Replace(jobs, now)
	return t
}

// Next returns the earliest coming firing, or the zero time if there is none. It may
// lie before the instant of the last Replace: then Due has something to hand out.
func (t *Timetable) Next() time.Time {
	if len(t.queue) == 0 {
		return time.Time{}
	}
	return t.queue[0].next
}

// NextOf returns the coming firing of a job, or the zero time if there is none.
func (t *Timetable) NextOf(job *Job) time.Time {
	if p := t.positions[identityOf(job)]; p != nil {
		return p.next
	}
	return time.Time{}
}

// Due returns what has come due since the call before, ascending by instant. Whatever
// the distance to that call, each job is in one batch at most.
func (t *Timetable) Due(now time.Time) []Batch {
	now = wallClock(now)
	t.observe(now)
	var due []dueFiring
	for len(t.queue) > 0 && !t.queue[0].next.After(now) {
		p := t.queue[0]
		due = append(due, p.take(now))
		if p.next.IsZero() {
			heap.Pop(&t.queue)
		} else {
			heap.Fix(&t.queue, 0)
		}
	}
	slices.SortFunc(due, func(a, b dueFiring) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.index - b.index
	})
	var batches []Batch
	for _, f := range due {
		if n := len(batches); n == 0 || !batches[n-1].At.Equal(f.at) {
			batches = append(batches, Batch{At: f.at})
		}
		b := &batches[len(batches)-1]
		b.Jobs = append(b.Jobs, f.missed.Job)
		if len(f.missed.At) > 0 {
			b.Missed = append(b.Missed, f.missed)
		}
	}
	return batches
}

// Replace swaps the jobs. A job whose name, schedule and zone stay the same keeps its
// position, so that a reload neither loses nor doubles a firing; any other begins
// after now. What is due of jobs that go or change is lost unless Due was called
// first.
func (t *Timetable) Replace(jobs []*Job, now time.Time) {
	now = wallClock(now)
	t.observe(now)
	old := t.positions
	t.positions = make(map[identity]*position, len(jobs))
	t.queue = make(positionQueue, 0, len(jobs))
	for i, job := range jobs {
		if !job.Enabled || job.Schedule.Reboot() {
			continue
		}
		id := identityOf(job)
		p := old[id]
		if p == nil {
			p = &position{held: now}
			p.next = job.Schedule.Next(now, job.Location)
		}
		p.job, p.index = job, i
		t.positions[id] = p
		if !p.next.IsZero() {
			t.queue = append(t.queue, p)
		}
	}
	heap.Init(&t.queue)
}

// HeldSince returns since when the timetable has held this very (name, schedule,
// zone), across any number of calls of Replace, or the zero time if it does not: the
// job is unknown, disabled or @reboot.
func (t *Timetable) HeldSince(job *Job) time.Time {
	if p := t.positions[identityOf(job)]; p != nil {
		return p.held
	}
	return time.Time{}
}

// Past lists the firings of a job in (from, to], ascending, none from before the
// timetable held the job. Of more than 1,000 it lists the newest.
func (t *Timetable) Past(job *Job, from, to time.Time) []time.Time {
	p := t.positions[identityOf(job)]
	if p == nil {
		return nil
	}
	from, to = wallClock(from), wallClock(to)
	if from.Before(p.held) {
		from = p.held
	}
	at, _ := job.Schedule.Newest(from, to, job.Location, maxPast)
	return at
}

// observe notes the time and whether the clock was set back.
func (t *Timetable) observe(now time.Time) {
	if now.Before(t.now) {
		t.queue = t.queue[:0]
		for _, p := range t.positions {
			p.setBack(now)
			if !p.next.IsZero() {
				t.queue = append(t.queue, p)
			}
		}
		heap.Init(&t.queue)
	}
	t.now = now
}

// wallClock drops the monotonic reading, which would win in comparisons.
func wallClock(t time.Time) time.Time { return t.Round(0).UTC() }

// positionQueue is a heap of positions by their next firing.
type positionQueue []*position

func (q positionQueue) Len() int           { return len(q) }
func (q positionQueue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q positionQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *positionQueue) Push(x any)        { *q = append(*q, x.(*position)) }
func (q *positionQueue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return p
}
