// Package simcluster simulates clusters of one to nine nodes. It has tests only.
//
// Every node runs the real election, the real voter and the real dispatcher. What is
// simulated is what surrounds them: the network between the nodes, the processes that a
// dispatcher starts, the disks that keep votes, and time. A run lives in a bubble of
// package testing/synctest, whose clock is the queue of its events: it goes on to the next
// event when nobody has anything left to do at this one. All that is random follows from
// the scenario's seed, and no two events share an instant, so a run is its scenario and
// nothing else.
//
// While a run goes on, a ledger notes who asked for what and what was started where. It
// complains at once when something happens that must never happen; what has to happen
// in good times is looked for at the end.
package simcluster
