package election

import "time"

// Self is what a node knows of itself when it judges an answer.
type Self struct {
	NodeName   string
	InstanceID string
	JobSetID   string // scheme:digest, as "v1:…"
	// DriftAfter is the number of consecutive scheduled rounds with another job-set
	// id after which a peer counts as drifted; values below 1 count as 1.
	DriftAfter int
}

// Report is what one node tells another in an exchange, already bounded and checked
// by whoever decoded it. Zero values mean "not told".
type Report struct {
	NodeName       string
	InstanceID     string
	JobSetID       string
	Size           int
	Policy         Distribution
	ElectLeader    *bool
	Members        []Member
	MutualAgreeing []string
	QuorateVouched []string
	RanRebootJobs  []string
	Stopping       bool
}

// Failure says why an exchange failed.
type Failure struct {
	// Untrusted: the certificate or its host name did not verify, or the peer
	// refused ours. Otherwise the peer was not reached.
	Untrusted bool
	Text      string // for people
}

// Observation is the outcome of one exchange with one configured peer.
type Observation struct {
	At time.Time // wall clock of the observer
	// Scheduled: the exchange belongs to a scheduled round. Only those move the
	// drift streak upwards; an extra exchange between two rounds does not.
	Scheduled bool
	Failure   *Failure // nil: the peer answered with Report
	Report    Report
}

// Observe returns row after o. It is the only way in which a peer row changes.
func Observe(row Peer, self Self, o Observation) Peer { return row }
