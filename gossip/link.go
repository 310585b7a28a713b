package gossip

import (
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/election"
)

// linkLabel begins the name by which memberlist knows a configured peer. It can't be
// the beginning of an instance id.
const linkLabel = "peer-"

// The pace of one link.
const (
	firstPause   = 100 * time.Millisecond // after the first failed dial
	longestPause = 2 * time.Second
	kickGap      = 50 * time.Millisecond // between two dials, however often it is kicked
	jitterMax    = 5 * time.Millisecond  // before an extra exchange
)

// backoff returns the pause before the next dial after n failures in a row, n ≥ 1;
// random is in [0, 1).
func backoff(n int, random float64) time.Duration {
	d := longestPause
	if shift := n - 1; shift < 5 {
		d = min(firstPause<<shift, longestPause)
	}
	return d/2 + time.Duration(random*float64(d/2))
}

// dialFunc makes a connection.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// linkEnv is what links share.
type linkEnv struct {
	table    *table
	registry *registry
	creds    *credentials
	hello    hello
	timeout  time.Duration
	peers    int // how many links there are
	dial     dialFunc
	dials    *turnstile
	trades   *turnstile // of the exchanges
	handler  sessionHandler
	log      hclog.Logger
	// join runs one push/pull of memberlist with the peer of a label.
	join func(label string) error
	// learnt takes the @reboot jobs that a peer of the same job set knows to have run.
	learnt func(r *election.Report)
	count  func(name ...string)
	now    func() time.Time // to be compared with the peer's clock
}

// link is this node's own connection to one configured peer: it keeps a session open,
// exchanges state over it, and writes the peer's row.
type link struct {
	*linkEnv
	row    int
	host   string
	server string // the name that the certificate must carry

	kick    chan struct{}   // dial now
	want    chan struct{}   // an extra exchange
	renew   chan struct{}   // the credentials changed
	compare chan struct{}   // look at the peer's clock
	rounds  chan *roundCall // a scheduled round
	failed  int             // dials or first exchanges failed in a row
	dialled time.Time
	met     string     // the address to which the name led when a session was made last
	stale   bool       // the session was made with credentials that have changed since
	pending *roundCall // taken from rounds, not yet answered
	pace    pace
	known   known // what was fetched last

	mu      sync.Mutex
	session *session
	stream  *memberStream // of the exchange in flight
	openErr error
}

// roundCall asks a link for its part in a scheduled round; done is closed when its row
// has been written. whole asks for a whole exchange, whether there are news or not.
type roundCall struct {
	done  chan struct{}
	whole bool
}

func newLink(env *linkEnv, row int, host string) *link {
	return &link{
		linkEnv: env, row: row, host: host, server: serverName(host),
		kick: make(chan struct{}, 1), want: make(chan struct{}, 1), renew: make(chan struct{}, 1),
		compare: make(chan struct{}, 1),
		pace:    newPace(env.peers),
		rounds:  make(chan *roundCall, 1),
	}
}

func (l *link) label() string { return linkLabel + strconv.Itoa(l.row) }

// signal wakes a link without waiting for it.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// errSelf says that this very process answers at the configured host.
var errSelf = errors.New("this node's own address")

// run keeps the link up until ctx ends.
func (l *link) run(ctx context.Context) {
	for ctx.Err() == nil {
		s, err := l.connect(ctx)
		switch {
		case ctx.Err() != nil:
			if s != nil {
				l.detach(s, errStopped)
			}
			return
		case errors.Is(err, errSelf):
			l.recordSelf()
			l.pause(ctx, true)
		case err != nil:
			l.recordFailure(err)
			l.pause(ctx, false)
		default:
			l.serve(ctx, s)
			if ctx.Err() == nil && l.failed > 0 {
				l.pause(ctx, false)
			}
		}
	}
}

