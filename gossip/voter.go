package gossip

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// VoteStore makes votes outlive the process. Its methods are called one at a time.
type VoteStore interface {
	// Load returns what an earlier life of this node voted. known is false if there
	// was none on record, so that the voter must fence itself off.
	Load() (votes []election.Vote, lowWater time.Time, known bool, err error)
	// Append makes votes durable before it returns. After an error none of them may
	// count: the voter denies them.
	Append(votes []election.Vote) error
	// Prune replaces votes by a low-water mark, durably.
	Prune(p election.Pruning) error
}

// voter is the one voter of this node: peers' claims and its own go through it.
type voter struct {
	store VoteStore // nil: in memory
	log   hclog.Logger
	// onRan is called without locks when a @reboot job became known as run.
	onRan func()

	mu    sync.Mutex // held while votes are written: one batch, one answer
	votes *election.Votes

	ran atomic.Pointer[[]string] // sorted; what Ran says, readable while a vote is written
}

// newVoter restores the votes of an earlier life, if there is a store with any.
func newVoter(store VoteStore, jobSetID string, log hclog.Logger, onRan func()) (*voter, error) {
	v := &voter{store: store, log: log, onRan: onRan, votes: election.NewVotes()}
	if store != nil {
		votes, lowWater, known, err := store.Load()
		if err != nil {
			return nil, err
		}
		if known {
			v.votes = election.RestoreVotes(votes, lowWater)
		}
	}
	v.votes.SetJobSet(jobSetID)
	v.ran.Store(&[]string{})
	return v, nil
}

// judge answers a request and records the votes it casts. An answer is only returned
// after its vote is durable.
func (v *voter) judge(c election.VoterContext, r election.ClaimRequest) []election.Answer {
	answers, changed := v.vote(c, r)
	if changed {
		v.onRan()
	}
	return answers
}

func (v *voter) vote(c election.VoterContext, r election.ClaimRequest) (answers []election.Answer, ranChanged bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ballot := v.votes.Judge(c, r)
	if r.Probe || len(ballot.Cast) == 0 {
		return ballot.Answers, false
	}
	if v.store != nil {
		// A one-shot's vote holds for this process only.
		durable := slices.DeleteFunc(slices.Clone(ballot.Cast), func(x election.Vote) bool { return x.Firing.Reboot() })
		if len(durable) > 0 {
			if err := v.store.Append(durable); err != nil {
				v.log.Error("votes could not be made durable; the claim is denied", "error", err, "votes", len(durable))
				return deny(ballot.Answers, election.RefusedStorage), false
			}
		}
	}
	v.votes.Record(ballot.Cast, c.Clock)
	return ballot.Answers, v.refreshRan()
}

// deny turns every grant into a refusal.
func deny(answers []election.Answer, why election.Refusal) []election.Answer {
	for i := range answers {
		if answers[i].Granted() {
			answers[i].Refusal = why
		}
	}
	return answers
}

// prune forgets what is old enough.
func (v *voter) prune(c election.Clock) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.votes.Expired(c)
	if len(p.Votes) == 0 {
		return
	}
	if v.store != nil {
		if err := v.store.Prune(p); err != nil {
			v.log.Warn("old votes could not be pruned; trying again later", "error", err)
			return
		}
	}
	v.votes.Prune(p)
}

// setJobSet scopes the @reboot records to another job set.
func (v *voter) setJobSet(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.votes.SetJobSet(id)
	v.refreshRan()
}

// markRan records @reboot jobs as run under a job-set id, and reports whether that was
// news.
func (v *voter) markRan(jobSetID string, jobs ...string) bool {
	if len(jobs) == 0 {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.votes.MarkRan(jobSetID, jobs...)
	return v.refreshRan()
}

// refreshRan publishes the known runs and reports whether they changed. v.mu is held.
func (v *voter) refreshRan() bool {
	now := v.votes.RanJobs()
	if slices.Equal(now, *v.ran.Load()) {
		return false
	}
	v.ran.Store(&now)
	return true
}

// ranJobs lists the @reboot jobs known to have run, sorted.
func (v *voter) ranJobs() []string { return *v.ran.Load() }

// hasRan reports whether a @reboot job is known to have run.
func (v *voter) hasRan(job string) bool {
	_, found := slices.BinarySearch(v.ranJobs(), job)
	return found
}
