package scheduler

import (
	"time"

	"github.com/yacron2/yacron2/election"
)

// handOver is how long peers take at most, when all is well, to hear that a node stops:
// it fires nothing any more, and they don't know yet.
const handOver = time.Second

// acquaintances remember since when the processes of the peers have been known as what
// they are, by this node's wall clock and instance id: on lease backends only the holder,
// by its hold.
type acquaintances map[string]acquaintance

type acquaintance struct {
	met      time.Time // when it was first seen to answer
	stopping time.Time // when it was first known to hand over; zero: it does not
}

// see takes in a new view. What is in no row any more is forgotten.
func (a acquaintances) see(v *election.View, now time.Time) acquaintances {
	next := make(acquaintances, len(a))
	if v == nil {
		return next
	}
	if l := v.Lease(); l != nil && l.Fresh && l.HolderID != "" {
		known, ok := a[l.HolderID]
		if !ok {
			known.met = now
		}
		next[l.HolderID] = known
	}
	for _, p := range v.Peers() {
		known, ok := a[p.InstanceID]
		if !ok && p.Status.Fresh() {
			known.met = now
		}
		if p.Stopping && known.stopping.IsZero() {
			known.stopping = now
		}
		next[p.InstanceID] = known
	}
	return next
}
