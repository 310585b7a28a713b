package lease

import "time"

// A clock returns the time since some instant, steadily: nobody sets it, and unlike the
// monotonic clock of most systems it goes on while the machine sleeps, as the store's
// does.
type clock func() time.Duration

// since is the clock of systems that have no better one.
func since(start time.Time) clock {
	return func() time.Duration { return time.Since(start) }
}
