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

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/version"
	"github.com/yacron2/yacron2/scheduler"
)

// collected are the components whose state is shown beside what is counted.
type collected struct {
	*metrics
	settings  func() settings
	jobStates func() []scheduler.JobStatus
	cluster   func() (*election.View, error)
	paused    func(job string) bool
	dropped   func() uint64 // reports
	expiries  func() []expiry
}

// series is a metric family that the collector gives out.
type series struct {
	desc *prometheus.Desc
	kind dto.MetricType
	name string
}

// The series that show the state of a job, which are given out in the order of the
// configuration.
var jobStateSeries = []string{
	"yacron2_job_info", "yacron2_job_enabled", "yacron2_job_paused", "yacron2_job_running", "yacron2_job_next_run_timestamp_seconds",
	"yacron2_job_last_run_timestamp_seconds", "yacron2_job_last_run_duration_seconds",
	"yacron2_job_last_run_exit_code", "yacron2_job_last_run_success",
}

func gaugeSeries(name, help string, labels ...string) series {
	name = "yacron2_" + name
	return series{prometheus.NewDesc(name, help, labels, nil), dto.MetricType_GAUGE, name}
}

func counterSeries(name, help string, labels ...string) series {
	s := gaugeSeries(name, help, labels...)
	s.kind = dto.MetricType_COUNTER
	return s
}

// catalog lists every series of the collector.
type catalog struct {
	info, start, jobSet, jobs             series
	reloadOK, reloadedAt, reportsDropped  series
	certificate                           series
	runs, duration, retries, permanent    series
	startFailures, lastSuccess, lastFail  series
	missed                                series
	jobInfo, enabled, paused, running     series
	next, lastRun, lastDuration, lastExit series
	lastOK                                series
	clusterEnabled, leaderTransitions     series
	quorumTransitions, clusterInfo        series
	size, quorum, quorate, isLeader       series
	leaderInfo, conflict, peers           series
}

func newCatalog() catalog {
	histogram := gaugeSeries("job_duration_seconds", "How long runs took.", "job_name")
	histogram.kind = dto.MetricType_HISTOGRAM
	return catalog{
		info:   gaugeSeries("info", "The version of this agent.", "version"),
		start:  gaugeSeries("start_time_seconds", "When this agent started, in Unix time."),
		jobSet: gaugeSeries("job_set_info", "The fingerprint of the configured jobs.", "job_set_id"),
		jobs:   gaugeSeries("jobs", "Configured jobs.", "state"),

		reloadOK:       gaugeSeries("config_last_reload_successful", "Whether the newest attempt to read the configuration succeeded."),
		reloadedAt:     gaugeSeries("config_last_reload_success_timestamp_seconds", "When the configuration was last read with success, in Unix time."),
		reportsDropped: counterSeries("reports_dropped_total", "Reports that found no room in their queue."),
		certificate:    gaugeSeries("certificate_expiry_timestamp_seconds", "When a certificate that this agent uses ends, in Unix time.", "use"),

		runs:          counterSeries("job_runs_total", "Finished runs.", "job_name", "status"),
		duration:      histogram,
		retries:       counterSeries("job_retries_total", "Retries that were started.", "job_name"),
		permanent:     counterSeries("job_permanent_failures_total", "Failures after which no retry was left.", "job_name"),
		startFailures: counterSeries("job_start_failures_total", "Runs that could not be started.", "job_name"),
		lastSuccess:   gaugeSeries("job_last_success_timestamp_seconds", "When a run last ended with success, in Unix time.", "job_name"),
		lastFail:      gaugeSeries("job_last_failure_timestamp_seconds", "When a run last failed, in Unix time.", "job_name"),
		missed:        counterSeries("job_firings_missed_total", "Firings that did not run although this node was to run them.", "job_name", "reason"),

		jobInfo:      gaugeSeries("job_info", "The schedule and the cluster policy of a job.", "cluster_policy", "job_name", "schedule"),
		enabled:      gaugeSeries("job_enabled", "Whether a job is enabled.", "job_name"),
		paused:       gaugeSeries("job_paused", "Whether a pause keeps a job from firing on this node.", "job_name"),
		running:      gaugeSeries("job_running", "Running instances of a job.", "job_name"),
		next:         gaugeSeries("job_next_run_timestamp_seconds", "When a job is due next, in Unix time.", "job_name"),
		lastRun:      gaugeSeries("job_last_run_timestamp_seconds", "When the newest run ended, in Unix time.", "job_name"),
		lastDuration: gaugeSeries("job_last_run_duration_seconds", "How long the newest run took.", "job_name"),
		lastExit:     gaugeSeries("job_last_run_exit_code", "The exit code of the newest run, negative for signals.", "job_name"),
		lastOK:       gaugeSeries("job_last_run_success", "Whether the newest run succeeded.", "job_name"),

		clusterEnabled:    gaugeSeries("cluster_enabled", "Whether this agent takes part in a cluster."),
		leaderTransitions: counterSeries("cluster_leader_transitions_total", "How often this node became the leader or ceased to be."),
		quorumTransitions: counterSeries("cluster_quorum_transitions_total", "How often this node gained or lost its quorum."),
		clusterInfo:       gaugeSeries("cluster_info", "The cluster as this node is configured for it.", "backend", "distribution", "node_name"),
		size:              gaugeSeries("cluster_size", "Configured nodes, this one included."),
		quorum:            gaugeSeries("cluster_quorum", "Nodes that make a majority."),
		quorate:           gaugeSeries("cluster_quorate", "Whether a majority is in mutual agreement."),
		isLeader:          gaugeSeries("cluster_is_leader", "Whether this node leads."),
		leaderInfo:        gaugeSeries("cluster_leader_info", "The leader as this node sees it.", "leader"),
		conflict:          gaugeSeries("cluster_conflict", "Whether nodes contradict each other.", "kind"),
		peers:             gaugeSeries("cluster_peers", "Peers by their status.", "status"),
	}
}

