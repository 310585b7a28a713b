// Package simfault has what goes wrong in simulated clusters: the words in which the
// simulation of the election and that of whole agents describe a run, and which messages
// pass meanwhile. Nodes are numbered from 0.
package simfault

import (
	"fmt"
	"time"
)

// Kind says what goes wrong.
type Kind int

// The kinds. A simulation need not know all of them.
const (
	Cut       Kind = iota // nothing passes between A and B
	OneWay                // nothing passes from A to B
	Partition             // Mask against the rest
	Crash                 // A dies, and comes back after Last
	Grant                 // A dies when it is next granted something, and comes back
	Stop                  // A stops in peace, and comes back
	Freeze                // A is frozen
	Disk                  // A's durable writes fail
	Clock                 // A's clock is set by By, and back after Last
	Reload                // A alone gets another version of the jobs
	Roll                  // all get another version, one after the other
	Name                  // A's host name leads to B
	Kinds                 // their number
)

// Fault is one thing that goes wrong, or is done, for a while.
type Fault struct {
	Kind     Kind
	A, B     int
	Mask     uint // of nodes, 1<<i each
	By       time.Duration
	Version  int
	At, Last time.Duration // since the start of the run
}

// ActiveAt reports whether the fault is there at a time since the start of the run.
func (f Fault) ActiveAt(now time.Duration) bool { return f.At <= now && now < f.At+f.Last }

// Cuts reports whether it keeps messages of one node from another.
func (f Fault) Cuts(from, to int) bool {
	switch f.Kind {
	case Cut:
		return f.A == from && f.B == to || f.A == to && f.B == from
	case OneWay:
		return f.A == from && f.B == to
	case Partition:
		return f.Mask>>from&1 != f.Mask>>to&1
	}
	return false
}

// String says it in words, for whoever reads how a run went wrong.
func (f Fault) String() string {
	span := fmt.Sprintf("from %v for %v", f.At, f.Last)
	switch f.Kind {
	case Cut:
		return fmt.Sprintf("cut %d-%d %s", f.A, f.B, span)
	case OneWay:
		return fmt.Sprintf("cut %d→%d %s", f.A, f.B, span)
	case Partition:
		return fmt.Sprintf("partition %b %s", f.Mask, span)
	case Crash:
		return fmt.Sprintf("crash %d %s", f.A, span)
	case Grant:
		return fmt.Sprintf("crash %d at its first grant %s", f.A, span)
	case Stop:
		return fmt.Sprintf("stop %d %s", f.A, span)
	case Freeze:
		return fmt.Sprintf("freeze %d %s", f.A, span)
	case Disk:
		return fmt.Sprintf("disk of %d fails %s", f.A, span)
	case Clock:
		return fmt.Sprintf("clock of %d set by %v %s", f.A, f.By, span)
	case Reload:
		return fmt.Sprintf("%d reloads version %d at %v", f.A, f.Version, f.At)
	case Roll:
		return fmt.Sprintf("all reload version %d at %v", f.Version, f.At)
	case Name:
		return fmt.Sprintf("name of %d leads to %d %s", f.A, f.B, span)
	}
	return "?"
}
