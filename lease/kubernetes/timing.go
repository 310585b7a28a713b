package kubernetes

import (
	"time"

	"github.com/yacron2/yacron2/lease"
)

// minDuration is the shortest lease duration that a configuration may have. A record that
// says less was written by hand, and its holder does not renew it as often.
const minDuration = 4 * time.Second

// Timing returns how a Manager asks a Lease with these times of a configuration. Both the
// renewals of a holder and the reads of the others come once every retry period.
func Timing(duration, renewDeadline, retryPeriod time.Duration) lease.Timing {
	return lease.Timing{
		Duration:  duration,
		Floor:     2 * lease.ClockMargin,
		Renew:     retryPeriod,
		Observe:   retryPeriod,
		Retry:     retryPeriod,
		Call:      renewDeadline / 2,
		RenewCall: renewDeadline,
	}
}
