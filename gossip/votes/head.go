package votes

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/yacron2/yacron2/election"
)

// format is the version of the layout.
const format = 1

var (
	bucketHead  = []byte("head")
	bucketVotes = []byte("votes")
	keyHead     = []byte("head")
)

// head is the record that seals the others. It is written as JSON, a newline, and the
// CRC-32 of the JSON as eight hex digits.
type head struct {
	Format int    `json:"format"`
	Node   string `json:"node"`
	// Complete is the instant from which on the votes are complete: up to it, this
	// node may have given votes that are not here.
	Complete time.Time `json:"complete"`
	// LowWater is the highest instant of a vote that was pruned; zero if none was.
	LowWater time.Time `json:"low_water,omitzero"`
	// Votes is the number of votes, Sum the sum of their hashes.
	Votes int    `json:"votes"`
	Sum   uint64 `json:"sum,string"`
}

// mark returns the instant up to which no firing may be granted.
func (h *head) mark() time.Time {
	if h.LowWater.After(h.Complete) {
		return h.LowWater
	}
	return h.Complete
}

// write puts the head into the file.
func (h *head) write(tx *bolt.Tx) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sealed := fmt.Appendf(data, "\n%08x", crc32.ChecksumIEEE(data))
	return tx.Bucket(bucketHead).Put(keyHead, sealed)
}

// parseHead reads what write wrote.
func parseHead(sealed []byte) (h head, err error) {
	data, sum, found := bytes.Cut(sealed, []byte("\n"))
	if !found || fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) != string(sum) {
		return h, fmt.Errorf("%w: its head was changed", ErrDamaged)
	}
	// The format first: what else another one says need not fit.
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return h, fmt.Errorf("%w: its head: %w", ErrDamaged, err)
	}
	if version.Format != format {
		return h, fmt.Errorf("it has format %d, and this version knows format %d only", version.Format, format)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, fmt.Errorf("%w: its head: %w", ErrDamaged, err)
	}
	return h, nil
}

// add writes votes and counts them.
func (h *head) add(tx *bolt.Tx, votes []election.Vote) error {
	b := tx.Bucket(bucketVotes)
	b.FillPercent = 0.9 // most keys are the highest ones
	for _, v := range votes {
		if v.Firing.Reboot() {
			continue
		}
		key, value := encode(v)
		// A vote whose write was reported as failed may be there all the same.
		h.discount(key, b.Get(key))
		if err := b.Put(key, value); err != nil {
			return err
		}
		h.Votes++
		h.Sum += hashOf(key, value)
	}
	return nil
}

// remove deletes votes and discounts them.
func (h *head) remove(tx *bolt.Tx, votes []election.Vote) error {
	b := tx.Bucket(bucketVotes)
	for _, v := range votes {
		if v.Firing.Reboot() {
			continue
		}
		key, _ := encode(v)
		h.discount(key, b.Get(key))
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func (h *head) discount(key, value []byte) {
	if value != nil {
		h.Votes--
		h.Sum -= hashOf(key, value)
	}
}

// fill makes the buckets of an empty file.
func fill(tx *bolt.Tx, h head, votes []election.Vote) error {
	for _, name := range [][]byte{bucketHead, bucketVotes} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	h.Votes, h.Sum = 0, 0
	if err := h.add(tx, votes); err != nil {
		return err
	}
	return h.write(tx)
}

// read returns the head and all votes, after checking one against the other.
func read(tx *bolt.Tx) (head, []election.Vote, error) {
	heads, records := tx.Bucket(bucketHead), tx.Bucket(bucketVotes)
	if heads == nil || records == nil {
		return head{}, nil, fmt.Errorf("%w: it is no votes file", ErrDamaged)
	}
	h, err := parseHead(heads.Get(keyHead))
	if err != nil {
		return head{}, nil, err
	}
	var found head
	var votes []election.Vote
	if err := records.ForEach(func(key, value []byte) error {
		v, err := decode(key, value)
		if err != nil {
			return err
		}
		votes = append(votes, v)
		found.Votes++
		found.Sum += hashOf(key, value)
		return nil
	}); err != nil {
		return head{}, nil, err
	}
	if found.Votes != h.Votes || found.Sum != h.Sum {
		return head{}, nil, fmt.Errorf("%w: it has %d votes and should have %d, or some were changed", ErrDamaged, found.Votes, h.Votes)
	}
	return h, votes, nil
}

// instantLen is the length of the instant in a key.
const instantLen = 8

// encode returns the record of a vote.
func encode(v election.Vote) (key, value []byte) {
	key = make([]byte, 0, instantLen+len(v.Firing.Job))
	key = binary.BigEndian.AppendUint64(key, uint64(v.Firing.At.UnixNano())^(1<<63))
	key = append(key, v.Firing.Job...)
	return key, []byte(v.InstanceID)
}

// decode returns the vote of a record.
func decode(key, value []byte) (election.Vote, error) {
	if len(key) <= instantLen || value == nil {
		return election.Vote{}, fmt.Errorf("%w: record %x is no vote", ErrDamaged, key)
	}
	at := int64(binary.BigEndian.Uint64(key) ^ (1 << 63)) //nolint:gosec // the bits of a signed number
	return election.Vote{
		Firing:     election.Firing{Job: string(key[instantLen:]), At: time.Unix(0, at).UTC()},
		InstanceID: string(value),
	}, nil
}

// hashOf returns the hash of a record: FNV-1a over the length of the key, the key and
// the value. It is written out because it runs for every vote of every claim.
func hashOf(key, value []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for n := len(key); n > 0; n >>= 8 {
		h = (h ^ uint64(n&0xff)) * prime
	}
	h *= prime // ends the length
	for _, part := range [2][]byte{key, value} {
		for _, b := range part {
			h = (h ^ uint64(b)) * prime
		}
	}
	return h
}
