package gossip

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yacron2/yacron2/election"
)

// VoteStore makes votes outlive the process. Its methods are called one at a time.
type VoteStore interface {
	// Load returns what an earlier life of this node voted. known is false if there
	// was no record that was complete, so that the voter must fence itself off.
	Load() (votes []election.Vote, lowWater time.Time, known bool, err error)
	// Append makes votes durable before it returns. After an error none of them may
	// count: the voter denies them.
	Append(votes []election.Vote) error
	// Prune forgets votes and keeps the low-water mark, durably and in one step.
	Prune(p election.Pruning) error
}

// Voter is the one voter of this process: the claims of peers and its own go through
// it. It outlives the Managers that share it, so that a changed cluster section does
// not make the process forget what it voted.
type Voter struct {
	store   VoteStore // nil: in memory
	started time.Time // for the monotonic clock
	wall    func() time.Time

	mu    sync.Mutex // held while votes are written: one batch, one answer
	votes *election.Votes

	// ran is what the records of one-shots say, readable while a vote is written.
	ran atomic.Pointer[oneShots]
	// failure is why the newest vote could not be made durable; nil: it was, or none had
	// to be.
	failure atomic.Pointer[error]
}

// oneShots is what is told of the @reboot jobs of the current job set.
type oneShots struct {
	jobs    []string          // sorted
	holders map[string]string // job → instance id
}

// NewVoter returns a voter that starts now, with the votes that store has from an
// earlier life; a nil store keeps them in memory.
func NewVoter(store VoteStore) (*Voter, error) {
	v := &Voter{store: store, started: time.Now(), wall: time.Now, votes: election.NewVotes()}
	if store != nil {
		votes, lowWater, known, err := store.Load()
		if err != nil {
			return nil, err
		}
		if known {
			v.votes = election.RestoreVotes(votes, lowWater)
		}
	}
	v.ran.Store(&oneShots{})
	return v, nil
}

// clock reads both clocks.
func (v *Voter) clock() election.Clock {
	return election.Clock{Wall: v.wall().Round(0), Uptime: time.Since(v.started)}
}

// judge answers a request and records the votes it casts; an answer is only returned
// after its vote is durable. ran is whether the records of one-shots changed. An error
// says why votes could not be made durable; their answers are refusals then.
func (v *Voter) judge(c election.VoterContext, r election.ClaimRequest) (answers []election.Answer, ran bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c.Clock = v.clock()
	ballot := v.votes.Judge(c, r)
	if len(ballot.Cast) == 0 {
		return ballot.Answers, false, nil
	}
	if err := v.write(ballot.Cast); err != nil {
		for i := range ballot.Answers {
			// Grants of earlier requests stand, but they can't be told from new ones
			// here, and a denied repetition does no harm.
			if ballot.Answers[i].Granted() {
				ballot.Answers[i].Refusal = election.RefusedStorage
			}
		}
		return ballot.Answers, false, err
	}
	v.votes.Record(ballot.Cast, c.Clock)
	return ballot.Answers, v.publish(), nil
}

// write makes votes durable. One-shots are not: their records hold for this process.
func (v *Voter) write(cast []election.Vote) error {
	if v.store == nil {
		return nil
	}
	durable := slices.DeleteFunc(slices.Clone(cast), func(x election.Vote) bool { return x.Firing.Reboot() })
	if len(durable) == 0 {
		return nil
	}
	err := v.store.Append(durable)
	if err != nil {
		v.failure.Store(&err)
	} else {
		v.failure.Store(nil)
	}
	return err
}

// unstored returns why votes can't be made durable now; nil if they can.
func (v *Voter) unstored() error {
	if err := v.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// prune forgets what is old enough.
func (v *Voter) prune() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.votes.Expired(v.clock())
	if len(p.Votes) == 0 {
		return nil
	}
	if v.store != nil {
		if err := v.store.Prune(p); err != nil {
			return err
		}
	}
	v.votes.Prune(p)
	return nil
}

// setJobSet makes id the job set to which the records of one-shots refer.
func (v *Voter) setJobSet(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.votes.SetJobSet(id)
	v.publish()
}

// learnRan records one-shots as run, and for whom as far as that is known. It reports
// whether that was news.
func (v *Voter) learnRan(jobSetID string, jobs []string, holders map[string]string) bool {
	if len(jobs) == 0 {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.votes.LearnRan(jobSetID, jobs, holders)
	return v.publish()
}

// ranElsewhere reports whether a one-shot ran, or was granted, to another process.
func (v *Voter) ranElsewhere(job, instance string) bool {
	ran := v.told()
	_, known := slices.BinarySearch(ran.jobs, job)
	return known && ran.holders[job] != instance
}

// publish makes the records readable without the lock, which is held, and reports
// whether they changed.
func (v *Voter) publish() bool {
	now := &oneShots{jobs: v.votes.RanJobs(), holders: v.votes.RanHolders()}
	was := v.told()
	if slices.Equal(now.jobs, was.jobs) && maps.Equal(now.holders, was.holders) {
		return false
	}
	v.ran.Store(now)
	return true
}

// told returns what peers are told of one-shots.
func (v *Voter) told() *oneShots { return v.ran.Load() }
