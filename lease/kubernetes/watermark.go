package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxJobs is how many jobs with claimed firings one Lease has room for: a configuration
// with more Leader jobs cannot be coordinated through it.
const MaxJobs = 10_000

const (
	// forget is the age from which a watermark is not worth its room: no firing that
	// old is asked for any more, and the floor still refuses it.
	forget = 24 * time.Hour

	// The binary form: the form's version and the floor, then all marks by job.
	claimsForm   = 1
	claimsHeader = 1 + instantSize
	instantSize  = 5 // seconds since 1970, big-endian: until the year 36812
	markSize     = 8 + instantSize + 2
	maxInstant   = instant(1)<<(8*instantSize) - 1
)

// instant is a scheduled instant in seconds since 1970. Schedules know no shorter unit;
// a fraction would be rounded up.
type instant int64

func instantOf(t time.Time) instant {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return min(max(instant(s), 0), maxInstant)
}

func (i instant) time() time.Time { return time.Unix(int64(i), 0).UTC() }

func (i instant) String() string { return i.time().Format(time.RFC3339) }

// jobKey stands for a job's name. Among 10,000 jobs, two have the same key with a
// probability of 3 in 10^12.
type jobKey uint64

func keyOf(job string) jobKey {
	sum := sha256.Sum256([]byte(job))
	return jobKey(binary.BigEndian.Uint64(sum[:]))
}

// owner is the leaseTransitions under which something was claimed, of which the low bits
// tell holders apart that are at all recent.
type owner uint16

func (o owner) String() string { return strconv.FormatUint(uint64(o), 10) }

// watermark is the last claimed instant of one job.
type watermark struct {
	job jobKey
	at  instant
	by  owner
}

// claims is what was claimed in one Lease. The zero value has claimed nothing, ever.
type claims struct {
	floor instant
	marks []watermark // by job, each once
}

func byJob(w watermark, job jobKey) int { return cmp.Compare(w.job, job) }

// last returns the watermark of a job, which is not below the floor.
func (c *claims) last(job jobKey) (w watermark, claimed bool) {
	i, found := slices.BinarySearchFunc(c.marks, job, byJob)
	if found && c.marks[i].at > c.floor {
		return c.marks[i], true
	}
	return watermark{job: job, at: c.floor}, false
}

// raise moves watermarks up, each job's at most once; it never moves one down.
func (c *claims) raise(ws []watermark) {
	known := len(c.marks)
	for _, w := range ws {
		i, found := slices.BinarySearchFunc(c.marks[:known], w.job, byJob)
		switch {
		case !found:
			c.marks = append(c.marks, w)
		case c.marks[i].at < w.at:
			c.marks[i] = w
		}
	}
	if len(c.marks) > known {
		slices.SortFunc(c.marks, func(a, b watermark) int { return cmp.Compare(a.job, b.job) })
	}
}

// prune drops watermarks that are older than before, and the oldest ones while there are
// more than most. The floor takes their place, so that nothing becomes free by it.
func (c *claims) prune(before instant, most int) {
	if n := len(c.marks) - most; n > 0 {
		at := make([]instant, len(c.marks))
		for i, w := range c.marks {
			at[i] = w.at
		}
		slices.Sort(at)
		// All of one instant go together: the floor refuses that instant anyway.
		before = max(before, at[n-1]+1)
	}
	c.marks = slices.DeleteFunc(c.marks, func(w watermark) bool {
		if w.at >= before {
			return false
		}
		c.floor = max(c.floor, w.at)
		return true
	})
}

// encode returns the text that decodeClaims reads.
func (c *claims) encode() string {
	b := make([]byte, 0, claimsHeader+markSize*len(c.marks))
	b = append(b, claimsForm)
	b = appendInstant(b, c.floor)
	for _, w := range c.marks {
		b = binary.BigEndian.AppendUint64(b, uint64(w.job))
		b = appendInstant(b, w.at)
		b = binary.BigEndian.AppendUint16(b, uint16(w.by))
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

func appendInstant(b []byte, i instant) []byte {
	return append(b, byte(i>>32), byte(i>>24), byte(i>>16), byte(i>>8), byte(i)) //nolint:gosec // each byte in turn
}

func readInstant(b []byte) instant {
	return instant(b[0])<<32 | instant(binary.BigEndian.Uint32(b[1:]))
}

var (
	// errNoClaims: there is no record of claims.
	errNoClaims = errors.New("the Lease has no record of claims")
	// errClaimsForm: there is one, which must be left alone.
	errClaimsForm = errors.New("the record of claims was written by another version")
)

// decodeClaims reads the text of an annotation. Whatever encode cannot have written is an
// error, since a record that was damaged must not make a firing free again.
func decodeClaims(text string) (*claims, error) {
	if text == "" {
		return nil, errNoClaims
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	switch {
	case strings.ContainsAny(text, "\r\n"): // which the decoder passes over
		return nil, errors.New("the record of claims is damaged: it has line breaks")
	case err != nil:
		return nil, fmt.Errorf("the record of claims is damaged: %w", err)
	case len(b) < claimsHeader:
		return nil, errors.New("the record of claims is damaged: it is cut off")
	case b[0] != claimsForm:
		return nil, fmt.Errorf("%w: its form is %d, and %d is known", errClaimsForm, b[0], claimsForm)
	case (len(b)-claimsHeader)%markSize != 0:
		return nil, errors.New("the record of claims is damaged: it is cut off")
	}
	c := &claims{floor: readInstant(b[1:])}
	b = b[claimsHeader:]
	c.marks = make([]watermark, 0, len(b)/markSize+1)
	for ; len(b) > 0; b = b[markSize:] {
		w := watermark{job: jobKey(binary.BigEndian.Uint64(b)), at: readInstant(b[8:]), by: owner(binary.BigEndian.Uint16(b[8+instantSize:]))}
		if n := len(c.marks); n > 0 && c.marks[n-1].job >= w.job {
			return nil, errors.New("the record of claims is damaged: it is not in order")
		}
		c.marks = append(c.marks, w)
	}
	return c, nil
}
