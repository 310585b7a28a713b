package election

// The bounds of a claim request.
const (
	// MaxFirings is the number of firings that one request may ask for.
	MaxFirings = 10_000
)

// ClaimRequest asks a voter for a batch of Leader firings.
type ClaimRequest struct {
	InstanceID string // of the claimant, as its authenticated session says
	NodeName   string // of the claimant, for people
	Size       int    // the claimant's N for claims
	JobSetID   string
	Policy     Distribution
	// Probe asks what the voter would answer; nothing is recorded.
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
	RefusedTooEarly   Refusal = "too-early"   // more than 2 s ahead of the voter's clock
	RefusedTooOld     Refusal = "too-old"     // older than 10 min, or pruned
	RefusedFenced     Refusal = "fenced"      // from before the voter's start
	RefusedTaken      Refusal = "taken"       // granted to another instance
	RefusedAlreadyRan Refusal = "already-ran" // @reboot: known to have run
	RefusedNotSynced  Refusal = "not-synced"  // @reboot: no quorum heard since start
	RefusedStorage    Refusal = "storage"     // the vote could not be made durable
)

// Text returns the refusal in words.
func (r Refusal) Text() string { return string(r) }

// Final reports whether asking the same voter again cannot change the answer.
func (r Refusal) Final() bool { return false }

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
