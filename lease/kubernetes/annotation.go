package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/lease"
)

// The annotations of a Lease that are ours.
const (
	claimsKey   = "yacron2/claims"
	holdersKey  = "yacron2/holders"
	ranKey      = "yacron2/ran"
	runningKeys = "yacron2/running." // and the instance id
)

const (
	// maxAnnotations is how many bytes the names and values of all annotations of an
	// object may have together.
	maxAnnotations = 256 << 10
	// maxHolders is how many holders are remembered by name.
	maxHolders = 16
)

// annotationName is what may follow the slash in the name of an annotation.
var annotationName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,50}[A-Za-z0-9])?$`)

// runningKey names the annotation of a process's running mark.
func runningKey(instance string) string {
	if !annotationName.MatchString(instance) {
		sum := sha256.Sum256([]byte(instance))
		instance = hex.EncodeToString(sum[:16])
	}
	return runningKeys + instance
}

// storedMark is a running mark as it is stored.
type storedMark struct {
	lease.Mark
	// Written, in seconds since 1970, orders marks by age should they become too many.
	Written int64 `json:"written"`
}

// marksOf returns the running marks of all processes, by instance.
func marksOf(l *coordination.Lease) []lease.Mark {
	marks := []lease.Mark{}
	if l == nil {
		return marks
	}
	for key, text := range l.Annotations {
		var m storedMark
		if strings.HasPrefix(key, runningKeys) && json.Unmarshal([]byte(text), &m) == nil && m.InstanceID != "" {
			marks = append(marks, m.Mark)
		}
	}
	slices.SortFunc(marks, func(a, b lease.Mark) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
	return marks
}

// setMark writes a running mark, or removes one without jobs, and reports whether that
// changes anything.
func (s *Store) setMark(l *coordination.Lease, mark lease.Mark) (changed bool, err error) {
	key := runningKey(mark.InstanceID)
	if len(mark.Jobs) == 0 {
		_, there := l.Annotations[key]
		delete(l.Annotations, key)
		return there, nil
	}
	text, err := json.Marshal(storedMark{Mark: mark, Written: s.cfg.WallClock().Unix()})
	if err != nil {
		return false, err
	}
	annotate(l, key, string(text))
	return true, nil
}

func annotate(l *coordination.Lease, key, text string) {
	if l.Annotations == nil {
		l.Annotations = make(map[string]string)
	}
	l.Annotations[key] = text
}

// claimsOf reads the watermarks.
func claimsOf(l *coordination.Lease) (*claims, error) { return decodeClaims(l.Annotations[claimsKey]) }

// ranOf reads which one-shots ran.
func ranOf(l *coordination.Lease) (lease.RanRecord, error) {
	if l == nil {
		return lease.RanRecord{}, nil
	}
	return lease.DecodeRan([]byte(l.Annotations[ranKey]))
}

func setRan(l *coordination.Lease, ran lease.RanRecord) error {
	text, err := ran.Encode()
	if err == nil {
		annotate(l, ranKey, string(text))
	}
	return err
}

// pastHolder is a holder by the number under which it claimed.
type pastHolder struct {
	Number owner  `json:"number"`
	Name   string `json:"name"`
}

// holdersOf returns the last holders, the newest last. Who cannot be read is not known.
func holdersOf(l *coordination.Lease) []pastHolder {
	var holders []pastHolder
	if json.Unmarshal([]byte(l.Annotations[holdersKey]), &holders) != nil {
		return nil
	}
	return holders
}

// addHolder notes the holder of the Lease by name.
func addHolder(l *coordination.Lease) error {
	number := ownerOf(l)
	holders := slices.DeleteFunc(holdersOf(l), func(h pastHolder) bool { return h.Number == number })
	holders = append(holders, pastHolder{Number: number, Name: nameOf(holderOf(l))})
	if n := len(holders) - maxHolders; n > 0 {
		holders = holders[n:]
	}
	text, err := json.Marshal(holders)
	if err == nil {
		annotate(l, holdersKey, string(text))
	}
	return err
}

// claimant returns the name of the holder that claimed under the number, "" if it is not
// known any more.
func claimant(l *coordination.Lease, number owner) string {
	for _, h := range slices.Backward(holdersOf(l)) {
		if h.Number == number {
			return h.Name
		}
	}
	return ""
}

// errNoRoom: nothing more can be dropped.
var errNoRoom = errors.New("it is full")

// fit drops what is least missed until all annotations have room in a Lease: first job
// sets of one-shots but the newest, then running marks, the oldest first, but not that
// of the process itself. Watermarks always have room.
func fit(l *coordination.Lease, self string) error {
	size := annotationSize(l)
	for size > maxAnnotations {
		if ran, err := ranOf(l); err == nil && ran.Sets() > 1 {
			if err := setRan(l, ran.DropOldest()); err != nil {
				return err
			}
		} else if key := oldestMark(l, runningKey(self)); key != "" {
			delete(l.Annotations, key)
		} else {
			return fmt.Errorf("%w: its annotations would have %d bytes, and there is room for %d (claims %d, one-shots that ran %d, running jobs %d, annotations of others %d)",
				errNoRoom, size, maxAnnotations, len(l.Annotations[claimsKey]), len(l.Annotations[ranKey]), len(l.Annotations[runningKey(self)]), foreignSize(l))
		}
		size = annotationSize(l)
	}
	return nil
}

func annotationSize(l *coordination.Lease) int {
	size := 0
	for key, text := range l.Annotations {
		size += len(key) + len(text)
	}
	return size
}

// foreignSize is what annotations that are not ours take of the room.
func foreignSize(l *coordination.Lease) int {
	size := 0
	for key, text := range l.Annotations {
		if key != claimsKey && key != holdersKey && key != ranKey && !strings.HasPrefix(key, runningKeys) {
			size += len(key) + len(text)
		}
	}
	return size
}

// oldestMark names the annotation of the running mark that was written first, except one;
// "" if there is none.
func oldestMark(l *coordination.Lease, except string) string {
	oldest, written := "", int64(0)
	for _, key := range slices.Sorted(maps.Keys(l.Annotations)) {
		if key == except || !strings.HasPrefix(key, runningKeys) {
			continue
		}
		var m storedMark
		if json.Unmarshal([]byte(l.Annotations[key]), &m) != nil {
			m.Written = 0
		}
		if oldest == "" || m.Written < written {
			oldest, written = key, m.Written
		}
	}
	return oldest
}
