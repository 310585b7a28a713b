package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"
)

// Config describes one node that coordinates through a store.
type Config struct {
	// Backend is the store's kind as people call it: etcd, kubernetes or consul.
	Backend  string
	Identity Identity
	// JobSetID is the fingerprint of this node's jobs. SetJobSet replaces it.
	JobSetID string
	Timing   Timing
	Store    Store

	// NeedRunning reports whether a firing of the job may start only where it is known
	// that no other node runs it (its concurrency policy is Forbid or Replace); nil
	// means never. Guarded lists such jobs that run on this node, or are bound to; nil
	// means that none does. Both are called from several goroutines, with no lock that a
	// method of the Manager would wait for but Claim's own, and must return quickly.
	NeedRunning func(job string) bool
	Guarded     func() []string

	// Metrics takes counters and samples under yacron2.lease: read, renew, claim (ms
	// each, of successful calls), failure, acquired, lost. Nil takes none.
	Metrics metrics.MetricSink
	Logger  hclog.Logger // nil: silent

	// Now reads the wall clock, for what people see; nil is time.Now. No decision goes
	// by it.
	Now func() time.Time
	// Clock is steady, and should count the time that the machine sleeps; nil is the
	// system's. Everything goes by it.
	Clock func() time.Duration
}

// Timing is how often and how long a Manager asks its store.
type Timing struct {
	// Duration is how long the lease is asked to stand without a renewal. A read counts
	// as fresh for as long.
	Duration time.Duration
	// Floor is the shortest granted duration that is led on; a shorter one leaves no
	// time to lead once ClockMargin is taken off.
	Floor time.Duration
	// Renew is the pause between two renewals; with a shorter grant than Duration it is
	// shorter in proportion.
	Renew time.Duration
	// Observe is the pause between two reads while another node holds the lease.
	Observe time.Duration
	// Retry is the pause from the start of a call that failed to the next one.
	Retry time.Duration
	// Call bounds one call; a renewal may take RenewCall.
	Call, RenewCall time.Duration
}

// Validate reports what cannot work.
func (t Timing) Validate() error {
	var errs []error
	for _, v := range []struct {
		what string
		d    time.Duration
	}{
		{"duration", t.Duration}, {"floor", t.Floor}, {"renewal period", t.Renew}, {"observation period", t.Observe},
		{"retry period", t.Retry}, {"limit of a call", t.Call}, {"limit of a renewal", t.RenewCall},
	} {
		if v.d <= 0 {
			errs = append(errs, fmt.Errorf("lease %s: must be above 0, not %s", v.what, v.d))
		}
	}
	if t.Floor <= ClockMargin {
		errs = append(errs, fmt.Errorf("lease floor: must be above %s, not %s", ClockMargin, t.Floor))
	}
	if t.Duration < t.Floor {
		errs = append(errs, fmt.Errorf("lease duration: must be at least %s, not %s", t.Floor, t.Duration))
	}
	if t.Renew >= t.Duration-ClockMargin {
		errs = append(errs, fmt.Errorf("lease renewal period %s: leadership would end before each renewal, after %s", t.Renew, t.Duration-ClockMargin))
	}
	return errors.Join(errs...)
}
