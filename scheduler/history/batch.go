package history

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// batch is what one transaction writes.
type batch struct {
	size    int // changes, to bound the batch
	runs    []*kept[Run]
	missed  []*kept[Missed]
	outputs map[string][]Line // by run id
	started map[string]*Run   // by run id; nil: ended
	pauses  map[string]*Pause // by job; nil: over

	forgottenRuns   []*kept[Run]
	forgottenMissed []*kept[Missed]

	// anew says that the lists above are incomplete, because a write failed or
	// there were too many changes: the whole memory is written instead.
	anew bool

	waiting []chan<- error // to be told the outcome
}

// overflow gives up the lists in favour of writing everything.
func (b *batch) overflow() { *b = batch{anew: true, waiting: b.waiting} }

// snapshot makes the lists complete again; m.mu is held.
func (b *batch) snapshot(m *Memory) {
	for _, r := range m.runs.racks {
		b.runs = append(b.runs, r.items...)
	}
	for _, r := range m.missed.racks {
		b.missed = append(b.missed, r.items...)
	}
	b.outputs = make(map[string][]Line, len(m.outputs.byID))
	for id := range m.outputs.byID {
		b.outputs[id] = m.outputs.get(id)
	}
	b.started = make(map[string]*Run, len(m.started))
	for id, run := range m.started {
		b.started[id] = run
	}
	b.pauses = make(map[string]*Pause, len(m.pauses))
	for job, pause := range m.pauses {
		b.pauses[job] = &pause
	}
}

// write puts the batch into the file.
func (b *batch) write(tx *bolt.Tx, now time.Time) error {
	if b.anew {
		if err := b.empty(tx); err != nil {
			return err
		}
	}
	runs, missed := tx.Bucket(bucketRuns), tx.Bucket(bucketMissed)
	runs.FillPercent, missed.FillPercent = 0.9, 0.9 // keys only grow
	for _, k := range b.runs {
		if err := putJSON(runs, numberKey(k.number), &k.value); err != nil {
			return err
		}
	}
	for _, k := range b.missed {
		if err := putJSON(missed, numberKey(k.number), &k.value); err != nil {
			return err
		}
	}
	outputs := tx.Bucket(bucketOutput)
	for id, lines := range b.outputs {
		if err := putJSON(outputs, []byte(id), lines); err != nil {
			return err
		}
	}
	if err := putOrDelete(tx.Bucket(bucketStarted), b.started); err != nil {
		return err
	}
	if err := putOrDelete(tx.Bucket(bucketPauses), b.pauses); err != nil {
		return err
	}
	for _, k := range b.forgottenRuns {
		if err := runs.Delete(numberKey(k.number)); err != nil {
			return err
		}
		if err := outputs.Delete([]byte(k.value.ID)); err != nil {
			return err
		}
	}
	for _, k := range b.forgottenMissed {
		if err := missed.Delete(numberKey(k.number)); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketMeta).Put(keyAlive, []byte(now.UTC().Format(time.RFC3339Nano)))
}

// empty removes everything but the output of runs that are still kept, of which the
// memory holds only the newest.
func (b *batch) empty(tx *bolt.Tx) error {
	for _, name := range [][]byte{bucketRuns, bucketMissed, bucketStarted, bucketPauses} {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
	}
	if err := prepare(tx); err != nil {
		return err
	}
	keep := make(map[string]bool, len(b.runs))
	for _, k := range b.runs {
		keep[k.value.ID] = true
	}
	outputs := tx.Bucket(bucketOutput)
	var old [][]byte
	if err := outputs.ForEach(func(id, _ []byte) error {
		if !keep[string(id)] {
			old = append(old, id)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range old {
		if err := outputs.Delete(id); err != nil {
			return err
		}
	}
	return nil
}

func putOrDelete[T any](b *bolt.Bucket, values map[string]*T) error {
	for key, value := range values {
		var err error
		if value == nil {
			err = b.Delete([]byte(key))
		} else {
			err = putJSON(b, []byte(key), value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
