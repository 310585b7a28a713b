package report

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// limits of time. They are those of defaultLimits but in tests.
type limits struct {
	report time.Duration // one report, with all its attempts and pauses
	pauses [attempts - 1]time.Duration

	mail     time.Duration // one mail
	mailStep time.Duration // the way to its login, and the message itself
	sentry   time.Duration // one request
	shell    time.Duration // one command, until SIGTERM
	kill     time.Duration // from there to SIGKILL
	statsd   time.Duration // the look-up of the server's address
}

func defaultLimits() limits {
	return limits{
		report:   3 * time.Minute,
		pauses:   [...]time.Duration{time.Second, 5 * time.Second},
		mail:     time.Minute,
		mailStep: 15 * time.Second, // a server that hangs is given up within seconds
		sentry:   30 * time.Second,
		shell:    time.Minute,
		kill:     5 * time.Second,
		statsd:   5 * time.Second,
	}
}

const (
	// queueBytes bounds the output that waits to be reported.
	queueBytes = 64 << 20

	// dropEvery is how often dropped reports are logged at most.
	dropEvery = 10 * time.Second
)

// Config is what a Reporter needs from outside; everything may be left out.
type Config struct {
	Logger  hclog.Logger
	Version string // of this program, for User-Agent and the like

	// Environ is the environment of shell reporters; nil is this process's own.
	Environ []string
	// Stdout and Stderr receive the output of shell reporters; nil are those of
	// this process.
	Stdout, Stderr *os.File
	// RootCAs are trusted in place of the system's.
	RootCAs *x509.CertPool
}

// Reporter delivers reports. It is safe for concurrent use.
type Reporter struct {
	cfg       Config
	limits    limits
	lanes     *lanes
	templates templates
	http      *http.Client
	failed    atomic.Uint64

	ctx      context.Context // of deliveries
	cancel   context.CancelFunc
	stopping chan struct{} // closed when pauses are over

	mu       sync.Mutex // guards what follows
	stopped  bool
	dropTold time.Time
}

// New returns a Reporter that works until Stop.
func New(cfg Config) *Reporter {
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.Stdout == nil {
		cfg.Stdout = os.Stdout
	}
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Reporter{
		cfg:      cfg,
		limits:   defaultLimits(),
		lanes:    newLanes(queueBytes),
		http:     newHTTPClient(cfg.RootCAs),
		ctx:      ctx,
		cancel:   cancel,
		stopping: make(chan struct{}),
	}
}

// Report queues r for every reporter of the hooks, which may be nil. It does not wait.
func (r *Reporter) Report(hooks *Hooks, report *Report) {
	if hooks == nil {
		return
	}
	if hooks.Mail != nil {
		r.queue(&mailDelivery{hooks.Mail}, report)
	}
	if hooks.Sentry != nil {
		r.queue(&sentryDelivery{hooks.Sentry}, report)
	}
	if hooks.Shell != nil {
		r.queue(&shellDelivery{hooks.Shell}, report)
	}
	if hooks.Webhook != nil {
		r.queue(&webhookDelivery{hooks.Webhook}, report)
	}
}

// delivery is one reporter of one hook.
type delivery interface {
	// kind is the name of the reporter in the configuration.
	kind() string
	// lane names the destination, for people never to see.
	lane(report *Report) string
	// secrets resolves what must not appear anywhere. It runs once a delivery.
	secrets() ([]string, error)
	// prepare renders everything and returns what sends it; nil if there is nothing
	// to send.
	prepare(r *Reporter, report *Report, secrets []string) (send func(context.Context) error, err error)
}

func (r *Reporter) queue(d delivery, report *Report) {
	key := d.kind() + " " + d.lane(report)
	if r.lanes.add(key, laneWidth, work{size: report.size(), do: func() { r.deliver(d, report) }}) {
		return
	}
	r.dropped(d.kind(), report.Job)
}

// dropped tells of reports for which there was no room, now and then.
func (r *Reporter) dropped(kind, job string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !r.dropTold.IsZero() && now.Sub(r.dropTold) < dropEvery {
		return
	}
	r.dropTold = now
	r.cfg.Logger.Warn("a report was dropped: too many wait, or the agent stops",
		"job", job, "reporter", kind, "dropped_so_far", r.lanes.drops())
}

// Dropped returns how many reports and statsd lines found no room.
func (r *Reporter) Dropped() uint64 { return r.lanes.drops() }

// Pending returns how many reports and statsd lines wait or are under way.
func (r *Reporter) Pending() int { return r.lanes.pending() }

// Failed returns how many reports were not delivered, after all attempts.
func (r *Reporter) Failed() uint64 { return r.failed.Load() }

// deliver sends one report, with a few attempts, and logs its failure once.
func (r *Reporter) deliver(d delivery, report *Report) {
	ctx, cancel := context.WithTimeout(r.ctx, r.limits.report)
	defer cancel()
	secrets, err := d.secrets()
	made := 0
	if err == nil {
		made, err = r.attempt(ctx, d, report, secrets)
	}
	if err == nil {
		return
	}
	r.failed.Add(1)
	log := []any{"job", report.Job, "hook", string(report.Hook), "reporter", d.kind(), "error", newRedactor(secrets...).error(err)}
	if report.RunID != "" {
		log = append(log, "run", report.RunID)
	}
	if made > 1 {
		log = append(log, "attempts", made)
	}
	r.cfg.Logger.Error("a report was not delivered", log...)
}

func (r *Reporter) attempt(ctx context.Context, d delivery, report *Report, secrets []string) (made int, err error) {
	send, err := d.prepare(r, report, secrets)
	if err != nil || send == nil {
		return 0, err
	}
	for {
		made++
		err = send(ctx)
		if err == nil {
			return made, nil
		}
		wait, again := r.pause(err, made)
		if !again || !r.sleep(ctx, wait) {
			return made, err
		}
	}
}

// sleep waits; false if the time is over or the Reporter stops.
func (r *Reporter) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-r.stopping:
	}
	return false
}

// Stop takes no more reports, delivers those that are queued, without second
// attempts, until ctx ends, and gives up the rest.
func (r *Reporter) Stop(ctx context.Context) error {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		close(r.stopping)
	}
	r.mu.Unlock()
	r.lanes.close()
	idle := make(chan struct{})
	go func() { // ends with the lanes, which are waited for below
		r.lanes.wait()
		close(idle)
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = fmt.Errorf("reports were given up: %w", ctx.Err())
	}
	r.cancel()
	<-idle
	r.http.CloseIdleConnections()
	return err
}

// write prepares the templates of a report.
func (r *Reporter) write(report *Report) writing {
	return writing{templates: &r.templates, variables: report.variables()}
}

// readSome reads at most n characters of an answer and ignores the rest.
func readSome(body io.Reader, n int) string {
	data, _ := io.ReadAll(io.LimitReader(body, int64(4*n)))
	text, _ := first(string(data), n)
	return text
}
