package lease

import (
	"encoding/json"
	"fmt"
	"slices"
)

// maxRanSets is how many job sets a RanRecord remembers. A cluster in the middle of a
// change has two.
const maxRanSets = 4

// RanRecord tells which @reboot one-shots ran, by job-set id. The zero value is empty.
// It is a value: Add returns a new one.
type RanRecord struct {
	sets []ranSet // the one that was added to last is last
}

type ranSet struct {
	JobSetID string            `json:"jobSetId"`
	Jobs     map[string]string `json:"jobs"` // by name: the instance id that ran it
}

// Ran returns the instance that ran the job under the job-set id, and whether any did.
func (r RanRecord) Ran(jobSetID, job string) (instance string, ran bool) {
	for _, set := range r.sets {
		if set.JobSetID == jobSetID {
			instance, ran = set.Jobs[job]
		}
	}
	return instance, ran
}

// Jobs returns the names of the one-shots that ran under the job-set id.
func (r RanRecord) Jobs(jobSetID string) []string {
	var names []string
	for _, set := range r.sets {
		if set.JobSetID == jobSetID {
			for name := range set.Jobs {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Add returns the record with one more job. Job sets that were not added to for longest
// are forgotten.
func (r RanRecord) Add(jobSetID, job, instance string) RanRecord {
	set := ranSet{JobSetID: jobSetID, Jobs: map[string]string{job: instance}}
	var sets []ranSet
	for _, s := range r.sets {
		if s.JobSetID != jobSetID {
			sets = append(sets, s)
			continue
		}
		for name, i := range s.Jobs {
			if name != job {
				set.Jobs[name] = i
			}
		}
	}
	sets = append(sets, set)
	if len(sets) > maxRanSets {
		sets = sets[len(sets)-maxRanSets:]
	}
	return RanRecord{sets: sets}
}

// Sets returns how many job sets the record remembers.
func (r RanRecord) Sets() int { return len(r.sets) }

// DropOldest returns the record without the job set that was not added to for longest,
// for a store without room for all.
func (r RanRecord) DropOldest() RanRecord {
	if len(r.sets) == 0 {
		return r
	}
	return RanRecord{sets: r.sets[1:]}
}

// Encode returns the record as it is stored.
func (r RanRecord) Encode() ([]byte, error) {
	if r.sets == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(r.sets)
}

// DecodeRan is the inverse of Encode; nothing at all is an empty record.
func DecodeRan(data []byte) (RanRecord, error) {
	if len(data) == 0 {
		return RanRecord{}, nil
	}
	var sets []ranSet
	if err := json.Unmarshal(data, &sets); err != nil {
		return RanRecord{}, fmt.Errorf("record of @reboot jobs: %w", err)
	}
	return RanRecord{sets: sets}, nil
}
