package agent

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/yacron2/yacron2/scheduler"
)

// page gathers everything that is shown. The series of jobs, which are nearly all of
// them, do not go through the registry: it would sort and check each sample by itself.
type page struct {
	*metrics
	states func() []scheduler.JobStatus
	paused func(job string) bool
}

var _ prometheus.Gatherer = (*page)(nil)

// Gather implements prometheus.Gatherer. After an error the rest is there.
func (p *page) Gather() ([]*dto.MetricFamily, error) {
	families, err := p.registry.Gather()
	for _, f := range families {
		// What comes by go-metrics has no help of its own.
		if f.GetHelp() == f.GetName() {
			f.Help = proto.String("Counted by way of go-metrics; times are in milliseconds.")
			f.Name = proto.String(seriesName(f.GetName(), f.GetType()))
		}
	}
	states := p.states()
	b := builder{statuses: make([]*dto.LabelPair, len(countedOutcomes))}
	families = append(append(families, p.counted(&b)...), p.standing(&b, states)...)
	slices.SortStableFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// seriesName turns a name of go-metrics into one of Prometheus.
func seriesName(name string, kind dto.MetricType) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if kind == dto.MetricType_COUNTER && !strings.HasSuffix(name, "_total") {
		b.WriteString("_total")
	}
	return b.String()
}

func jobFamily(name, help string, kind dto.MetricType) *dto.MetricFamily {
	return &dto.MetricFamily{Name: proto.String("yacron2_job_" + name), Help: &help, Type: &kind}
}

// counted shows what was counted of each job, in the order of their names.
func (p *page) counted(b *builder) []*dto.MetricFamily {
	const counter, gauge = dto.MetricType_COUNTER, dto.MetricType_GAUGE
	var (
		runs          = jobFamily("runs_total", "Finished runs.", counter)
		duration      = jobFamily("duration_seconds", "How long runs took.", dto.MetricType_HISTOGRAM)
		retries       = jobFamily("retries_total", "Retries that were started.", counter)
		permanent     = jobFamily("permanent_failures_total", "Failures after which no retry was left.", counter)
		startFailures = jobFamily("start_failures_total", "Runs that could not be started.", counter)
		lastSuccess   = jobFamily("last_success_timestamp_seconds", "When a run last ended with success, in Unix time.", gauge)
		lastFailure   = jobFamily("last_failure_timestamp_seconds", "When a run last failed, in Unix time.", gauge)
		missed        = jobFamily("firings_missed_total", "Firings that did not run although this node was to run them.", counter)
	)
	for i, outcome := range countedOutcomes {
		b.statuses[i] = label("status", string(outcome))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.jobs)) {
		c := p.jobs[name]
		for i, n := range c.runs {
			b.counter(runs, n, c.label, b.statuses[i])
		}
		b.histogram(duration, c, p.bounds)
		b.counter(retries, c.retries, c.label)
		b.counter(permanent, c.permanent, c.label)
		b.counter(startFailures, c.startFailures, c.label)
		b.time(lastSuccess, c.lastSuccess, c.label)
		b.time(lastFailure, c.lastFailure, c.label)
		for _, code := range slices.Sorted(maps.Keys(c.missed)) {
			b.counter(missed, c.missed[code], c.label, label("reason", code))
		}
	}
	return []*dto.MetricFamily{runs, duration, retries, permanent, startFailures, lastSuccess, lastFailure, missed}
}

