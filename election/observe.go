package election

import (
	"strings"
	"time"
)

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
	RebootHolders  map[string]string // see Votes.RanHolders
	Stopping       bool
}

// Failure says why an exchange failed.
type Failure struct {
	// Untrusted: the certificate or its host name did not verify, or the peer
	// refused ours. Otherwise the peer was not reached.
	Untrusted bool
	Text      string // for people
}

// Observation is the outcome of one exchange with one configured peer, or the news
// that its session ended.
type Observation struct {
	At time.Time // wall clock of the observer
	// Scheduled: the exchange belongs to a scheduled round. Only those move the
	// drift streak upwards; an extra exchange between two rounds does not, so a busy
	// cluster does not call a rolling deployment drift.
	Scheduled bool
	Failure   *Failure // nil: the peer answered with Report
	Report    Report
}

// Observe returns row after o. It is the only way in which a row's status changes.
func Observe(row Peer, self Self, o Observation) Peer {
	if o.Failure != nil {
		return fail(row, *o.Failure)
	}
	status, streak := judge(row.MismatchStreak, self, o)
	r := o.Report
	next := Peer{
		Host:                row.Host,
		Status:              status,
		NodeName:            r.NodeName,
		InstanceID:          r.InstanceID,
		JobSetID:            r.JobSetID,
		MismatchStreak:      streak,
		LastSeen:            o.At,
		Members:             r.Members,
		MutualAgreeing:      r.MutualAgreeing,
		QuorateVouched:      r.QuorateVouched,
		RanRebootJobs:       r.RanRebootJobs,
		RebootHolders:       r.RebootHolders,
		DeclaredSize:        r.Size,
		DeclaredPolicy:      r.Policy,
		DeclaredElectLeader: r.ElectLeader,
		Stopping:            r.Stopping,
	}
	if next.InstanceID == "" {
		// A binding that was learnt once is not lost to a peer that falls silent
		// about it: N would grow.
		next.InstanceID = row.InstanceID
	}
	if next.InstanceID == row.InstanceID {
		next.Skew = row.Skew
	}
	return next
}

// fail returns row after a failed exchange. What rested on the peer's word at that
// moment goes; who it was stays, so that N does not change because a node died, and so
// does that it was stopping, which no process takes back.
func fail(row Peer, f Failure) Peer {
	row.LastError = f.Text
	if row.LastError == "" {
		row.LastError = "no answer" // "" would read as success
	}
	row.Members = nil
	row.MutualAgreeing = nil
	row.QuorateVouched = nil
	row.RanRebootJobs = nil
	row.RebootHolders = nil
	row.Skew = nil
	switch {
	case row.Status == StatusSelf:
		// It is still this process that is listed there, reached or not.
	case f.Untrusted:
		row.Status = StatusUntrusted
	default:
		row.Status = StatusUnreachable
	}
	return row
}

// judge returns the status that an answer earns and the streak after it.
func judge(streak int, self Self, o Observation) (Status, int) {
	r := o.Report
	if r.NodeName == self.NodeName {
		if r.InstanceID == "" || r.InstanceID == self.InstanceID {
			return StatusSelf, 0
		}
		return StatusConflict, streak
	}
	if scheme(r.JobSetID) != scheme(self.JobSetID) {
		return StatusDrifted, streak
	}
	if r.JobSetID == self.JobSetID {
		return StatusAgreed, 0
	}
	if o.Scheduled && streak < maxStreak {
		streak++
	}
	if streak < max(self.DriftAfter, 1) {
		return StatusSyncing, streak
	}
	return StatusDrifted, streak
}

// maxStreak keeps the count of a peer that differs for ever within any integer.
const maxStreak = 1 << 30

// scheme returns the part of a job-set id before its colon: ids of two schemes can't
// be compared.
func scheme(jobSetID string) string {
	s, _, _ := strings.Cut(jobSetID, ":")
	return s
}
