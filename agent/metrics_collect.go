package agent

import (
	"time"

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
	settings func() settings
	jobs     func() []*scheduler.Job
	cluster  func() (*election.View, error)
	reports  reportCounts
	expiries func() []expiry
}

// reportCounts is what the reporters count.
type reportCounts interface {
	Pending() int
	Dropped() uint64
	Failed() uint64
}

// series is a metric family that the collector gives out.
type series struct {
	desc *prometheus.Desc
	kind dto.MetricType
}

func gaugeSeries(name, help string, labels ...string) series {
	return series{prometheus.NewDesc("yacron2_"+name, help, labels, nil), dto.MetricType_GAUGE}
}

func counterSeries(name, help string, labels ...string) series {
	s := gaugeSeries(name, help, labels...)
	s.kind = dto.MetricType_COUNTER
	return s
}

// catalog lists every series of the collector.
type catalog struct {
	info, start, jobSet, jobCounts    series
	reloadOK, reloadedAt              series
	reportsPending                    series
	reportsDropped, reportsFailed     series
	certificate                       series
	clusterEnabled, leaderTransitions series
	quorumTransitions, clusterInfo    series
	size, quorum, quorate, isLeader   series
	leaderInfo, conflict, peers, skew series
}

func newCatalog() catalog {
	return catalog{
		info:      gaugeSeries("info", "The version of this agent.", "version"),
		start:     gaugeSeries("start_time_seconds", "When this agent started, in Unix time."),
		jobSet:    gaugeSeries("job_set_info", "The fingerprint of the configured jobs.", "job_set_id"),
		jobCounts: gaugeSeries("jobs", "Configured jobs.", "state"),

		reloadOK:       gaugeSeries("config_last_reload_successful", "Whether the newest attempt to read the configuration succeeded."),
		reloadedAt:     gaugeSeries("config_last_reload_success_timestamp_seconds", "When the configuration was last read with success, in Unix time."),
		reportsPending: gaugeSeries("reports_pending", "Reports that wait or are under way."),
		reportsDropped: counterSeries("reports_dropped_total", "Reports that found no room in their queue."),
		reportsFailed:  counterSeries("reports_failed_total", "Reports that were not delivered, after all attempts."),
		certificate:    gaugeSeries("certificate_expiry_timestamp_seconds", "When a certificate that this agent uses ends, in Unix time.", "use"),

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
		skew:              gaugeSeries("cluster_peer_clock_skew_seconds", "By how much the clock of a peer is ahead of this node's.", "host"),
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
		c.info, c.start, c.jobSet, c.jobCounts, c.reloadOK, c.reloadedAt,
		c.reportsPending, c.reportsDropped, c.reportsFailed, c.certificate,
		c.clusterEnabled, c.leaderTransitions, c.quorumTransitions, c.clusterInfo, c.size, c.quorum,
		c.quorate, c.isLeader, c.leaderInfo, c.conflict, c.peers, c.skew,
	}
}

func label(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: proto.String(name), Value: proto.String(value)}
}

// sample is one metric; its labels are in the order of their names.
type sample struct {
	*series
	labels []*dto.LabelPair
	value  float64
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	if s.kind == dto.MetricType_COUNTER {
		out.Counter = &dto.Counter{Value: &s.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// samples gives out one sample after the other.
type samples struct{ out chan<- prometheus.Metric }

func (s samples) add(of *series, value float64, labels ...*dto.LabelPair) {
	s.out <- &sample{series: of, value: value, labels: labels}
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
	s := samples{out}
	c.agent(s)
	c.jobCount(s)
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
	s.add(&c.reportsPending, float64(c.reports.Pending()))
	s.add(&c.reportsDropped, float64(c.reports.Dropped()))
	s.add(&c.reportsFailed, float64(c.reports.Failed()))
	for _, e := range c.expiries() {
		s.addTime(&c.certificate, e.at, label("use", e.use))
	}
}

func (c *collector) jobCount(s samples) {
	enabled, jobs := 0, c.jobs()
	for _, j := range jobs {
		if j.Enabled {
			enabled++
		}
	}
	s.add(&c.jobCounts, float64(enabled), label("state", "enabled"))
	s.add(&c.jobCounts, float64(len(jobs)-enabled), label("state", "disabled"))
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
		if p.Clock != nil {
			s.add(&c.skew, p.Clock.Ahead, label("host", p.Host))
		}
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
