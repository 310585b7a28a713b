package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
func (s JobStatus) String() string {
	text := s.state()
	switch {
	case s.Paused == nil:
		return text
	case s.Paused.Until.IsZero():
		return text + ", paused until it is resumed"
	}
	return text + ", paused until " + s.Paused.Until.UTC().Format(time.RFC3339)
}

// state is String without a pause.
func (s JobStatus) state() string {
	switch {
	case s.Status == StatusRunning:
		pids := make([]string, len(s.PIDs))
		for i, pid := range s.PIDs {
			pids[i] = strconv.Itoa(pid)
		}
		return fmt.Sprintf("%s: running (pid: %s)", s.Job, strings.Join(pids, ", "))
	case s.Status != StatusScheduled:
		return s.Job + ": " + s.Status
	case s.Reboot:
		return s.Job + ": scheduled (" + rebootText + ")"
	case s.ScheduledIn == nil:
		return s.Job + ": scheduled (never fires)"
	}
	return fmt.Sprintf("%s: scheduled (%s)", s.Job, In(*s.ScheduledIn))
}

// In says in words how far away a number of seconds is: "in 14 seconds". The figure
// is cut, never rounded up, and below zero counts as zero.
func In(seconds float64) string {
	seconds = max(seconds, 0)
	value, unit := seconds, "second"
	switch {
	case seconds >= 48*3600:
		value, unit = seconds/86400, "day"
	case seconds >= 120*60:
		value, unit = seconds/3600, "hour"
	case seconds >= 120:
		value, unit = seconds/60, "minute"
	}
	if value >= 2 {
		unit += "s"
	}
	return fmt.Sprintf("in %d %s", int64(value), unit)
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
	lines := make([]string, len(jobs))
	for i, j := range jobs {
		lines[i] = j.String()
	}
	return strings.Join(lines, "\n")
}
