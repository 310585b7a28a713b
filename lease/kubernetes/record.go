package kubernetes

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yacron2/yacron2/lease"
)

// tokenMark parts the identity of a holder from the token of its process.
const tokenMark = "#"

// holderID returns what this process writes as holder: the identity that people know and
// a token of its own.
func holderID(identity string) string {
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails
	return identity + tokenMark + hex.EncodeToString(token)
}

// nameOf returns the readable part of a holder.
func nameOf(holder string) string {
	if i := strings.LastIndex(holder, tokenMark); i > 0 {
		return holder[:i]
	}
	return holder
}

// holderOf returns the holder of a Lease, "" if it is free or there is none.
func holderOf(l *coordination.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func transitionsOf(l *coordination.Lease) int32 {
	if l.Spec.LeaseTransitions == nil {
		return 0
	}
	return *l.Spec.LeaseTransitions
}

// ownerOf is under which number the holder of the Lease claims.
func ownerOf(l *coordination.Lease) owner { return owner(transitionsOf(l)) } //nolint:gosec // the low bits are meant

// recordOf reads the leader record off a Lease; nil is one that does not exist.
func (s *Store) recordOf(l *coordination.Lease) lease.Record {
	r := lease.Record{
		Detail: map[string]any{"name": s.cfg.LeaseName, "namespace": s.cfg.LeaseNamespace, "identity": s.cfg.HolderIdentity},
		Opaque: l,
	}
	if l == nil {
		return r
	}
	r.HolderID = holderOf(l)
	r.Holder = nameOf(r.HolderID)
	r.Own = r.HolderID == s.id
	r.Version = versionOf(l)
	r.Released = r.HolderID == "" && l.Spec.AcquireTime != nil // and not: never held
	if r.HolderID != "" {
		r.HoldID = ownerOf(l).String()
		r.Stands = s.cfg.Duration
		if d := l.Spec.LeaseDurationSeconds; d != nil && *d > 0 {
			r.Stands = max(time.Duration(*d)*time.Second, minDuration)
		}
	}
	return r
}

// versionOf tells two states of the leader record apart. Annotations are no part of it:
// the running mark of a follower must not make a dead holder look alive.
func versionOf(l *coordination.Lease) string {
	duration := int32(0)
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		duration = *d
	}
	return fmt.Sprintf("%s/%s/%d/%d/%d/%d", l.UID, holderOf(l), micros(l.Spec.AcquireTime), micros(l.Spec.RenewTime), duration, transitionsOf(l))
}

func micros(t *meta.MicroTime) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// holding identifies one possession of the Lease, beyond the name of the holder: one that
// lost it and has it again holds anew.
type holding struct {
	uid         types.UID
	transitions int32
	acquired    int64 // µs since 1970
}

func holdingOf(l *coordination.Lease) holding {
	return holding{uid: l.UID, transitions: transitionsOf(l), acquired: micros(l.Spec.AcquireTime)}
}

// holds reports whether this process has the Lease by the very hold.
func (s *Store) holds(l *coordination.Lease, hold lease.Hold) bool {
	h, ok := hold.Opaque.(holding)
	return ok && l != nil && holderOf(l) == s.id && holdingOf(l) == h
}

// seconds is the duration as it stands in a record.
func seconds(d time.Duration) int32 {
	return int32(min(max(math.Ceil(d.Seconds()), 1), math.MaxInt32))
}

// micro returns the instant with the six digits that a Lease keeps.
func micro(t time.Time) *meta.MicroTime {
	m := meta.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

// tokenOf returns the fencing token of a write, 0 if the server's versions are no numbers
// that grow.
func tokenOf(l *coordination.Lease) uint64 {
	n, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func pointer[T any](v T) *T { return &v }