// pause waits before the next dial: for a while after a failure, for the next round if
// this process itself answers there.
func (l *link) pause(ctx context.Context, self bool) {
	var expired <-chan time.Time
	kick := l.kick
	if self {
		kick, l.failed = nil, 0
	} else {
		timer := time.NewTimer(backoff(max(l.failed, 1), rand.Float64())) //nolint:gosec // spreads attempts and keeps no secret
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-ctx.Done():
	case <-expired:
	case <-l.renew:
	case l.pending = <-l.rounds: // the dial that follows is its outcome
	case <-kick:
		if rest := kickGap - time.Since(l.dialled); rest > 0 {
			timer := time.NewTimer(rest)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
	}
}

// attach puts a session into service.
func (l *link) attach(s *session) {
	l.mu.Lock()
	l.session = s
	l.mu.Unlock()
	var ends time.Time
	if len(s.chain) > 0 {
		ends = s.chain[0].NotAfter
	}
	l.table.bind(l.row, s.instance, ends)
	l.registry.add(s)
	l.registry.rejudge()
	l.count("session", "opened")
}

// detach takes a session out of service and waits for its end.
func (l *link) detach(s *session, reason error) {
	s.close(reason)
	s.wait()
	l.registry.remove(s)
	l.mu.Lock()
	if l.session == s {
		l.session = nil
	}
	l.mu.Unlock()
}

// The reasons for which this node itself ends a session.
var (
	errStopped  = errors.New("this node stops")
	errReplaced = errors.New("replaced by a newer session")
)

// serve exchanges state over a session until it ends, and records its end.
func (l *link) serve(ctx context.Context, s *session) {
	l.attach(s)
	l.stale = false
	reason := errStopped
	defer func() { l.detach(s, reason) }()

	if reason = l.exchange(s, l.takeRound()); reason != nil {
		return
	}
	l.pace.ran(time.Now(), true)
	l.compareClock(s)
	var due <-chan time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		extra := false
		select {
		case <-ctx.Done():
			reason = errStopped
			return
		case <-s.ended:
			reason = s.reason
			l.recordFailure(reason)
			return
		case <-l.want:
			if due == nil {
				timer.Reset(l.pace.wait(time.Now()) + rand.N(jitterMax)) //nolint:gosec // likewise
				due = timer.C
			}
			continue
		case <-l.compare:
			l.compareClock(s)
			continue
		case <-due:
			due, extra = nil, true
			reason = l.exchange(s, nil)
		case r := <-l.rounds:
			l.pending = r
			if s, reason = l.reverify(ctx, s); reason == nil {
				reason = l.exchange(s, l.takeRound())
			}
		case <-l.renew:
			l.stale = true
			if s, reason = l.reverify(ctx, s); reason == nil {
				reason = l.exchange(s, nil)
			}
		}
		if reason != nil {
			return
		}
		l.pace.ran(time.Now(), extra)
	}
}

// reverify checks the certificates on which a session rests again: no session outlives
// them. If they are no longer good, or soon will not be, or this node's own have
// changed, a new session is opened before the old one ends, so that a rotation leaves
// no gap. It returns the session to go on with; after an error, which is recorded, that
// is none.
func (l *link) reverify(ctx context.Context, s *session) (*session, error) {
	bad := verifyChain(s.chain, l.creds.get().pool, l.server, x509.ExtKeyUsageServerAuth, time.Now())
	if bad == nil && !l.stale && !expiresSoon(s.chain) {
		return s, nil
	}
	next, err := l.connect(ctx)
	switch {
	case err == nil:
		l.attach(next)
		l.detach(s, errReplaced)
		l.stale = false
		return next, nil
	case bad != nil:
		l.recordFailure(bad)
		return s, bad
	}
	l.log.Debug("no new session to replace the old one yet", "peer", l.host, "error", clean(err.Error()))
	return s, nil
}

// expiresSoon reports whether a chain ends within the next minutes: the peer may have
// a newer one by now.
func expiresSoon(chain []*x509.Certificate) bool {
	return len(chain) > 0 && time.Until(chain[0].NotAfter) < renewBefore
}

const renewBefore = 5 * time.Minute

// takeRound returns the scheduled round that waits for this link's outcome, if any.
func (l *link) takeRound() *roundCall {
	if r := l.pending; r != nil {
		l.pending = nil
		return r
	}
	select {
	case r := <-l.rounds:
		return r
	default:
		return nil
	}
}

// recordFailure writes the row after a failed dial or the end of a session.
func (l *link) recordFailure(err error) {
	r := l.takeRound()
	l.failed++
	l.table.fail(l.row, *failureOf(err), r != nil, time.Now())
	if r != nil {
		close(r.done)
	}
}

// recordSelf writes the row of a configured host at which this process answers.
func (l *link) recordSelf() {
	r := l.takeRound()
	l.table.bind(l.row, l.hello.Instance, time.Time{})
	v := l.table.view()
	l.table.succeed(l.row, l.hello.Instance, state{report: election.Report{
		NodeName: v.NodeName(), InstanceID: v.InstanceID(), JobSetID: v.JobSetID(),
	}}, r != nil, time.Now())
	if r != nil {
		close(r.done)
	}
}
