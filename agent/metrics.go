package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	gometrics "github.com/hashicorp/go-metrics"
	metricsink "github.com/hashicorp/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// delayBuckets are the bounds, in seconds, of how late runs start.
var delayBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// metrics counts what happens on this agent, for as long as it lives: reloads of the
// configuration, of the API and of the cluster leave the counts alone.
type metrics struct {
	registry *prometheus.Registry
	sink     *metricsink.PrometheusSink // of the parts that count in go-metrics
	started  time.Time

	delay    *prometheus.HistogramVec
	claims   *prometheus.CounterVec
	asked    prometheus.Counter // claims
	decided  *prometheus.CounterVec
	reloads  *prometheus.CounterVec
	problems prometheus.Counter // of scrapes

	mu          sync.Mutex // guards what follows, and is never held over a call
	bounds      []float64  // of the histograms of run times
	jobs        map[string]*jobCounts
	sorted      []*jobCounts // the same by name; replaced as a whole
	applied     uint64       // configurations that jobs and bounds have followed
	quorate     bool
	leading     bool
	transitions struct{ quorum, leader float64 }
	files       struct { // of the configuration
		read, good bool      // once; the newest time
		goodAt     time.Time // when they were good last
	}
}

// newMetrics registers everything with a registry. A name that is taken there already
// is an error.
func newMetrics(registry *prometheus.Registry, now time.Time) (*metrics, error) {
	m := &metrics{registry: registry, started: now, bounds: config.DefaultBuckets(), jobs: make(map[string]*jobCounts)}
	m.delay = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "yacron2_firing_delay_seconds", Help: "Time from the scheduled instant of a firing to the start of its run.", Buckets: delayBuckets,
	}, []string{"trigger"})
	m.claims = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "yacron2_claims_total", Help: "Firings for which this node asked the cluster, by the verdict; late: there was none in time.",
	}, []string{"verdict"})
	m.asked = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "yacron2_claims_asked_total", Help: "Firings that this node asked the cluster for, each as often as it was asked for.",
	})
	m.decided = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "yacron2_firings_total", Help: "Firings that came due on this node, by what was decided.",
	}, []string{"outcome"})
	m.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "yacron2_config_reloads_total", Help: "Attempts to read the configuration again, by their result.",
	}, []string{"result"})
	m.problems = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "yacron2_scrape_errors_total", Help: "Scrapes that left something out.",
	})
	for _, trigger := range []scheduler.Trigger{scheduler.TriggerSchedule, scheduler.TriggerLate} {
		m.delay.WithLabelValues(string(trigger))
	}
	for _, verdict := range []string{claimGranted, claimDenied, claimLate} {
		m.claims.WithLabelValues(verdict)
	}
	for _, outcome := range decidedOutcomes {
		m.decided.WithLabelValues(outcome)
	}
	for _, result := range []string{resultSuccess, resultFailure} {
		m.reloads.WithLabelValues(result)
	}
	for _, c := range []prometheus.Collector{
		m.delay, m.claims, m.asked, m.decided, m.reloads, m.problems,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	var err error
	m.sink, err = metricsink.NewPrometheusSinkFrom(metricsink.PrometheusOpts{Registerer: registry, Name: "yacron2_go_metrics"})
	return m, err
}

// The verdicts on claims, and the results of reloads.
const (
	claimGranted = "granted"
	claimDenied  = "denied"
	claimLate    = "late"

	resultSuccess = "success"
	resultFailure = "failure"
)

// decidedOutcomes are final: a pending one is decided about again.
var decidedOutcomes = []string{
	scheduler.DecidedRun, scheduler.DecidedSkipped, scheduler.DecidedDenied, scheduler.DecidedMissed,
	scheduler.DecidedDeferred, scheduler.DecidedAbandoned, scheduler.DecidedRetired,
}

// expose shows what is counted together with the state of the moment.
func (a *Agent) expose(reports reportCounts) error {
	if a.opts.ProcessMetrics {
		if err := a.counts.takeProcess(); err != nil {
			return err
		}
	}
	return a.opts.Registry.Register(newCollector(collected{
		metrics:  a.counts,
		settings: a.settings,
		jobs:     func() []*scheduler.Job { return a.config.Load().Jobs },
		cluster:  a.coordination.State,
		reports:  reports,
		expiries: a.expiries,
	}))
}

// page is what a scrape shows.
func (a *Agent) page() *page { return &page{metrics: a.counts, states: a.dispatcher.Jobs} }

// takeProcess takes over what libraries count for the whole process.
func (m *metrics) takeProcess() error {
	cfg := gometrics.DefaultConfig("")
	cfg.EnableHostname, cfg.EnableRuntimeMetrics = false, false
	_, err := gometrics.NewGlobal(cfg, m.sink)
	return err
}

// observe takes one event of the dispatcher.
func (m *metrics) observe(e scheduler.Event) {
	switch e.Kind {
	case scheduler.FiringDecided, scheduler.RebootRetired:
		m.observeDecision(e.Decision)
	case scheduler.ClaimsAsked:
		m.asked.Add(float64(e.Asked))
	case scheduler.RunStarted:
		if !e.Firing.IsZero() && (e.Trigger == scheduler.TriggerSchedule || e.Trigger == scheduler.TriggerLate) {
			m.delay.WithLabelValues(string(e.Trigger)).Observe(max(0, e.At.Sub(e.Firing)).Seconds())
		}
	}
	if e.Job == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if counts := m.jobs[e.Job.Name]; counts != nil {
		counts.observe(e, m.bounds)
	}
}

