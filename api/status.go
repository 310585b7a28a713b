package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The states of a job in GET /status.
const (
	StatusRunning   = "running"
	StatusDisabled  = "disabled"
	StatusScheduled = "scheduled"
)

// rebootText stands for a time in the schedule of a one-shot.
const rebootText = "@reboot"

// JobStatus is one entry of GET /status.
type JobStatus struct {
	Job    string
	Status string // running, disabled or scheduled
	// PIDs lists the started processes; on the wire while running only.
	PIDs []int
	// Reboot marks a one-shot, which has no next firing; the wire's scheduled_in is
	// then the text @reboot.
	Reboot bool
	// ScheduledIn is the time to the next firing in seconds, nil if there is none;
	// on the wire while scheduled only.
	ScheduledIn *float64
	// Paused is set while a pause keeps the job from firing; its next firing may be
	// within it or after it.
	Paused *Pause
}

// String returns the line of the text form: the job's name and state.
func (s JobStatus) String() string { return string(s.appendText(nil)) }

// appendText appends what String returns.
func (s *JobStatus) appendText(out []byte) []byte {
	out = append(append(out, s.Job...), ": "...)
	switch {
	case s.Status == StatusRunning:
		out = append(out, "running (pid: "...)
		for i, pid := range s.PIDs {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = strconv.AppendInt(out, int64(pid), 10)
		}
		out = append(out, ')')
	case s.Status != StatusScheduled:
		out = append(out, s.Status...)
	case s.Reboot:
		out = append(out, "scheduled ("+rebootText+")"...)
	case s.ScheduledIn == nil:
		out = append(out, "scheduled (never fires)"...)
	default:
		out = append(appendIn(append(out, "scheduled ("...), *s.ScheduledIn), ')')
	}
	switch {
	case s.Paused == nil:
		return out
	case s.Paused.Until.IsZero():
		return append(out, ", paused until it is resumed"...)
	}
	return s.Paused.Until.UTC().AppendFormat(append(out, ", paused until "...), time.RFC3339)
}

// In says in words how far away a number of seconds is: "in 14 seconds". The figure
// is cut, never rounded up, and below zero counts as zero.
func In(seconds float64) string { return string(appendIn(nil, seconds)) }

func appendIn(out []byte, seconds float64) []byte {
	seconds = max(seconds, 0)
	value, unit := seconds, " second"
	switch {
	case seconds >= 48*3600:
		value, unit = seconds/86400, " day"
	case seconds >= 120*60:
		value, unit = seconds/3600, " hour"
	case seconds >= 120:
		value, unit = seconds/60, " minute"
	}
	out = strconv.AppendInt(append(out, "in "...), int64(value), 10)
	out = append(out, unit...)
	if value >= 2 {
		out = append(out, 's')
	}
	return out
}

// jobStatusWire is JobStatus as its JSON keys, each present in some states only.
type jobStatusWire struct {
	Job         string          `json:"job"`
	Status      string          `json:"status"`
	PID         *[]int          `json:"pid,omitempty"`
	ScheduledIn json.RawMessage `json:"scheduled_in,omitempty"`
	Paused      *Pause          `json:"paused,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s JobStatus) MarshalJSON() ([]byte, error) {
	w := jobStatusWire{Job: s.Job, Status: s.Status, Paused: s.Paused}
	switch {
	case s.Status == StatusRunning:
		pids := s.PIDs
		if pids == nil {
			pids = []int{}
		}
		w.PID = &pids
	case s.Status != StatusScheduled:
	case s.Reboot:
		w.ScheduledIn = json.RawMessage(`"` + rebootText + `"`)
	default:
		in, err := json.Marshal(s.ScheduledIn)
		if err != nil {
			return nil, err
		}
		w.ScheduledIn = in
	}
	return encode(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *JobStatus) UnmarshalJSON(data []byte) error {
	var w jobStatusWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = JobStatus{Job: w.Job, Status: w.Status, Paused: w.Paused}
	if w.PID != nil {
		s.PIDs = *w.PID
	}
	switch {
	case len(w.ScheduledIn) == 0:
	case string(w.ScheduledIn) == `"`+rebootText+`"`:
		s.Reboot = true
	default:
		if err := json.Unmarshal(w.ScheduledIn, &s.ScheduledIn); err != nil {
			return fmt.Errorf("scheduled_in of job %q: %w", w.Job, err)
		}
	}
	return nil
}

// StatusText returns the text form of GET /status: one line per job, without a final
// newline.
func StatusText(jobs []JobStatus) string {
	var out []byte
	for i := range jobs {
		if i > 0 {
			out = append(out, '\n')
		}
		out = jobs[i].appendText(out)
	}
	return string(out)
}
