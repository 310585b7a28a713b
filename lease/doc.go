// Package lease coordinates the nodes through a record in a store that they already
// run: etcd, Kubernetes or Consul. Whoever holds the record leads, everybody else waits
// for it to become free.
//
// [Manager] is the part that all stores share: it acquires, renews and observes the
// record, lets leadership end by this process's own clock, claims firings, tells which
// jobs still run, and produces the [election.View] that the scheduler decides by. A
// [Store] is what differs between them.
//
// # What makes it safe
//
// A holder takes itself for one only until its last successful renewal + the lease's
// duration - [ClockMargin], counted from before the renewal was sent, by a clock that
// nobody sets. That keeps two nodes from acting at once. It does not make a firing run
// once: a process may stand still between its decision and the start. So each Leader
// firing is claimed in the store, in one operation with the proof that the claimant
// still holds the record, and no claim is given to two processes.
//
// The rules of observing a record and of taking over one that nobody renews follow the
// leader election of the Kubernetes client library: a challenger counts from its own
// first sight of the record as it is, never from a time that another machine wrote.
package lease
