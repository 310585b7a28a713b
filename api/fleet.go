package api

// Fleet is the answer to GET /fleet: the jobs of all nodes as they last told them.
// While Enabled is false only Enabled and Nodes are on the wire.
type Fleet struct {
	Enabled      bool        `json:"enabled"`
	Backend      string      `json:"backend"`
	NodeName     string      `json:"node_name"`
	Distribution string      `json:"distribution"`
	ElectLeader  bool        `json:"elect_leader"`
	Interval     int         `json:"interval"` // seconds between scheduled exchanges
	Nodes        []FleetNode `json:"nodes"`    // the answering node first
}

// FleetNode is one node and the summaries of its jobs.
type FleetNode struct {
	NodeName NullString `json:"node_name"` // null if never reached
	Host     NullString `json:"host"`      // as configured; null for the answering node
	Self     bool       `json:"self"`
	Status   string     `json:"status"`
	AsOf     Instant    `json:"as_of"` // null if never seen
	// Jobs is keyed by name; null (nil) means that there is no snapshot.
	Jobs      map[string]JobSummary `json:"jobs"`
	Truncated bool                  `json:"truncated"` // some jobs were left out
}

// JobSummary is a job in short.
type JobSummary struct {
	Running     bool         `json:"running"`
	Enabled     bool         `json:"enabled"`
	ScheduledIn *float64     `json:"scheduled_in"` // seconds
	Last        *LastSummary `json:"last"`
}

// LastSummary is the newest finished run in short, as its node told it.
type LastSummary struct {
	Outcome    NullString `json:"outcome"`
	FinishedAt NullString `json:"finished_at"` // text from a peer: not checked to be an instant
	Duration   *float64   `json:"duration"`    // seconds
	ExitCode   *int       `json:"exit_code"`
}

// fleetWire is Fleet without its methods.
type fleetWire Fleet

// MarshalJSON implements json.Marshaler.
func (f Fleet) MarshalJSON() ([]byte, error) {
	if !f.Enabled {
		return encode(struct {
			Enabled bool        `json:"enabled"`
			Nodes   []FleetNode `json:"nodes"`
		}{false, []FleetNode{}})
	}
	f.Nodes = orEmpty(f.Nodes)
	return encode(fleetWire(f))
}
