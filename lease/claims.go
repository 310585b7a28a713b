package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// ClaimShards is how many records share the claims of one instant, so that each
	// stays within the limits of a store: 10,000 jobs with names of 128 characters make
	// records of less than 200 kB.
	ClaimShards = 8

	// ClaimAge is how long a record of claims is kept at least: longer than any firing
	// may start late. It goes only when its holder has seen it for as long by a steady
	// clock, and the wall clock says that its instant is as old.
	ClaimAge = 10 * time.Minute
)

// Claimant is the process to which a firing was given.
type Claimant struct {
	Token    uint64 `json:"token"`
	Instance string `json:"instance"`
	Node     string `json:"node"`
}

// Claims is one record of what was given to whom: one shard of the firings of one
// instant. The zero value is an empty record.
type Claims struct {
	Claimants []Claimant     `json:"claimants"`
	Jobs      map[string]int `json:"jobs"` // by name: an index of Claimants
}

// Claimant returns to whom the job's firing was given, if it was.
func (c *Claims) Claimant(job string) (Claimant, bool) {
	i, given := c.Jobs[job]
	if !given {
		return Claimant{}, false
	}
	return c.Claimants[i], true
}

// Give gives the job's firing to the claimant; it must not be given yet.
func (c *Claims) Give(job string, to Claimant) {
	i := slices.Index(c.Claimants, to)
	if i < 0 {
		i = len(c.Claimants)
		c.Claimants = append(c.Claimants, to)
	}
	if c.Jobs == nil {
		c.Jobs = map[string]int{}
	}
	c.Jobs[job] = i
}

// Clone returns a copy that can be given to.
func (c *Claims) Clone() Claims {
	out := Claims{Claimants: slices.Clone(c.Claimants), Jobs: make(map[string]int, len(c.Jobs)+1)}
	for job, i := range c.Jobs {
		out.Jobs[job] = i
	}
	return out
}

// Encode returns the record as it is stored.
func (c *Claims) Encode() ([]byte, error) { return json.Marshal(c) }

// DecodeClaims is the inverse of Encode; nothing at all is an empty record. A record that
// does not make sense is an error: what it holds must not be given again.
func DecodeClaims(data []byte) (Claims, error) {
	var c Claims
	if len(data) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return Claims{}, fmt.Errorf("record of claims: %w", err)
	}
	for job, i := range c.Jobs {
		if i < 0 || i >= len(c.Claimants) {
			return Claims{}, fmt.Errorf("record of claims: %q was given to claimant %d of %d", job, i, len(c.Claimants))
		}
	}
	return c, nil
}

// claimInstant has a fixed width and sorts like the instants it stands for.
const claimInstant = "20060102T150405.000000000Z"

// ClaimKey names the record of a firing, relative to those of its store: the instant,
// then the shard of the job. Keys sort by instant.
func ClaimKey(job string, at time.Time) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // never fails
	return ClaimPrefix(at) + strconv.FormatUint(uint64(h.Sum32()%ClaimShards), 10)
}

// ClaimPrefix is what the keys of an instant begin with, and no others.
func ClaimPrefix(at time.Time) string { return at.UTC().Format(claimInstant) + "/" }

// ParseClaimKey returns the instant of a key.
func ParseClaimKey(key string) (time.Time, error) {
	instant, shard, ok := strings.Cut(key, "/")
	if n, err := strconv.ParseUint(shard, 10, 8); !ok || err != nil || n >= ClaimShards {
		return time.Time{}, fmt.Errorf("claim key %q: want an instant, a slash and a number below %d", key, ClaimShards)
	}
	at, err := time.Parse(claimInstant, instant)
	if err != nil {
		return time.Time{}, fmt.Errorf("claim key %q: %w", key, err)
	}
	return at, nil
}

// FormatFloor writes a Pruning's floor as it is stored.
func FormatFloor(at time.Time) string { return at.UTC().Format(claimInstant) }

// ParseFloor is the inverse of FormatFloor; nothing at all is the zero instant.
func ParseFloor(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(claimInstant, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("floor of the claims: %w", err)
	}
	return at, nil
}

// Pruning decides which records of claims may go. The highest instant that ever went is
// the floor, kept in the store: nothing at or below it is given any more, since it may
// have been before. So no clock that is wrong, however far, makes a firing run twice.
type Pruning struct {
	seen sightings
}

// Due returns the floor up to which all records may go, of those with the given keys, in
// ascending order: zero if none may. now is the wall clock's, clock a steady one's.
func (p *Pruning) Due(keys []string, now time.Time, clock time.Duration) (floor time.Time, err error) {
	looks := make(map[string]string, len(keys))
	for _, key := range keys {
		looks[key] = ""
	}
	if p.seen == nil {
		p.seen = sightings{}
	}
	p.seen.see(looks, clock)
	var errs []error
	for _, key := range keys {
		at, err := ParseClaimKey(key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.seen.unchanged(key, clock) < ClaimAge || now.Sub(at) < ClaimAge {
			break
		}
		floor = at
	}
	return floor, errors.Join(errs...)
}
