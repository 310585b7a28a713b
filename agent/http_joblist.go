package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// jobListIdle is how long the parts of an answer are kept that nobody asks for.
const jobListIdle = time.Minute

// jobList writes the answer of /jobs. Dashboards ask for it all the time, while of most
// jobs only the countdown is new; so what an entry tells besides is encoded once, and
// again when something has happened to the job.
type jobList struct {
	mu    sync.Mutex
	parts []jobPart // in the order of the jobs in the newest answer
	size  int       // of the newest answer
	idle  *time.Timer
}

// jobPart is an entry around what changes all the time.
type jobPart struct {
	of         jobState
	head, tail []byte
}

// jobState is what head and tail of an entry tell of.
type jobState struct {
	job    *scheduler.Job // never changed, but replaced
	policy string         // "" without election
	owned  bool
	owner  api.NullString
	pause  history.Pause // zero: none
	last   lastRun
}

// lastRun tells one newest run from the next. All that is shown of the history follows
// from it.
type lastRun struct {
	id       string
	finished time.Time
	outcome  history.Outcome
	attempt  int
}

// The fields of an entry that change all the time, as they are where a part is encoded:
// a job that does not run and is not due. Within the texts of an entry quotes are escaped,
// so this is found nowhere else in it.
var idleFields = []byte(`"running":false,"pids":[],"scheduled_in":null,`)

func (a *httpAPI) jobs(w http.ResponseWriter, r *http.Request) {
	a.large(w, r, contentTypeJSON, func() ([]byte, error) {
		return a.list.append(a.dispatcher.Jobs(), time.Now(), a.settings().elect, a.coordination.View(), a.history)
	})
}

// append returns the answer.
func (l *jobList) append(jobs []scheduler.JobStatus, now time.Time, elect bool, view *election.View, runs historyReader) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = time.AfterFunc(jobListIdle, l.forget)
	}
	l.idle.Reset(jobListIdle)
	if len(l.parts) > len(jobs) {
		l.parts = append([]jobPart(nil), l.parts[:len(jobs)]...)
	}
	out := append(make([]byte, 0, l.size+l.size/16+64*len(jobs)), '[')
	for i := range jobs {
		j := &jobs[i]
		if i == len(l.parts) {
			l.parts = append(l.parts, jobPart{})
		}
		part := &l.parts[i]
		if state := stateOfJob(j, elect, view); part.head == nil || part.of != state {
			var err error
			if part.head, part.tail, err = encodePart(*j, elect, view, runs); err != nil {
				return nil, err
			}
			part.of = state
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, part.head...)
		out = appendFields(out, j, now)
		out = append(out, part.tail...)
	}
	out = append(out, ']')
	l.size = len(out)
	return out, nil
}

// forget gives the memory back that only dashboards need.
func (l *jobList) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts, l.size = nil, 0
}

func stateOfJob(j *scheduler.JobStatus, elect bool, view *election.View) jobState {
	s := jobState{job: j.Job}
	if elect {
		s.policy = string(j.Job.ClusterPolicy)
		if owner := clusterOwner(j.Job, view); owner != nil {
			s.owned, s.owner = true, *owner
		}
	}
	if j.Pause != nil {
		s.pause = *j.Pause
	}
	if r := j.LastRun; r != nil {
		s.last = lastRun{r.ID, r.FinishedAt, r.Outcome, r.Attempt}
	}
	return s
}

// encodePart encodes an entry as if its job did not run and were not due.
func encodePart(j scheduler.JobStatus, elect bool, view *election.View, runs historyReader) (head, tail []byte, err error) {
	j.Running, j.PIDs, j.NextAt = false, nil, time.Time{}
	data, err := api.Marshal(apiJob(j, time.Time{}, elect, view, runs))
	if err != nil {
		return nil, nil, err
	}
	head, tail, ok := bytes.Cut(data, idleFields)
	if !ok {
		return nil, nil, errors.New("an entry of the list of jobs has other fields than are known")
	}
	return head, tail, nil
}

// appendFields writes the fields that change all the time.
func appendFields(out []byte, j *scheduler.JobStatus, now time.Time) []byte {
	out = append(out, `"running":`...)
	out = strconv.AppendBool(out, j.Running)
	out = append(out, `,"pids":[`...)
	for i, pid := range j.PIDs {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(pid), 10)
	}
	out = append(out, `],"scheduled_in":`...)
	if in, ok := untilNext(j, now); ok {
		out = appendNumber(out, in)
	} else {
		out = append(out, "null"...)
	}
	return append(out, ',')
}

// appendNumber writes a number as package json does.
func appendNumber(out []byte, f float64) []byte {
	if f == 0 || f >= 1e-6 && f < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	text, err := json.Marshal(f)
	if err != nil { // not finite, which no time is
		return append(out, "null"...)
	}
	return append(out, text...)
}
