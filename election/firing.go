package election

import "time"

// Firing is the identity of one firing, the same on every node whatever its clock
// says: the job and the scheduled instant.
type Firing struct {
	Job string
	// At is the scheduled instant in UTC. The zero instant stands for the job's
	// @reboot one-shot under the job-set id of the claim.
	At time.Time
}

// Reboot reports whether f is the @reboot one-shot of its job.
func (f Firing) Reboot() bool { return f.At.IsZero() }

// Outcome is the result of one claim.
type Outcome int

// The outcomes of a claim.
const (
	// Pending: no majority yet, and none excluded; ask again before the deadline.
	Pending Outcome = iota
	// Granted: the firing is this process's, on every node, for ever.
	Granted
	// Denied: another instance holds the firing, or a majority for this one can no
	// longer be had; asking again will not change it.
	Denied
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Granted:
		return "granted"
	case Denied:
		return "denied"
	}
	return "pending"
}

// Verdict answers one claimed firing.
type Verdict struct {
	Outcome Outcome
	// Token is the fencing token of the grant, growing from holder to holder;
	// 0 on backends that have none (gossip).
	Token uint64
	// Holder names the node (or the instance, if no name is known) that holds a
	// denied firing; "" if none is known.
	Holder string
	// HolderID is the instance id of the process for which most of the voters that
	// refused had voted, also while the claim is pending; "" if none did. On lease
	// backends it is the hold under which the firing was granted.
	HolderID string
	// Held: HolderID has a majority, as far as that can be known: its own vote counts
	// if it did not answer itself.
	Held bool
	// Presumed: Held counts on the vote of HolderID itself, which did not answer.
	Presumed bool
	// RunningOn names a node that reported the job as still running; "" if none
	// did. Forbid and Replace jobs must then not start.
	RunningOn string
	// Code is stable and says why a claim is pending or denied: a Refusal, CodeSplit
	// or CodeUnanswered, or a code of the backend; "" for a grant.
	Code string
	// Reason says the same in words.
	Reason string
}
