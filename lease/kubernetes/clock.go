package kubernetes

import (
	"time"

	"github.com/yacron2/yacron2/election"
)

// maxAhead is how far in the future of the API server an instant may lie that is claimed.
// A node whose clock is hours ahead would else claim the firings of hours to come. It
// does no harm to claim a little early, so that there is no need to be strict: clocks
// that differ that little only make the firings of the one node early.
const maxAhead = time.Minute

// serverClock is what is known of the clock of the API server.
type serverClock struct {
	date time.Time // as the newest answer told, in whole seconds; zero: never told
	sent time.Time // when that was asked for
}

func (c *serverClock) learn(a answer) {
	if !a.date.IsZero() && a.sent.After(c.sent) {
		c.date, c.sent = a.date, a.sent
	}
}

// latest is what the server's clock shows at most.
func (c *serverClock) latest() (t time.Time, known bool) {
	return c.date.Add(time.Second + time.Since(c.sent)), !c.date.IsZero()
}

// floor returns the floor of a Lease that is new: nothing that was claimed in one before
// it can lie above. The clock of this node is believed as far as it agrees with that of
// the server. Others may be ahead of either by what clocks may differ; and nobody claims
// what lies further in the future than maxAhead.
func (c *serverClock) floor(wall time.Time) instant {
	now, most := wall, wall.Add(maxAhead)
	if latest, known := c.latest(); known {
		most = latest.Add(maxAhead)
		if earliest := latest.Add(-time.Second); wall.Before(earliest) {
			now = latest
		}
	}
	at := now.Add(election.ClockSkew)
	if at.After(most) {
		at = most
	}
	return instantOf(at)
}
