package election

import (
	"maps"
	"slices"
)

// The bounds of the @reboot records, so that no peer can fill the memory.
const (
	maxJobSets    = 8      // job-set ids whose records are kept
	maxRanRecords = 10_000 // records under one job-set id that peers may add
)

// oneShot is the record of one @reboot job under one job-set id: it ran, or a node has
// voted for somebody who will run it.
type oneShot struct {
	holder  string // instance id; "" if it is not known or not one alone
	granted bool   // by this voter's own vote, which nothing changes
}

// oneShots are the @reboot records by job-set id, in the memory of one process.
type oneShots struct {
	ids  []string // latest first; ids[0] is the current one
	sets map[string]map[string]oneShot
}

func newOneShots() oneShots {
	return oneShots{ids: []string{""}, sets: map[string]map[string]oneShot{"": {}}}
}

func (o *oneShots) current() map[string]oneShot { return o.sets[o.ids[0]] }

// judge answers the claim of one job. The records of other nodes refuse everybody but
// the process for which they stand.
func (o *oneShots) judge(c VoterContext, r ClaimRequest, job string) (a Answer, isNew bool) {
	record, known := o.sets[r.JobSetID][job]
	switch {
	case known && record.holder == "":
		return Answer{Refusal: RefusedAlreadyRan}, false
	case known && record.holder != r.InstanceID:
		return Answer{Refusal: RefusedTaken, Holder: record.holder}, false
	case record.granted:
		return Answer{}, false
	case 1+c.Exchanged < Quorum(c.Size):
		// An earlier life may have voted; the others would know.
		return Answer{Refusal: RefusedNotSynced}, false
	}
	return Answer{}, true
}

func (o *oneShots) grant(vote Vote) {
	o.touch(vote.JobSetID)[vote.Firing.Job] = oneShot{holder: vote.InstanceID, granted: true}
}

func (o *oneShots) withdraw(vote Vote) {
	if set := o.sets[vote.JobSetID]; set[vote.Firing.Job] == (oneShot{holder: vote.InstanceID, granted: true}) {
		delete(set, vote.Firing.Job)
	}
}

// learn takes in a record that a peer tells. Records of two holders refuse both: one
// of them may have run.
func (o *oneShots) learn(job, holder string) {
	set := o.current()
	known, ok := set[job]
	switch {
	case job == "", known.granted:
	case !ok && len(set) < maxRanRecords:
		set[job] = oneShot{holder: holder}
	case ok && known.holder != holder:
		set[job] = oneShot{}
	}
}

// touch returns the records under an id, which it makes if need be.
func (o *oneShots) touch(id string) map[string]oneShot {
	if o.sets[id] == nil {
		o.sets[id] = make(map[string]oneShot)
		o.ids = append(o.ids, id)
	}
	return o.sets[id]
}

// SetJobSet makes id the current job-set id, to which the @reboot records that are
// read and learnt refer. Records of the last few ids are kept, for a reload that is
// taken back.
func (v *Votes) SetJobSet(id string) {
	o := &v.oneShots
	o.touch(id)
	o.ids = slices.Insert(slices.DeleteFunc(o.ids, func(x string) bool { return x == id }), 0, id)
	for len(o.ids) > maxJobSets {
		delete(o.sets, o.ids[len(o.ids)-1])
		o.ids = o.ids[:len(o.ids)-1]
	}
}

// LearnRan takes in the @reboot records that a peer tells: the jobs, and for whom the
// record of each stands, as far as that was told (nil is fine). Records under another
// job-set id than the current one are ignored, as is what exceeds any sensible number.
func (v *Votes) LearnRan(jobSetID string, jobs []string, holders map[string]string) {
	if v.oneShots.ids[0] != jobSetID {
		return
	}
	for _, job := range jobs {
		v.oneShots.learn(job, holders[job])
	}
}

// MarkRan records @reboot jobs as run, without saying by whom: for those that this
// node starts without a claim, and for peers that tell no holders.
func (v *Votes) MarkRan(jobSetID string, jobs ...string) { v.LearnRan(jobSetID, jobs, nil) }

// Ran reports whether the job's one-shot is known to have run, or to be granted to
// somebody, under the current job-set id.
func (v *Votes) Ran(job string) bool {
	_, ok := v.oneShots.current()[job]
	return ok
}

// RanElsewhere is Ran without what stands for the given process itself: a one-shot
// that this process still claims is not to be given up because its own votes are on
// record.
func (v *Votes) RanElsewhere(job, instanceID string) bool {
	record, ok := v.oneShots.current()[job]
	return ok && record.holder != instanceID
}

// RanJobs lists the jobs of which Ran is true, sorted: what a node tells its peers.
func (v *Votes) RanJobs() []string { return slices.Sorted(maps.Keys(v.oneShots.current())) }

// RanHolders returns for whom the records of RanJobs stand, as far as that is known:
// told along with them, it lets a claimant collect votes although some are on record
// already.
func (v *Votes) RanHolders() map[string]string {
	holders := make(map[string]string)
	for job, record := range v.oneShots.current() {
		if record.holder != "" {
			holders[job] = record.holder
		}
	}
	return holders
}
