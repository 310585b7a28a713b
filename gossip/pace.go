package gossip

import "time"

// The pace of extra exchanges with one peer. A cluster that converges needs a handful
// of them in a row; a peer that announces without end gets no more than a steady few.
const (
	paceGap   = 25 * time.Millisecond // between two
	paceBurst = 20                    // in a row
	paceEvery = 100 * time.Millisecond
)

// pace says when the next extra exchange may run. The zero value is ready, and full.
type pace struct {
	spent  int // of the burst
	filled time.Time
	last   time.Time // the newest exchange of any kind
}

// wait returns how long the next extra exchange has to wait.
func (p *pace) wait(now time.Time) time.Duration {
	p.refill(now)
	var d time.Duration
	if !p.last.IsZero() {
		d = max(paceGap-now.Sub(p.last), 0)
	}
	if p.spent >= paceBurst {
		d = max(d, paceEvery-now.Sub(p.filled))
	}
	return d
}

// ran notes an exchange; extra ones are paid for.
func (p *pace) ran(now time.Time, extra bool) {
	p.last = now
	if extra {
		p.refill(now)
		p.spent = min(p.spent+1, paceBurst)
	}
}

// refill gives back what has been earned since the last time.
func (p *pace) refill(now time.Time) {
	n := int(now.Sub(p.filled) / paceEvery)
	if n <= 0 {
		return
	}
	if p.spent = max(p.spent-n, 0); p.spent == 0 {
		p.filled = now
		return
	}
	p.filled = p.filled.Add(time.Duration(n) * paceEvery)
}