// standing shows how each job stands, in the order of the configuration.
func (p *page) standing(b *builder, jobs []scheduler.JobStatus) []*dto.MetricFamily {
	const gauge = dto.MetricType_GAUGE
	var (
		info         = jobFamily("info", "The schedule and the cluster policy of a job.", gauge)
		enabled      = jobFamily("enabled", "Whether a job is enabled.", gauge)
		paused       = jobFamily("paused", "Whether a pause keeps a job from firing on this node.", gauge)
		running      = jobFamily("running", "Running instances of a job.", gauge)
		next         = jobFamily("next_run_timestamp_seconds", "When a job is due next, in Unix time.", gauge)
		lastRun      = jobFamily("last_run_timestamp_seconds", "When the newest run ended, in Unix time.", gauge)
		lastDuration = jobFamily("last_run_duration_seconds", "How long the newest run took.", gauge)
		lastExit     = jobFamily("last_run_exit_code", "The exit code of the newest run, negative for signals.", gauge)
		lastSuccess  = jobFamily("last_run_success", "Whether the newest run succeeded.", gauge)
	)
	for i := range jobs {
		j := &jobs[i]
		job := label("job_name", j.Job.Name)
		b.gauge(info, 1, label("cluster_policy", string(j.Job.ClusterPolicy)), job, label("schedule", j.Job.ScheduleText))
		b.bool(enabled, j.Job.Enabled, job)
		b.bool(paused, p.paused(j.Job.Name), job)
		b.gauge(running, float64(j.Instances), job)
		if j.Job.Enabled {
			b.time(next, j.NextAt, job)
		}
		last := j.LastRun
		if last == nil {
			continue
		}
		b.time(lastRun, last.FinishedAt, job)
		if took := duration(*last); took != nil {
			b.gauge(lastDuration, *took, job)
		}
		if last.ExitCode != nil {
			b.gauge(lastExit, float64(*last.ExitCode), job)
		}
		b.bool(lastSuccess, last.Outcome == "success", job)
	}
	return []*dto.MetricFamily{info, enabled, paused, running, next, lastRun, lastDuration, lastExit, lastSuccess}
}

// builder makes samples. They are many and small, so they come from larger blocks.
type builder struct {
	statuses   []*dto.LabelPair
	metrics    block[dto.Metric]
	counters   block[dto.Counter]
	gauges     block[dto.Gauge]
	histograms block[dto.Histogram]
	buckets    block[dto.Bucket]
	numbers    block[float64]
	counts     block[uint64]
}

// block gives out values of one type.
type block[T any] struct {
	free []T
	size int // of the newest block
}

func (b *block[T]) next() *T {
	if len(b.free) == 0 {
		b.size = min(512, max(16, 2*b.size))
		b.free = make([]T, b.size)
	}
	v := &b.free[0]
	b.free = b.free[1:]
	return v
}

func (b *block[T]) of(v T) *T {
	p := b.next()
	*p = v
	return p
}

// add adds an empty sample.
func (b *builder) add(f *dto.MetricFamily, labels []*dto.LabelPair) *dto.Metric {
	m := b.metrics.next()
	m.Label = labels
	f.Metric = append(f.Metric, m)
	return m
}

func (b *builder) counter(f *dto.MetricFamily, n uint64, labels ...*dto.LabelPair) {
	c := b.counters.next()
	c.Value = b.numbers.of(float64(n))
	b.add(f, labels).Counter = c
}

func (b *builder) gauge(f *dto.MetricFamily, v float64, labels ...*dto.LabelPair) {
	g := b.gauges.next()
	g.Value = b.numbers.of(v)
	b.add(f, labels).Gauge = g
}

func (b *builder) bool(f *dto.MetricFamily, v bool, labels ...*dto.LabelPair) {
	n := 0.0
	if v {
		n = 1
	}
	b.gauge(f, n, labels...)
}

// time adds an instant in Unix time, unless it is zero.
func (b *builder) time(f *dto.MetricFamily, at time.Time, labels ...*dto.LabelPair) {
	if !at.IsZero() {
		b.gauge(f, unixSeconds(at), labels...)
	}
}

func (b *builder) histogram(f *dto.MetricFamily, c *jobCounts, bounds []float64) {
	h := b.histograms.next()
	h.SampleCount, h.SampleSum = b.counts.of(c.timed), b.numbers.of(c.duration)
	h.Bucket = make([]*dto.Bucket, len(bounds))
	sum := uint64(0)
	for i := range bounds {
		sum += c.buckets[i]
		bucket := b.buckets.next()
		bucket.UpperBound, bucket.CumulativeCount = &bounds[i], b.counts.of(sum)
		h.Bucket[i] = bucket
	}
	b.add(f, []*dto.LabelPair{c.label}).Histogram = h
}
