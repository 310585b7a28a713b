package kubernetes

import (
	"time"

	"github.com/yacron2/yacron2/lease"
)

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
