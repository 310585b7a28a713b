package gossip

import "time"

// The pace of extra exchanges with one peer. A cluster that converges needs a handful
// of them in a row; a peer that announces without end gets no more than a steady few.
const (
	paceGap   = 25 * time.Millisecond // between two
	paceBurst = 20                    // in a row
	paceEvery = 100 * time.Millisecond
	// pacePeers is up to how many peers that holds. With more of them each gets its
	// share of what one node does in all: while a large cluster converges, everybody has
	// news for everybody, and one exchange can tell of many of them.
	pacePeers = 8
)

// pace says when the next extra exchange may run. It begins full.
type pace struct {
	gap, every time.Duration
	burst      int

	spent  int // of the burst
	filled time.Time
	last   time.Time // the newest exchange of any kind
}

// paceShare returns how many times rarer than with few peers things are done for each.
func paceShare(peers int) float64 { return max(float64(peers)/pacePeers, 1) }

// newPace returns the pace of one of so many peers.
func newPace(peers int) pace {
	share := paceShare(peers)
	return pace{
		gap:   time.Duration(share * float64(paceGap)),
		every: time.Duration(share * float64(paceEvery)),
		burst: max(int(paceBurst/share), 2),
	}
}

// wait returns how long the next extra exchange has to wait.
func (p *pace) wait(now time.Time) time.Duration {
	p.refill(now)
	var d time.Duration
	if !p.last.IsZero() {
		d = max(p.gap-now.Sub(p.last), 0)
	}
	if p.spent >= p.burst {
		d = max(d, p.every-now.Sub(p.filled))
	}
	return d
}

// ran notes an exchange; extra ones are paid for.
func (p *pace) ran(now time.Time, extra bool) {
	p.last = now
	if extra {
		p.refill(now)
		p.spent = min(p.spent+1, p.burst)
	}
}

// refill gives back what has been earned since the last time.
func (p *pace) refill(now time.Time) {
	n := int(now.Sub(p.filled) / p.every)
	if n <= 0 {
		return
	}
	if p.spent = max(p.spent-n, 0); p.spent == 0 {
		p.filled = now
		return
	}
	p.filled = p.filled.Add(time.Duration(n) * p.every)
}
