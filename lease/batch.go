package lease

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Batch is a call of Store.Claim for stores that keep Claims: it knows what is settled,
// and what to write to settle the rest. Every record is taken for absent at first, as it
// is for the first batch of an instant. A write is made on condition that the hold stands
// and that its records are as they are known; one that is refused tells how they really
// are, and the next one goes by that: what was taken is denied, what is left is asked for
// again, and what an earlier request of this process wrote, whose answer was lost, is
// found to be its own.
type Batch struct {
	me       Claimant
	firings  []election.Firing
	verdicts []election.Verdict
	records  map[string]*batchRecord // by key: what is not settled yet
}

type batchRecord struct {
	asked    []int // indexes of firings
	given    []int // of asked: what the newest write gives
	revision uint64
	claims   Claims
}

// ClaimWrite is one record of a write.
type ClaimWrite struct {
	Key string // as of ClaimKey
	// Revision is the store's index of the record that the write replaces; 0: there
	// is none.
	Revision uint64
	Data     []byte
}

// NewBatch returns the batch of firings that me asks for.
func NewBatch(me Claimant, firings []election.Firing) *Batch {
	b := &Batch{me: me, firings: firings, verdicts: make([]election.Verdict, len(firings)), records: map[string]*batchRecord{}}
	for i, f := range firings {
		key := ClaimKey(f.Job, f.At)
		if b.records[key] == nil {
			b.records[key] = &batchRecord{}
		}
		b.records[key].asked = append(b.records[key].asked, i)
	}
	return b
}

// Verdicts returns what is settled so far; the rest is Pending.
func (b *Batch) Verdicts() []election.Verdict { return b.verdicts }

// Next returns the next write, in as many records and bytes as the store takes at once,
// but one record at least. None means that everything is settled. No firing at or below
// the floor is given any more.
func (b *Batch) Next(floor time.Time, maxRecords, maxBytes int) ([]ClaimWrite, error) {
	var writes []ClaimWrite
	size := 0
	for _, key := range slices.Sorted(maps.Keys(b.records)) {
		r := b.records[key]
		r.given = nil
		next := r.claims.Clone()
		for _, i := range r.asked {
			f := b.firings[i]
			v, settled := r.claims.verdict(f, b.me.Instance, floor)
			if settled {
				b.verdicts[i] = v
				continue
			}
			r.given = append(r.given, i)
			next.Give(f.Job, b.me)
		}
		if len(r.given) == 0 {
			delete(b.records, key)
			continue
		}
		data, err := next.Encode()
		if err != nil {
			return nil, err
		}
		if len(writes) == maxRecords || len(writes) > 0 && size+len(data) > maxBytes {
			break
		}
		size += len(data)
		writes = append(writes, ClaimWrite{Key: key, Revision: r.revision, Data: data})
	}
	return writes, nil
}

// Written settles what a successful write gave.
func (b *Batch) Written(writes []ClaimWrite) {
	for _, w := range writes {
		for _, i := range b.records[w.Key].given {
			b.verdicts[i] = election.Verdict{Outcome: election.Granted}
		}
		delete(b.records, w.Key)
	}
}

// Saw takes over how a record of a refused write is: no data and revision 0 if there is
// none.
func (b *Batch) Saw(key string, data []byte, revision uint64) error {
	claims, err := DecodeClaims(data)
	if err != nil {
		return err
	}
	if r := b.records[key]; r != nil {
		r.claims, r.revision = claims, revision
	}
	return nil
}

// verdict is what a record says of a firing that the instance asks for, if it says
// anything.
func (c *Claims) verdict(f election.Firing, instance string, floor time.Time) (v election.Verdict, settled bool) {
	switch holder, given := c.Claimant(f.Job); {
	case given && holder.Instance == instance:
		return election.Verdict{Outcome: election.Granted}, true
	case given:
		name := cmp.Or(holder.Node, holder.Instance)
		return election.Verdict{Outcome: election.Denied, Holder: name, Code: string(election.RefusedTaken),
			HolderID: strconv.FormatUint(holder.Token, 10), Held: true,
			Reason: "this firing was given to " + name}, true
	case !f.At.After(floor):
		return election.Verdict{Outcome: election.Denied, Code: string(election.RefusedTooOld),
			Reason: fmt.Sprintf("claims up to %s are not kept any more, so that nobody can tell whether this one was given to another process",
				floor.UTC().Format(time.RFC3339))}, true
	}
	return v, false
}

// Told returns what records tell of firings, for Store.Claimed; get returns the record
// with a key of ClaimKey.
func Told(firings []election.Firing, floor time.Time, get func(key string) ([]byte, error)) ([]election.Verdict, error) {
	known := map[string]Claims{}
	verdicts := make([]election.Verdict, len(firings))
	for i, f := range firings {
		key := ClaimKey(f.Job, f.At)
		claims, read := known[key]
		if !read {
			data, err := get(key)
			if err != nil {
				return nil, err
			}
			if claims, err = DecodeClaims(data); err != nil {
				return nil, err
			}
			known[key] = claims
		}
		verdicts[i], _ = claims.verdict(f, "", floor)
	}
	return verdicts, nil
}

// Reboots is a call of Store.ClaimReboot for stores that keep a RanRecord: the verdicts,
// and the record with what is granted.
func Reboots(ran RanRecord, instance, jobSetID string, jobs []string) ([]election.Verdict, RanRecord) {
	verdicts := make([]election.Verdict, len(jobs))
	for i, job := range jobs {
		if by, known := ran.Ran(jobSetID, job); known && by != instance {
			verdicts[i] = election.Verdict{Outcome: election.Denied, Holder: by, Code: string(election.RefusedAlreadyRan),
				Reason: "it has run under this configuration already"}
			continue
		}
		verdicts[i] = election.Verdict{Outcome: election.Granted}
		ran = ran.Add(jobSetID, job, instance)
	}
	return verdicts, ran
}
