package api

// Job is one entry of GET /jobs.
type Job struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	// Schedule is the configured text unchanged; the map form as its fields.
	Schedule string `json:"schedule"`
	// Command is the command line; an argument list is joined by single spaces.
	Command       string `json:"command"`
	CaptureStdout bool   `json:"captureStdout"`
	CaptureStderr bool   `json:"captureStderr"`
	// UTC is as configured, true by default even where a timezone is set.
	UTC bool `json:"utc"`
	// Timezone is an IANA name; null for local time that has no such name.
	Timezone NullString `json:"timezone"`
	Running  bool       `json:"running"`
	// PIDs lists the processes that exist; it may be empty while Running is true. It
	// must not be nil when written.
	PIDs []int `json:"pids"`
	// ScheduledIn is the time to the next firing in seconds; null if disabled,
	// running, @reboot or never.
	ScheduledIn *float64 `json:"scheduled_in"`
	// LastRun is the newest finished run, null before the first.
	LastRun *Run `json:"last_run"`
	// History holds the last 20 finished runs at most, oldest first. It must not be
	// nil when written.
	History []HistoryEntry `json:"history"`
	// ClusterPolicy is absent unless leader election is configured.
	ClusterPolicy string `json:"clusterPolicy,omitempty"`
	// ClusterOwner is absent (nil) unless jobs are spread over the nodes by a
	// running backend and the policy gates this one; null (empty) without an owner.
	ClusterOwner *NullString `json:"clusterOwner,omitempty"`
	// Paused is absent unless a pause keeps the job from firing on this node.
	Paused *Pause `json:"paused,omitempty"`
}

// HistoryEntry is a finished run in short.
type HistoryEntry struct {
	Outcome  string   `json:"outcome"`
	Duration *float64 `json:"duration"` // as in Run
}

// The outcomes of a run.
const (
	OutcomeSuccess   = "success"
	OutcomeFailure   = "failure"
	OutcomeCancelled = "cancelled"
	// OutcomeLost is that of a run that went on when the agent died: nobody knows how
	// it ended.
	OutcomeLost = "lost"
)

// Run is one finished run.
type Run struct {
	Outcome string `json:"outcome"`
	// ExitCode is the exit status: -N if signal N ended the process, 127 or 126 if
	// it could not be started, -100 after a time-out, null if there was no process.
	ExitCode   *int       `json:"exit_code"`
	StartedAt  Instant    `json:"started_at"` // null for an abandoned retry
	FinishedAt Instant    `json:"finished_at"`
	Duration   *float64   `json:"duration"`    // seconds; null if StartedAt is, and for a lost run
	FailReason NullString `json:"fail_reason"` // null on success

	// The rest is absent where it is not known.
	ID      string   `json:"run_id,omitempty"`
	Firing  Instant  `json:"firing,omitzero"`   // scheduled instant
	Trigger string   `json:"trigger,omitempty"` // schedule, late, retry, reboot, manual
	Attempt int      `json:"attempt,omitempty"` // from 1
	Node    string   `json:"node,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// What the process used, with all those that it waited for.
	CPUSeconds  *float64 `json:"cpu_seconds,omitempty"`
	MaxRSSBytes int64    `json:"max_rss_bytes,omitempty"` // of the largest of them; known if it is above the agent's own
}

// Missed is a firing that did not run, and why.
type Missed struct {
	Firing Instant `json:"firing"`
	At     Instant `json:"at"`     // when it was given up
	Code   string  `json:"code"`   // short cause for programs, such as no-quorum
	Reason string  `json:"reason"` // in words
}

// Runs is the answer to GET /jobs/{name}/runs.
type Runs struct {
	Name  string `json:"name"`
	Runs  []Run  `json:"runs"` // 50 at most, oldest first
	Stats Stats  `json:"stats"`
	// Missed is absent if nothing was missed.
	Missed []Missed `json:"missed,omitempty"`
}

// runsWire is Runs without its methods.
type runsWire Runs

// MarshalJSON implements json.Marshaler.
func (r Runs) MarshalJSON() ([]byte, error) {
	r.Runs = orEmpty(r.Runs)
	return encode(runsWire(r))
}

// Stats sums up retained runs. Durations are in seconds.
type Stats struct {
	Total     int `json:"total"`
	Success   int `json:"success"`
	Failure   int `json:"failure"`
	Cancelled int `json:"cancelled"`
	Lost      int `json:"lost,omitempty"`
	// SuccessRate is success / (success + failure), null if there was neither.
	SuccessRate *float64 `json:"success_rate"`
	// These range over the runs with a duration, cancelled ones included, and are
	// null if there is none.
	AvgDuration *float64 `json:"avg_duration"`
	MinDuration *float64 `json:"min_duration"`
	MaxDuration *float64 `json:"max_duration"`
	// LastDuration is that of the newest run, possibly null.
	LastDuration *float64 `json:"last_duration"`
}

// StatsOf sums up runs, oldest first.
func StatsOf(runs []Run) Stats {
	s := Stats{Total: len(runs)}
	var sum, lowest, highest float64
	timed := 0
	for _, r := range runs {
		switch r.Outcome {
		case OutcomeSuccess:
			s.Success++
		case OutcomeFailure:
			s.Failure++
		case OutcomeCancelled:
			s.Cancelled++
		}
		s.LastDuration = nil
		if r.Outcome == OutcomeLost {
			s.Lost++
			continue // its end is a guess
		}
		if s.LastDuration = r.Duration; r.Duration == nil {
			continue
		}
		d := *r.Duration
		if timed == 0 {
			lowest, highest = d, d
		}
		timed++
		sum, lowest, highest = sum+d, min(lowest, d), max(highest, d)
	}
	if decided := s.Success + s.Failure; decided > 0 {
		s.SuccessRate = new(float64(s.Success) / float64(decided))
	}
	if timed > 0 {
		s.AvgDuration, s.MinDuration, s.MaxDuration = new(sum/float64(timed)), &lowest, &highest
	}
	return s
}

// JobSetID is the JSON answer to GET /job-set-id.
type JobSetID struct {
	JobSetID string `json:"job_set_id"` // v1: and 64 hex digits
	Jobs     int    `json:"jobs"`       // number of configured jobs
}
