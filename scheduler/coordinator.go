package scheduler

import (
	"context"

	"github.com/yacron2/yacron2/election"
)

// Coordinator is the seam between the dispatcher and whatever decides which node
// runs a firing: gossip, or a lease in a store. The agent owns its life cycle; the
// dispatcher only asks. All methods are safe for concurrent use.
type Coordinator interface {
	// Start connects and begins to take part. An error means that this node has
	// no coordination (the "no manager" rules apply) until a later Start.
	Start(ctx context.Context) error
	// Resign tells the cluster that this node stops: leadership moves at once,
	// while this node goes on answering (and voting) for its running jobs.
	Resign(ctx context.Context) error
	// Stop resigns, if that was not done yet, and ends every goroutine.
	Stop(ctx context.Context) error
	// View returns the newest snapshot, never nil after Start. After Stop it is the last
	// one, in which this node is stopping.
	View() *election.View
	// Updates is signalled (never blocking, coalesced) after the view changed.
	Updates() <-chan struct{}
	// Claim asks for the firings, one verdict each in order. It returns when every
	// firing is granted or denied, when nothing more can be learnt now, or when
	// ctx ends (then the rest is Pending).
	Claim(ctx context.Context, firings []election.Firing) []election.Verdict
	// RebootRan reports whether the job's @reboot one-shot is known to have run
	// under the current job-set id.
	RebootRan(job string) bool
	// MarkRebootRan records and tells the cluster that it runs now.
	MarkRebootRan(ctx context.Context, job string) error
}
