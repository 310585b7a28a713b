package election

// Voter names one node that answers a claim.
type Voter struct {
	Host       string // the configured host; "" for the claimant's own vote
	InstanceID string
	NodeName   string
}

// Tally counts the answers on one firing. The zero value is not ready: use NewTally.
type Tally struct{}

// NewTally returns the empty tally of one firing in a cluster of n voters.
func NewTally(n int) *Tally { return &Tally{} }

// Add counts one answer. A later answer of the same voter replaces a refusal, never a
// grant.
func (t *Tally) Add(voter Voter, a Answer) {}

// OwnVoteDue reports whether the peers' grants and the claimant's own vote would make
// a majority: now is the time to cast it.
func (t *Tally) OwnVoteDue() bool { return false }

// Verdict says where the claim stands. name translates an instance id into a node
// name; nil leaves it as it is.
func (t *Tally) Verdict(name func(instanceID string) string) Verdict { return Verdict{} }
