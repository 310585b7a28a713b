package lease

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/yacron2/yacron2/election"
)

// ClockMargin is how much earlier than the store a holder considers its lease over.
const ClockMargin = time.Second

// What a Store reports besides failures of its own.
var (
	// ErrHeld: another process was faster to acquire the record.
	ErrHeld = errors.New("another node holds the lease")
	// ErrBarred: the record is free, and the store lets nobody hold it for now.
	ErrBarred = errors.New("the store keeps the lease free for now")
	// ErrLost: this process does not hold the record any more, for certain.
	ErrLost = errors.New("the lease is lost")
)

// Store is one record in a coordination store, and what is kept beside it, as one
// process uses it. All methods are safe for concurrent use, and give up when ctx ends;
// Acquire, Renew and Release are never called by two goroutines at once. An error that
// is none of these means that it is not known what the store did: it could not be reached,
// did not answer in time, or refused this node's credentials. Its text goes to the log and
// to people: it names what failed and what would be right, and no secret.
//
// A Store keeps no goroutine once its last call has returned, unless Close ends it.
type Store interface {
	// Read returns the record and its surroundings as they are now: not from a cache
	// of the store that may be behind.
	Read(ctx context.Context) (Snapshot, error)
	// Acquire makes this process the holder of the record, provided that it still is
	// as seen: free, or unchanged since (of a store whose records do not end by
	// themselves), or this process's own. It returns ErrHeld if somebody was faster, and
	// ErrBarred if the store lets nobody have it yet.
	Acquire(ctx context.Context, seen Record) (Hold, error)
	// Renew prolongs the hold. ErrLost means that it is over. The granted duration may
	// differ from the one before.
	Renew(ctx context.Context, hold Hold) (Hold, error)
	// Release frees the record for the next holder at once, and tells in the record
	// that it was given up on purpose. ErrLost if it was over before.
	Release(ctx context.Context, hold Hold) error
	// Watch calls changed, from one goroutine at a time, whenever another process may
	// have changed the record or its mark, until ctx ends or the store ends the watch
	// with an error. A store that cannot watch waits for the end of ctx. Watching makes
	// takeovers faster; nothing relies on it.
	Watch(ctx context.Context, changed func()) error

	// Claim gives scheduled firings to this process: each that no other process was
	// given before, ever. That is one operation in the store with the proof that the
	// hold stands, for as many firings at once as the store's limits allow; one that
	// is taken does not fail the others. mark, unless nil, is written in the same
	// operation, before any of the firings can start. The verdicts are in the order of
	// the firings; those that could not be settled are Pending, and then err tells
	// why: ErrLost, or a failure. A write whose answer was lost is read back before it
	// counts as anything. marks are those of other processes.
	Claim(ctx context.Context, hold Hold, firings []election.Firing, mark *Mark) (verdicts []election.Verdict, marks []Mark, err error)
	// Claimed tells what would become of scheduled firings: Denied, with the holder and
	// the hold if they are known, for those that a process was given or that are too old
	// to tell, else Pending.
	Claimed(ctx context.Context, firings []election.Firing) ([]election.Verdict, error)
	// ClaimReboot is Claim for @reboot one-shots under the job-set id. A grant is the
	// record that the job ran.
	ClaimReboot(ctx context.Context, hold Hold, jobSetID string, jobs []string, mark *Mark) (verdicts []election.Verdict, marks []Mark, err error)
	// MarkRan records, without a hold, that a one-shot ran under the job-set id.
	MarkRan(ctx context.Context, jobSetID, job string) error
	// SetMark replaces this process's running mark; one without jobs removes it.
	SetMark(ctx context.Context, mark Mark) error
	// DropMarks removes the marks of processes that are gone.
	DropMarks(ctx context.Context, instances []string) error

	// Tidy removes what the holder of the record has to remove from time to time, such
	// as old claims. now is the wall clock's, clock a steady one's. It is called about
	// once a minute, never by two goroutines at once.
	Tidy(ctx context.Context, hold Hold, now time.Time, clock time.Duration) error

	// Reload takes over credentials and certificates whose files changed, and returns
	// why it could not; then the ones in use stay. It is called about once a minute, and
	// does nothing if nothing changed.
	Reload() error
	// Close gives back what the store holds. It does not release the record.
	Close() error
}

// Identity is who a process is to its store.
type Identity struct {
	NodeName   string // for people; two processes may bear one
	InstanceID string // of this process alone
}

// Snapshot is what one Read tells.
type Snapshot struct {
	Record Record
	Ran    RanRecord
	Marks  []Mark // of all processes
}

// Record is the leader record as it was read.
type Record struct {
	// Holder is the name of the holder as people know it, "" if the record is free.
	Holder string
	// HolderID is different for every process that acquires the record; "" if it is
	// free.
	HolderID string
	// HoldID names this hold in verdicts on firings that were given under it, as their
	// HolderID; "" if the record is free.
	HoldID string
	// Own: this very process holds it, whatever its local deadline says.
	Own bool
	// Version changes whenever the record is written.
	Version string
	// Stands is how long the record keeps its holder although it does not change, if
	// the store leaves it to challengers to judge that; 0 if the store frees it.
	Stands time.Duration
	// Released: the record is free because its last holder gave it up.
	Released bool
	// Detail holds the store's own fields of the API's lease block.
	Detail map[string]any
	// Opaque is the store's own, handed back to Acquire.
	Opaque any
}

// Hold is this process's possession of the record.
type Hold struct {
	// Token is the fencing token: the store's index of the write that acquired the
	// record. It is the same for as long as the hold lasts, and grows from hold to
	// hold. 0: the store's indexes do not grow, and nothing can be claimed.
	Token uint64
	// Duration is how long the store grants the hold without a renewal, counted from
	// when the request was sent.
	Duration time.Duration
	// Opaque is the store's own.
	Opaque any
}

// Mark tells the other nodes which jobs that must not overlap run at a process.
type Mark struct {
	InstanceID string   `json:"instance"`
	NodeName   string   `json:"node"`
	Jobs       []string `json:"jobs"` // sorted
	// Beat grows with every write, so that others see that the process is alive.
	Beat uint64 `json:"beat"`
}

// RoomBeside returns how many of most bytes the mark, as JSON, leaves in one write; all of
// them if it is nil.
func (m *Mark) RoomBeside(most int) (int, error) {
	if m == nil {
		return most, nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	return most - len(data), nil
}