func (m *metrics) observeDecision(d *scheduler.Decided) {
	if slices.Contains(decidedOutcomes, d.Outcome) {
		m.decided.WithLabelValues(d.Outcome).Inc()
	}
	switch d.Code {
	case scheduler.CodeGranted, scheduler.CodeRunningElsewhere:
		m.claims.WithLabelValues(claimGranted).Inc()
	case scheduler.CodeDenied:
		m.claims.WithLabelValues(claimDenied).Inc()
	case scheduler.CodeUnsettled:
		if d.Outcome == scheduler.DecidedMissed {
			m.claims.WithLabelValues(claimLate).Inc()
		}
	}
}

// loaded takes note of an attempt to read the configuration. What is wrong outside its
// files, such as a token that does not resolve, is not theirs.
func (m *metrics) loaded(status loadStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files.read, m.files.good = true, !status.problems.HasErrors()
	if m.files.good {
		m.files.goodAt = status.at
	}
}

// reloaded counts an attempt to read the configuration again.
func (m *metrics) reloaded(status loadStatus) {
	m.loaded(status)
	result := resultSuccess
	if status.failure != nil {
		result = resultFailure
	}
	m.reloads.WithLabelValues(result).Inc()
}

// viewChanged counts what the newest view changes in this node's standing; a nil view
// is none.
func (m *metrics) viewChanged(v *election.View) {
	quorate, leading := false, false
	if v != nil {
		quorate, leading = v.Quorate(), v.IsLeader() && v.Distribution() != election.Spread
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if quorate != m.quorate {
		m.quorate = quorate
		m.transitions.quorum++
	}
	if leading != m.leading {
		m.leading = leading
		m.transitions.leader++
	}
}

// apply takes over a configuration. Counts of jobs that are neither configured nor
// running are dropped; new bounds begin the histograms, and nothing else, anew.
func (m *metrics) apply(cfg *config.Config, running func(job string) bool) {
	bounds := config.DefaultBuckets()
	if cfg.Web != nil {
		bounds = cfg.Web.Metrics.DurationBuckets
	}
	configured := make(map[string]bool, len(cfg.Jobs))
	for _, j := range cfg.Jobs {
		configured[j.Name] = true
	}
	m.mu.Lock()
	names := make([]string, 0, len(m.jobs))
	for name := range m.jobs {
		names = append(names, name)
	}
	m.mu.Unlock()
	for _, name := range names {
		configured[name] = configured[name] || running(name)
	}
	order := slices.Sorted(maps.Keys(configured))

	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied++
	m.sorted = make([]*jobCounts, 0, len(order))
	for _, name := range order {
		counts := m.jobs[name]
		switch {
		case !configured[name]:
			delete(m.jobs, name)
			continue
		case counts == nil:
			counts = newJobCounts(name, len(bounds))
			m.jobs[name] = counts
		}
		m.sorted = append(m.sorted, counts)
	}
	if !slices.Equal(bounds, m.bounds) {
		m.bounds = bounds
		for _, counts := range m.jobs {
			counts.forgetDurations(len(bounds))
		}
	}
}

// countsChunk is how many jobs are copied in one go: an event must not wait for thousands.
const countsChunk = 256

// snapshot copies what is counted of each job, in the order of their names, and the bounds
// of their histograms.
func (m *metrics) snapshot() (jobs []jobCounts, bounds []float64) {
	for {
		if jobs, bounds, ok := m.trySnapshot(); ok {
			return jobs, bounds
		}
	}
}

// trySnapshot fails if a configuration is applied meanwhile.
func (m *metrics) trySnapshot() (jobs []jobCounts, bounds []float64, ok bool) {
	m.mu.Lock()
	order, bounds, applied := m.sorted, m.bounds, m.applied
	m.mu.Unlock()
	c := copies{jobs: make([]jobCounts, 0, len(order)), buckets: make([]uint64, 0, len(order)*len(bounds))}
	for chunk := range slices.Chunk(order, countsChunk) {
		m.mu.Lock()
		ok := m.applied == applied
		for _, counts := range chunk {
			if ok {
				c.add(counts)
			}
		}
		m.mu.Unlock()
		if !ok {
			return nil, nil, false
		}
	}
	return c.jobs, bounds, true
}

// recall takes the newest success and failure of each job from a history that outlived
// the process before.
func (m *metrics) recall(runs func(job string) []history.Run) {
	m.mu.Lock()
	names := make([]string, 0, len(m.jobs))
	for name := range m.jobs {
		names = append(names, name)
	}
	m.mu.Unlock()
	for _, name := range names {
		recorded := runs(name)
		m.mu.Lock()
		if counts := m.jobs[name]; counts != nil {
			for _, r := range recorded {
				counts.remember(r)
			}
		}
		m.mu.Unlock()
	}
}
