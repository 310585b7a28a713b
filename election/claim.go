package election

// The bounds of a claim.
const (
	// MaxFirings is the number of firings that one request may ask for.
	MaxFirings = 10_000
)

// ClaimRequest asks a voter for a batch of Leader firings.
type ClaimRequest struct {
	InstanceID string // of the claimant, as its authenticated session showed it
	NodeName   string // of the claimant, for people
	Size       int    // the claimant's N for claims
	JobSetID   string
	Policy     Distribution
	// Probe asks what the voter would answer now; nothing is recorded.
	Probe   bool
	Firings []Firing
}

// Refusal is the stable code of a voter's no; "" is a yes.
type Refusal string

// The refusals of a voter.
const (
	RefusedSize       Refusal = "size"        // another N
	RefusedJobSet     Refusal = "job-set"     // another job-set id
	RefusedPolicy     Refusal = "policy"      // another distribution
	RefusedUnbound    Refusal = "unbound"     // not an instance of a configured host
	RefusedConflict   Refusal = "conflict"    // in conflict with the voter
	RefusedTooMany    Refusal = "too-many"    // more than MaxFirings
	RefusedNotLeader  Refusal = "not-leader"  // no Leader job of the voter's set
	RefusedTooEarly   Refusal = "too-early"   // more than ClockSkew ahead of the voter's clock
	RefusedTooOld     Refusal = "too-old"     // older than VoteAge, or pruned
	RefusedFenced     Refusal = "fenced"      // from before the voter's start
	RefusedTaken      Refusal = "taken"       // granted to another instance
	RefusedAlreadyRan Refusal = "already-ran" // @reboot: known to have run
	RefusedNotSynced  Refusal = "not-synced"  // @reboot: no quorum heard since the start
	RefusedStorage    Refusal = "storage"     // the vote could not be made durable
	RefusedOther      Refusal = "other"       // a code that this version does not know
)

// ParseRefusal returns the refusal with that code; an unknown one, which only another
// version sends, becomes RefusedOther. "" stays a yes.
func ParseRefusal(code string) Refusal {
	r := Refusal(code)
	if text, _ := r.describe(); text == "" {
		return RefusedOther
	}
	return r
}

// Text returns the refusal in words, as what voters did: "had another job set".
func (r Refusal) Text() string {
	text, _ := ParseRefusal(string(r)).describe()
	return text
}

// Final reports whether asking the same voter again cannot change the answer.
func (r Refusal) Final() bool {
	_, final := r.describe()
	return final
}

// describe returns what voters who answered so did, and whether that stands for ever; ""
// for an unknown code.
func (r Refusal) describe() (text string, final bool) {
	switch r {
	case "":
		return "granted it", false
	case RefusedSize:
		return "counted another cluster size", false
	case RefusedJobSet:
		return "had another job set", false
	case RefusedPolicy:
		return "used another distribution", false
	case RefusedUnbound:
		return "did not know this process as a configured peer", false
	case RefusedConflict:
		return "saw a conflict with this node", false
	case RefusedTooMany:
		return "did not take so many firings at once", true
	case RefusedNotLeader:
		return "had no such Leader job", false
	case RefusedTooEarly:
		return "found it too early by their clocks", false
	case RefusedTooOld:
		return "found it too old", true
	case RefusedFenced:
		return "had started too recently to know whether they voted before", true
	case RefusedTaken:
		return "had given their vote to another process", true
	case RefusedAlreadyRan:
		return "knew that it had run", true
	case RefusedNotSynced:
		return "had not heard from a quorum since their start", false
	case RefusedStorage:
		return "could not store their vote", false
	case RefusedOther:
		return "refused for a reason that this version does not know", false
	}
	return "", false
}

// Answer is a voter's word on one firing.
type Answer struct {
	Refusal Refusal // "" = granted
	// Holder is the instance id that holds a firing refused as taken.
	Holder string
	// Running: the job runs at the answering node right now.
	Running bool
}

// Granted reports whether the answer is a yes.
func (a Answer) Granted() bool { return a.Refusal == "" }

// ClaimRequest returns the request with which this node claims firings.
func (v *View) ClaimRequest(firings []Firing) ClaimRequest {
	return ClaimRequest{
		InstanceID: v.state.InstanceID,
		NodeName:   v.state.NodeName,
		Size:       v.claimSize,
		JobSetID:   v.state.JobSetID,
		Policy:     v.Distribution(),
		Firings:    firings,
	}
}
