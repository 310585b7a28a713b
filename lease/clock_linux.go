package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// newClock returns a clock that counts the time of a sleeping machine.
func newClock() clock {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return since(time.Now())
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it worked before
		return time.Duration(ts.Nano())
	}
}