// collector gives out what is counted and how things stand.
type collector struct {
	collected
	catalog
}

var _ prometheus.Collector = (*collector)(nil)

func newCollector(c collected) *collector { return &collector{c, newCatalog()} }

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range c.all() {
		out <- s.desc
	}
}

func (c *catalog) all() []series {
	return []series{
		c.info, c.start, c.jobSet, c.jobs, c.reloadOK, c.reloadedAt, c.reportsDropped, c.certificate,
		c.runs, c.duration, c.retries, c.permanent, c.startFailures, c.lastSuccess, c.lastFail, c.missed,
		c.jobInfo, c.enabled, c.paused, c.running, c.next, c.lastRun, c.lastDuration, c.lastExit, c.lastOK,
		c.clusterEnabled, c.leaderTransitions, c.quorumTransitions, c.clusterInfo, c.size, c.quorum,
		c.quorate, c.isLeader, c.leaderInfo, c.conflict, c.peers,
	}
}

// sample is one metric; its labels are in the order of their names.
type sample struct {
	*series
	labels    []*dto.LabelPair
	value     float64
	histogram *dto.Histogram
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	switch s.kind {
	case dto.MetricType_COUNTER:
		out.Counter = &dto.Counter{Value: &s.value}
	case dto.MetricType_HISTOGRAM:
		out.Histogram = s.histogram
	default:
		out.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// samples collects in one piece, for a channel or for a list.
type samples struct{ send func(*sample) }

func (s samples) add(of *series, value float64, labels ...*dto.LabelPair) {
	s.send(&sample{series: of, value: value, labels: labels})
}

// addTime adds an instant in Unix time, unless it is zero.
func (s samples) addTime(of *series, at time.Time, labels ...*dto.LabelPair) {
	if !at.IsZero() {
		s.add(of, unixSeconds(at), labels...)
	}
}

func (s samples) addBool(of *series, value bool, labels ...*dto.LabelPair) {
	n := 0.0
	if value {
		n = 1
	}
	s.add(of, n, labels...)
}

// unixSeconds has the resolution of the API, one microsecond.
func unixSeconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := samples{func(one *sample) { out <- one }}
	c.agent(s)
	jobs := c.jobStates()
	c.jobCount(s, jobs)
	c.counted(s)
	c.state(s, jobs)
	c.standing(s)
}

// agent shows this process.
func (c *collector) agent(s samples) {
	s.add(&c.info, 1, label("version", version.Version))
	s.addTime(&c.start, c.started)
	s.add(&c.jobSet, 1, label("job_set_id", c.settings().jobSetID))
	c.mu.Lock()
	files := c.files
	c.mu.Unlock()
	if files.read {
		s.addBool(&c.reloadOK, files.good)
	}
	s.addTime(&c.reloadedAt, files.goodAt)
	s.add(&c.reportsDropped, float64(c.dropped()))
	for _, e := range c.expiries() {
		s.addTime(&c.certificate, e.at, label("use", e.use))
	}
}

func (c *collector) jobCount(s samples, jobs []scheduler.JobStatus) {
	enabled := 0
	for i := range jobs {
		if jobs[i].Job.Enabled {
			enabled++
		}
	}
	s.add(&c.jobs, float64(enabled), label("state", "enabled"))
	s.add(&c.jobs, float64(len(jobs)-enabled), label("state", "disabled"))
}

// counted shows what was counted of each job.
func (c *collector) counted(s samples) {
	statuses := make([]*dto.LabelPair, len(countedOutcomes))
	for i, outcome := range countedOutcomes {
		statuses[i] = label("status", string(outcome))
	}
	// The list is complete before anything is given out: the receiver may be slow.
	var list []*sample
	collect := samples{func(one *sample) { list = append(list, one) }}
	c.mu.Lock()
	list = make([]*sample, 0, 9*len(c.metrics.jobs))
	for _, name := range slices.Sorted(maps.Keys(c.metrics.jobs)) {
		counts := c.metrics.jobs[name]
		job := counts.labels
		for i, n := range counts.runs {
			collect.add(&c.runs, float64(n), job[0], statuses[i])
		}
		list = append(list, &sample{series: &c.duration, labels: job, histogram: counts.histogram(c.bounds)})
		collect.add(&c.retries, float64(counts.retries), job...)
		collect.add(&c.permanent, float64(counts.permanent), job...)
		collect.add(&c.startFailures, float64(counts.startFailures), job...)
		collect.addTime(&c.lastSuccess, counts.lastSuccess, job...)
		collect.addTime(&c.lastFail, counts.lastFailure, job...)
		for _, code := range slices.Sorted(maps.Keys(counts.missed)) {
			collect.add(&c.missed, float64(counts.missed[code]), job[0], label("reason", code))
		}
	}
	c.mu.Unlock()
	for _, one := range list {
		s.send(one)
	}
}

// state shows how each job stands.
func (c *collector) state(s samples, jobs []scheduler.JobStatus) {
	for i := range jobs {
		j := &jobs[i]
		job := jobLabels(j.Job.Name)
		s.add(&c.jobInfo, 1, label("cluster_policy", string(j.Job.ClusterPolicy)), job[0], label("schedule", j.Job.ScheduleText))
		s.addBool(&c.enabled, j.Job.Enabled, job...)
		s.addBool(&c.catalog.paused, c.collected.paused(j.Job.Name), job...)
		s.add(&c.running, float64(j.Instances), job...)
		if j.Job.Enabled {
			s.addTime(&c.next, j.NextAt, job...)
		}
		last := j.LastRun
		if last == nil {
			continue
		}
		s.addTime(&c.lastRun, last.FinishedAt, job...)
		if took := duration(*last); took != nil {
			s.add(&c.lastDuration, *took, job...)
		}
		if last.ExitCode != nil {
			s.add(&c.lastExit, float64(*last.ExitCode), job...)
		}
		s.addBool(&c.lastOK, last.Outcome == "success", job...)
	}
}

// standing shows this node's place in its cluster.
func (c *collector) standing(s samples) {
	view, _ := c.cluster()
	s.addBool(&c.clusterEnabled, view != nil)
	c.mu.Lock()
	leader, quorum := c.transitions.leader, c.transitions.quorum
	c.mu.Unlock()
	elect := c.settings().elect
	if elect || leader > 0 {
		s.add(&c.leaderTransitions, leader)
	}
	if elect || quorum > 0 {
		s.add(&c.quorumTransitions, quorum)
	}
	if view == nil {
		return
	}
	v := apiCluster(view)
	s.add(&c.clusterInfo, 1, label("backend", v.Backend), label("distribution", v.Distribution), label("node_name", v.NodeName))
	s.add(&c.size, float64(v.ClusterSize))
	s.add(&c.quorum, float64(v.Quorum))
	s.addBool(&c.quorate, v.Quorate)
	s.addBool(&c.isLeader, v.IsLeader)
	if v.Leader != "" {
		s.add(&c.leaderInfo, 1, label("leader", string(v.Leader)))
	}
	for _, conflict := range []struct {
		kind string
		is   bool
	}{{"nodename", len(v.ConflictNames) > 0}, {"size", v.SizeConflict}, {"policy", v.PolicyConflict}} {
		s.addBool(&c.conflict, conflict.is, label("kind", conflict.kind))
	}
	if len(v.Peers) == 0 {
		return
	}
	count := make(map[string]int)
	for _, p := range v.Peers {
		count[p.Status]++
	}
	for _, status := range peerStatuses() {
		s.add(&c.peers, float64(count[status]), label("status", status))
	}
}

// peerStatuses lists every status of a peer.
func peerStatuses() []string {
	return []string{
		api.PeerUnknown, api.PeerSelf, api.PeerAgreed, api.PeerSyncing,
		api.PeerDrifted, api.PeerUnreachable, api.PeerUntrusted, api.PeerConflict,
	}
}

// gather gathers everything as it is shown: the series that show the state of a job in
// the order of jobs, and what comes by go-metrics under the names that Prometheus wants.
func (m *metrics) gather(jobs []string) ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	place := make(map[string]int, len(jobs))
	for i, name := range jobs {
		place[name] = i
	}
	for _, f := range families {
		switch {
		case slices.Contains(jobStateSeries, f.GetName()):
			slices.SortStableFunc(f.Metric, func(a, b *dto.Metric) int { return place[jobNameOf(a)] - place[jobNameOf(b)] })
		case f.GetHelp() == f.GetName():
			f.Help = proto.String("Counted by way of go-metrics; times are in milliseconds.")
			f.Name = proto.String(seriesName(f.GetName(), f.GetType()))
		}
	}
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

func jobNameOf(m *dto.Metric) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == "job_name" {
			return l.GetValue()
		}
	}
	return ""
}
