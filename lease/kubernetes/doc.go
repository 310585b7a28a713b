// Package kubernetes keeps the leader record in a Lease object of a Kubernetes API
// server: one coordination.k8s.io/v1 Lease, read with get, written with update, created
// once. A Role needs no more than these. Where it gives the right to watch the Lease too,
// other nodes notice at once that a leader has stopped, instead of at their next read; it
// is tried once, and nothing relies on it.
//
// # The object
//
// The spec is used as the leader election of the Kubernetes client library uses it:
//
//	holderIdentity        <identity>#<token>; empty once it was released
//	leaseDurationSeconds  how long the record stands unchanged
//	acquireTime           when the holder acquired it
//	renewTime             when it was last renewed
//	leaseTransitions      how often the holder changed
//
// The token is random and of this process alone, so that two processes of one identity
// are two holders. What else a cluster of agents has to agree on is in annotations:
//
//	yacron2/claims        the watermarks of the claims, see below
//	yacron2/holders       the names of the last holders, by leaseTransitions
//	yacron2/ran           which @reboot one-shots ran, by job-set id
//	yacron2/running.<id>  the running mark of one process
//
// Every write is an update of the whole object under the resourceVersion that it was
// computed from, so each is atomic with everything else: a claim is at the same time the
// proof that the claimant still holds the record. A write of a process that does not hold
// it (a mark, a one-shot that ran) leaves the spec alone, and the version by which
// challengers judge whether the holder is alive is of the spec alone.
//
// # Claims
//
// 256 KiB of annotations cannot hold every firing. For each job they hold a watermark:
// the scheduled instant that was claimed last, which is never lowered and outlives its
// holder. An instant above it can be claimed; then nobody can claim it again, nor any
// below. What lies between the old watermark and a new one belongs to the process that
// raised it, which therefore remembers these intervals: its older claims whose answers
// were lost, or that were overtaken by newer ones, are granted from memory.
//
// Next to the watermarks there is a floor: nothing scheduled at or before it can be
// claimed by anybody. It takes the place of watermarks that are dropped, since they are
// old or too many. A Lease that is created anew begins with a floor at the present, for
// what was claimed in one before it cannot be known.
//
// A claim for an instant that lies in the future by the clock of the API server is not
// written: a node whose clock is wrong would else take the firings of the others.
package kubernetes
