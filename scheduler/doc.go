// Package scheduler turns jobs into firings and firings into runs.
//
// A Schedule says when a job is due, a Timetable keeps the place of every job in time;
// both are pure. A Dispatcher owns everything between due and run:
//
//	Timetable ── due ──> decide ── claim ──> launch ──> run ──> outcome
//	                       │         │         │                   │
//	                       └── parked└─ repeat └─ concurrency      ├─> History, events
//	                         (late start)                          └─> retry
//
// # Decisions
//
// Whether a due firing is this node's is decided by package election alone, from the
// Coordinator's newest view. A firing of a Leader job that is this node's is claimed
// before it runs, never before its instant, and asked for again until it is granted,
// denied or past the job's starting deadline. Each firing that is this node's ends in
// one way: it is started, denied, skipped because an instance still runs, or missed with
// a reason. What became of the newest firings of each job is kept; see Decisions.
//
// A firing that is another node's stays parked while it may still start. Should this
// node become its owner meanwhile, it is started late: a Leader firing if the cluster
// grants it, a PreferLeader firing if its former owner is gone or goes.
//
// # What may be relied on
//
// A firing that this process has claimed is never claimed again, so that a grant leads to
// one run: reloads, other coordinators and a clock that is set back included. What was
// granted is started even if the agent begins to stop, because nobody else ever will.
// Nothing slow holds up a tick: not a peer, a disk, a receiver of events, a process that
// takes its time to start or to end.
package scheduler
