package history

import "time"

// Pause keeps a job from firing, until it is resumed or its time is over. It is not
// part of the configuration and lasts through restarts where the store does.
type Pause struct {
	Job   string    `json:"job"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"` // zero: until resumed
	Note  string    `json:"note,omitempty"` // why, for people
	By    string    `json:"by,omitempty"`   // who, if known
}

// Active reports whether the pause is in force.
func (p Pause) Active(now time.Time) bool {
	return p.Job != "" && (p.Until.IsZero() || now.Before(p.Until))
}
