package election

import "time"

// Status is what this node makes of one configured peer.
type Status string

// The statuses of a peer row.
const (
	StatusUnknown     Status = "unknown"     // not contacted yet
	StatusSelf        Status = "self"        // this very process answers there
	StatusAgreed      Status = "agreed"      // same job-set id
	StatusSyncing     Status = "syncing"     // differs, for fewer than driftAfter rounds
	StatusDrifted     Status = "drifted"     // differs that long, or another fingerprint scheme
	StatusUnreachable Status = "unreachable" // no contact
	StatusUntrusted   Status = "untrusted"   // certificate or host name verification failed
	StatusConflict    Status = "conflict"    // another process with this node's name
)

// Statuses lists every status, in the order in which they are shown.
func Statuses() []Status {
	return []Status{StatusUnknown, StatusSelf, StatusAgreed, StatusSyncing, StatusDrifted,
		StatusUnreachable, StatusUntrusted, StatusConflict}
}

// Fresh reports whether a row with this status rests on an answer of the peer in
// the newest exchange (so that what the peer told may be used).
func (s Status) Fresh() bool {
	switch s {
	case StatusAgreed, StatusSyncing, StatusDrifted, StatusConflict, StatusSelf:
		return true
	}
	return false
}

// Member is one entry of a members list: what a node tells of itself and its peers.
type Member struct {
	NodeName   string
	InstanceID string
	Agreed     bool // the teller has this node as agreed
	Stopping   bool // this node told the teller that it hands over
}

// Peer is one configured peer as this node sees it. The zero values of the told
// fields mean "not told".
type Peer struct {
	Host           string // as configured, host:port
	Status         Status
	NodeName       string // "" until first contact
	InstanceID     string // 32 hex digits; kept over failures
	JobSetID       string
	MismatchStreak int       // consecutive scheduled rounds with another job-set id
	LastSeen       time.Time // zero until first contact
	LastError      string    // "" after a success

	// What the peer told in the newest exchange. A failure drops it.
	Members             []Member // nil: the peer does not report members
	MutualAgreeing      []string // nil: not told
	QuorateVouched      []string // nil: not told
	RanRebootJobs       []string
	RebootHolders       map[string]string // job → instance id for which its record stands
	DeclaredSize        int               // 0: not told
	DeclaredPolicy      Distribution      // "": not told
	DeclaredElectLeader *bool             // nil: not told
	Stopping            bool

	// Skew compares the peer's clock with this node's; nil: not measured since the peer
	// was reached, or this is another process than the one that was. A failure drops it.
	Skew *Skew
	// CertificateExpires is when the certificate ends that the peer showed last; zero:
	// none was seen. It decides nothing.
	CertificateExpires time.Time
}
