// Package election decides, and does nothing else: values in, verdicts out. It has no
// clock, no goroutine, no I/O and no hidden state; instants and randomness are
// arguments, and the voter's state is a value that its owner keeps.
//
// # From rows to a decision
//
// A node keeps one [Peer] row per configured peer. Every exchange with a peer, failed
// ones included, is an [Observation], and [Observe] is the only way in which a row
// changes. The rows and a few facts about the node itself are a [State]; [NewView]
// computes everything that follows from it once, and the [View] never changes
// afterwards. [Decide], [DecideRetry] and [DecideReboot] are the only places that say
// whether this node runs a job, always with a stable code and a reason in words.
// A lease backend fills in [Lease] instead of rows; nothing downstream can tell.
//
// The words used:
//
//	N, quorum     the cluster size, and its strict majority N/2 + 1
//	mutual        a peer that agrees with this node and says the same of this node
//	eligible      a mutual peer that can itself see a quorum, or a bridge candidate:
//	              what this node vouches for
//	bridge        a node out of reach that enough mutual peers agree with
//	contender     a node out of reach that might take itself for the owner
//	hold          the time in which a fresh manager's view still converges
//	twin          another process with this node's name
//
// # Claims
//
// Views differ for moments, so a view alone can't keep a firing from running twice.
// Before a Leader firing runs, its claimant asks all nodes, and each node gives its
// vote for a firing (job and scheduled instant) to one process only, ever. The claimant
// runs what a strict majority of N granted. Two majorities of one N share a node, and
// that node voted once, so no firing runs twice, whatever the views say.
//
// [Votes] is the memory of one voter. Judging is pure and recording explicit, so that
// the owner can make votes durable in between. The owner of a Votes value must keep to
// this order, and lets nothing else touch the value meanwhile:
//
//  1. b := votes.Judge(context, request)
//  2. votes.Record(b.Cast, clock)
//  3. with durable votes: write b.Cast and wait until it is on disk; several requests
//     may share one write if steps 1 and 2 are done for each of them in turn. If the
//     write fails: votes.Withdraw(b.Cast), and their answers become RefusedStorage.
//  4. only now send b.Answers, or act on them.
//
// Pruning is the same in reverse: p := votes.Expired(clock), write p.LowWater and the
// deletions in one transaction, then votes.Prune(p). A failed write prunes nothing.
//
// [NewVotes] is for a node that may have voted in an earlier life and forgotten it:
// scheduled firings from before its start are fenced off. [RestoreVotes] lifts the
// fence, so it is right only for a store that existed before this start, belongs to
// this node and can't have missed a vote.
//
// The claimant never asks before the scheduled instant by its own clock. It asks its
// peers first, keeps a [Tally] per firing, and casts its own vote through its own Votes
// when [Tally.OwnVoteDue] says so: last, so that an attempt without a chance leaves no
// vote behind. A granted firing is consumed: the claimant never asks for it again in
// this process, since voters grant a repeated request of the same process again.
//
// # One-shots
//
// The claim of an @reboot job is a firing with the zero instant, under the job-set id.
// Nothing but the records says whether it ran, so a grant is itself such a record
// ([Votes.RanJobs], [Votes.RanHolders]), to be told to the peers at once. A voter
// refuses what its records have for anybody else than the asking process, and refuses
// everything until it has taken in the state of enough peers since its start. The
// records live in memory: when all processes that knew are gone, it is a new boot.
//
// Two things follow for the claimant. It asks with Probe set first, and in earnest only
// when a majority would grant: a vote given before the cluster is ready would stand in
// the way of whoever leads when it is. And it gives a pending one-shot up for what ran
// elsewhere ([Votes.RanElsewhere]), not for its own votes on record.
package election
