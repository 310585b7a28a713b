package agent

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/exposition"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/history"
)

// scraped is a scrape: series with labels, as written, to value.
type scraped map[string]string

func parsePage(text string) scraped {
	p := scraped{}
	for line := range strings.Lines(text) {
		if at := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") && at > 0 {
			p[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return p
}

func (a *testAgent) scrape() scraped {
	a.t.Helper()
	resp, body := a.request("GET", "/metrics", http.Header{"Authorization": {"Bearer secret"}})
	if resp.StatusCode != 200 {
		a.t.Fatalf("scrape: %d %s", resp.StatusCode, body)
	}
	return parsePage(body)
}

// expect compares series; "absent" is what its name says.
func (p scraped) expect(t *testing.T, want map[string]string) {
	t.Helper()
	for series, value := range want {
		got, ok := p[series]
		if !ok {
			got = "absent"
		}
		if got != value {
			t.Errorf("%s is %s, want %s", series, got, value)
		}
	}
}

func (p scraped) number(t *testing.T, series string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(p[series], 64)
	if err != nil {
		t.Fatalf("%s is %q", series, p[series])
	}
	return v
}

const countedJobs = `
jobs:
  - name: zeta
    command: "true"
    schedule: "@yearly"
  - name: alpha
    command: exit 3
    schedule: "@yearly"
    clusterPolicy: EveryNode
  - name: long
    command: exec sleep 600
    schedule: "0 0 1 1 *"
  - name: none
    command: ["/nonexistent/program"]
    schedule: "@yearly"
  - name: off
    command: "true"
    schedule: "* * * * *"
    enabled: false
  - name: boot
    command: exit 1
    schedule: "@reboot"
    onFailure:
      retry: {maximumRetries: 1, initialDelay: 0.01, maximumDelay: 1, backoffMultiplier: 1}
  - name: ticking
    command: "true"
    schedule: "* * * * * * *"
`

func TestMetricsCountRuns(t *testing.T) {
	a := startAgent(t, countedJobs, "")
	ctx := t.Context()
	begin := float64(time.Now().Unix())
	a.scrape().expect(t, map[string]string{
		`yacron2_job_runs_total{job_name="zeta",status="success"}`:                         "0",
		`yacron2_job_runs_total{job_name="off",status="cancelled"}`:                        "0",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="+Inf"}`:                   "0",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="3600.0"}`:                 "0",
		`yacron2_job_retries_total{job_name="zeta"}`:                                       "0",
		`yacron2_job_permanent_failures_total{job_name="zeta"}`:                            "0",
		`yacron2_job_start_failures_total{job_name="zeta"}`:                                "0",
		`yacron2_job_last_success_timestamp_seconds{job_name="zeta"}`:                      "absent",
		`yacron2_job_last_failure_timestamp_seconds{job_name="zeta"}`:                      "absent",
		`yacron2_job_last_run_timestamp_seconds{job_name="zeta"}`:                          "absent",
		`yacron2_job_last_run_success{job_name="zeta"}`:                                    "absent",
		`yacron2_job_enabled{job_name="off"}`:                                              "0",
		`yacron2_job_enabled{job_name="zeta"}`:                                             "1",
		`yacron2_job_running{job_name="zeta"}`:                                             "0",
		`yacron2_job_next_run_timestamp_seconds{job_name="off"}`:                           "absent",
		`yacron2_job_next_run_timestamp_seconds{job_name="boot"}`:                          "absent",
		`yacron2_jobs{state="enabled"}`:                                                    "6",
		`yacron2_jobs{state="disabled"}`:                                                   "1",
		`yacron2_job_info{cluster_policy="Leader",job_name="zeta",schedule="@yearly"}`:     "1",
		`yacron2_job_info{cluster_policy="EveryNode",job_name="alpha",schedule="@yearly"}`: "1",
		`yacron2_cluster_enabled`:                                                          "0",
		`yacron2_cluster_leader_transitions_total`:                                         "absent",
		`yacron2_cluster_quorum_transitions_total`:                                         "absent",
		`yacron2_cluster_size`:                                                             "absent",
		`yacron2_config_last_reload_successful`:                                            "1",
		`yacron2_config_reloads_total{result="success"}`:                                   "0",
	})
	for _, job := range []string{"zeta", "zeta", "alpha", "none", "long"} {
		if err := a.client.Start(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "one runs", func() bool { return a.scrape()[`yacron2_job_running{job_name="long"}`] == "1" })
	running := a.scrape()
	if next := running.number(t, `yacron2_job_next_run_timestamp_seconds{job_name="long"}`); next <= begin {
		t.Errorf("a running job is due at %v", next)
	}
	if err := a.client.Cancel(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.client.Pause(ctx, "off", api.PauseRequest{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		`yacron2_job_runs_total{job_name="zeta",status="success"}`:       "2",
		`yacron2_job_runs_total{job_name="zeta",status="failure"}`:       "0",
		`yacron2_job_runs_total{job_name="alpha",status="failure"}`:      "1",
		`yacron2_job_permanent_failures_total{job_name="alpha"}`:         "1",
		`yacron2_job_runs_total{job_name="none",status="failure"}`:       "1",
		`yacron2_job_start_failures_total{job_name="none"}`:              "1",
		`yacron2_job_permanent_failures_total{job_name="none"}`:          "1",
		`yacron2_job_runs_total{job_name="long",status="cancelled"}`:     "1",
		`yacron2_job_permanent_failures_total{job_name="long"}`:          "0",
		`yacron2_job_runs_total{job_name="boot",status="failure"}`:       "2",
		`yacron2_job_retries_total{job_name="boot"}`:                     "1",
		`yacron2_job_permanent_failures_total{job_name="boot"}`:          "1",
		`yacron2_job_duration_seconds_count{job_name="zeta"}`:            "2",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="+Inf"}`: "2",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="60.0"}`: "2",
		`yacron2_job_duration_seconds_count{job_name="long"}`:            "1",
		`yacron2_job_last_run_exit_code{job_name="alpha"}`:               "3",
		`yacron2_job_last_run_success{job_name="alpha"}`:                 "0",
		`yacron2_job_last_run_exit_code{job_name="long"}`:                "-15",
		`yacron2_job_last_run_success{job_name="long"}`:                  "0",
		`yacron2_job_last_run_exit_code{job_name="none"}`:                "127",
		`yacron2_job_last_run_success{job_name="zeta"}`:                  "1",
		`yacron2_job_last_success_timestamp_seconds{job_name="alpha"}`:   "absent",
		`yacron2_job_last_failure_timestamp_seconds{job_name="long"}`:    "absent",
		`yacron2_job_running{job_name="long"}`:                           "0",
		`yacron2_job_paused{job_name="off"}`:                             "1",
		`yacron2_job_paused{job_name="zeta"}`:                            "0",
	}
	var p scraped
	eventually(t, "everything is counted", func() bool {
		p = a.scrape()
		for series, value := range want {
			if p[series] != value && value != "absent" {
				return false
			}
		}
		return p.number(t, `yacron2_firing_delay_seconds_count{trigger="schedule"}`) > 0
	})
	p.expect(t, want)
	for _, series := range []string{
		`yacron2_job_last_success_timestamp_seconds{job_name="zeta"}`, `yacron2_job_last_failure_timestamp_seconds{job_name="alpha"}`,
		`yacron2_job_last_run_timestamp_seconds{job_name="zeta"}`, `yacron2_start_time_seconds`, `yacron2_config_last_reload_success_timestamp_seconds`,
	} {
		if at := p.number(t, series); at < begin-60 || at > begin+600 {
			t.Errorf("%s is %v", series, at)
		}
	}
	if ran := p.number(t, `yacron2_firings_total{outcome="run"}`); ran < 1 {
		t.Errorf("%v firings ran", ran)
	}
	if took := p.number(t, `yacron2_job_duration_seconds_sum{job_name="long"}`); took <= 0 {
		t.Errorf("the long run took %v", took)
	}
}

// The page is what Prometheus' own linter wants, in both formats and in a cluster.
func TestMetricsPage(t *testing.T) {
	agents := startCluster(t, 3, countedJobs, "")
	leader := awaitLeader(t, agents)
	i := slices.IndexFunc(agents, func(a *testAgent) bool { return a.node == leader })
	a := agents[i]
	eventually(t, "a claim was granted", func() bool { return a.scrape()[`yacron2_claims_total{verdict="granted"}`] != "0" })
	resp, text := a.request("GET", "/metrics", nil)
	if got := resp.Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("content type %s", got)
	}
	problems, err := promlint.New(bytes.NewBufferString(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	var order []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "yacron2_job_enabled{") {
			order = append(order, strings.Split(line, `"`)[1])
		}
	}
	if got := strings.Join(order, " "); got != "zeta alpha long none off boot ticking" {
		t.Errorf("states are in the order %s", got)
	}
	var sorted []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "yacron2_job_retries_total{") {
			sorted = append(sorted, strings.Split(line, `"`)[1])
		}
	}
	if !slices.IsSorted(sorted) || len(sorted) != 7 {
		t.Errorf("counters are in the order %q", sorted)
	}
	p := parsePage(text)
	p.expect(t, map[string]string{
		`yacron2_cluster_enabled`: "1",
		`yacron2_cluster_info{backend="gossip",distribution="single-leader",node_name="` + leader + `"}`: "1",
		`yacron2_cluster_size`:                                 "3",
		`yacron2_cluster_quorum`:                               "2",
		`yacron2_cluster_quorate`:                              "1",
		`yacron2_cluster_is_leader`:                            "1",
		`yacron2_cluster_leader_info{leader="` + leader + `"}`: "1",
		`yacron2_cluster_conflict{kind="nodename"}`:            "0",
		`yacron2_cluster_conflict{kind="size"}`:                "0",
		`yacron2_cluster_conflict{kind="policy"}`:              "0",
		`yacron2_cluster_peers{status="agreed"}`:               "2",
		`yacron2_cluster_peers{status="untrusted"}`:            "0",
		`yacron2_cluster_peers{status="drifted"}`:              "0",
		`yacron2_claims_total{verdict="denied"}`:               "0",
		`yacron2_reports_pending`:                              "0",
		`yacron2_reports_failed_total`:                         "0",
	})
	gossip := 0
	for series, value := range p {
		if strings.HasPrefix(series, "yacron2_gossip_") && strings.HasSuffix(series, "_total") && value != "0" {
			gossip++
		}
	}
	if gossip == 0 {
		t.Error("nothing is counted of the connections to peers")
	}
	for _, series := range []string{
		`yacron2_claims_asked_total`, `yacron2_cluster_leader_transitions_total`, `yacron2_cluster_quorum_transitions_total`, "go_goroutines", "process_start_time_seconds",
	} {
		if p.number(t, series) < 1 {
			t.Errorf("%s is %s", series, p[series])
		}
	}
	for _, use := range []string{"cluster", "cluster_ca"} {
		if end := p.number(t, `yacron2_certificate_expiry_timestamp_seconds{use="`+use+`"}`); end < float64(time.Now().Unix()) {
			t.Errorf("the certificate %s ends at %v", use, end)
		}
	}
	for _, secret := range []string{"exit 3", "/nonexistent", "sleep"} {
		if strings.Contains(text, secret) {
			t.Errorf("a command is shown: %q", secret)
		}
	}

	resp, open := a.request("GET", "/metrics", http.Header{"Accept": {"text/html, application/openmetrics-text;version=1.0.0;q=0.5"}})
	if got := resp.Header.Get("Content-Type"); got != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Errorf("content type %s", got)
	}
	for _, want := range []string{
		"# TYPE yacron2 info\nyacron2_info{", "# TYPE yacron2_job_runs counter\nyacron2_job_runs_total{", "# TYPE yacron2_job_set info\n",
		"# TYPE yacron2_cluster_leader_transitions counter\nyacron2_cluster_leader_transitions_total ",
	} {
		if !strings.Contains(open, want) {
			t.Errorf("no %q in the open format", want)
		}
	}
	if !strings.HasSuffix(open, "\n# EOF\n") || strings.Contains(open, "_created") {
		t.Error("the end of the open format, or something that does not belong into it")
	}
	if resp, body := a.request("HEAD", "/metrics", nil); resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: %d", resp.StatusCode)
	}
}

func TestMetricsAccess(t *testing.T) {
	const token = "  authToken: {value: secret}\n"
	for _, tt := range []struct {
		web           string
		without, with int
	}{
		{"", 200, 200},
		{token, 401, 200},
		{token + "  metrics: {public: true}\n", 200, 200},
		{token + "  metrics: {public: true, enabled: false}\n", 401, 404},
		{"  metrics: false\n", 404, 404},
	} {
		a := startAgent(t, someJobs, tt.web)
		if resp, _ := a.request("GET", "/metrics", nil); resp.StatusCode != tt.without {
			t.Errorf("%q without a token: %d, want %d", tt.web, resp.StatusCode, tt.without)
		}
		if resp, _ := a.request("GET", "/metrics", http.Header{"Authorization": {"Bearer secret"}}); resp.StatusCode != tt.with {
			t.Errorf("%q with a token: %d, want %d", tt.web, resp.StatusCode, tt.with)
		}
	}
	a := startAgent(t, someJobs, "  headers: {X-Extra: yes, content-type: text/evil}\n")
	if resp, _ := a.request("GET", "/metrics", nil); resp.Header.Get("X-Extra") != "yes" || len(resp.Header.Values("Content-Type")) != 1 || resp.Header.Get("Content-Type") == "text/evil" {
		t.Errorf("headers: %v", resp.Header)
	}
}

func TestMetricsSurviveReloadsAndForgetJobs(t *testing.T) {
	a := startAgent(t, countedJobs, "")
	ctx := t.Context()
	for _, job := range []string{"zeta", "alpha", "long"} {
		if err := a.client.Start(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "two have ended", func() bool {
		p := a.scrape()
		return p[`yacron2_job_runs_total{job_name="zeta",status="success"}`] == "1" && p[`yacron2_job_runs_total{job_name="alpha",status="failure"}`] == "1"
	})
	without := func(names ...string) string {
		var kept []string
		for _, job := range strings.SplitAfter(strings.TrimPrefix(countedJobs, "\njobs:\n"), "\n  - ") {
			if name := strings.TrimPrefix(strings.Split(job, "\n")[0], "name: "); !slices.Contains(names, strings.TrimPrefix(name, "  - name: ")) {
				kept = append(kept, strings.TrimSuffix(job, "\n  - "))
			}
		}
		for i, job := range kept {
			kept[i] = "  - " + strings.TrimPrefix(job, "  - ")
		}
		return "jobs:\n" + strings.Join(kept, "\n") + "\n"
	}
	a.write("jobs.yaml", without("alpha", "long"))
	if err := a.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	// The file watch may have read the files as well.
	p := a.scrape()
	p.expect(t, map[string]string{
		`yacron2_job_runs_total{job_name="zeta",status="success"}`:   "1",
		`yacron2_job_runs_total{job_name="alpha",status="failure"}`:  "absent",
		`yacron2_job_enabled{job_name="alpha"}`:                      "absent",
		`yacron2_job_runs_total{job_name="long",status="cancelled"}`: "0", // it runs still
		`yacron2_job_enabled{job_name="long"}`:                       "absent",
		`yacron2_config_reloads_total{result="success"}`:             strconv.Itoa(a.loadStatus().reloads),
		`yacron2_config_last_reload_successful`:                      "1",
	})
	// A file with errors changes nothing but the gauges that tell of it.
	good := p.number(t, "yacron2_config_last_reload_success_timestamp_seconds")
	a.write("jobs.yaml", "jobs: 5\n")
	if err := a.Reload(ctx); err == nil {
		t.Fatal("a broken file was taken")
	}
	a.scrape().expect(t, map[string]string{
		`yacron2_config_last_reload_successful`:                    "0",
		`yacron2_config_reloads_total{result="failure"}`:           strconv.Itoa(a.loadStatus().failures),
		`yacron2_job_runs_total{job_name="zeta",status="success"}`: "1",
	})
	if now := a.scrape().number(t, "yacron2_config_last_reload_success_timestamp_seconds"); now != good {
		t.Errorf("last success %v, before the failure %v", now, good)
	}
	if err := a.client.Cancel(ctx, "long"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removed job's run is counted", func() bool {
		return a.scrape()[`yacron2_job_runs_total{job_name="long",status="cancelled"}`] == "1"
	})
	// Other bounds begin the histograms anew, and nothing else. The removed job goes.
	a.write("jobs.yaml", without("long"))
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n  metrics: {durationBuckets: [0.5, 120]}\n")
	if err := a.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	a.scrape().expect(t, map[string]string{
		`yacron2_job_runs_total{job_name="long",status="cancelled"}`:      "absent",
		`yacron2_job_runs_total{job_name="zeta",status="success"}`:        "1",
		`yacron2_job_duration_seconds_count{job_name="zeta"}`:             "0",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="0.5"}`:   "0",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="120.0"}`: "0",
		`yacron2_job_duration_seconds_bucket{job_name="zeta",le="5.0"}`:   "absent",
		`yacron2_job_runs_total{job_name="alpha",status="failure"}`:       "0", // it is back, and new
		`yacron2_job_last_failure_timestamp_seconds{job_name="alpha"}`:    "absent",
		`yacron2_job_last_run_exit_code{job_name="alpha"}`:                "3", // from the history
	})
}

func TestMetricsRecallWhatOutlivedTheAgent(t *testing.T) {
	a := startAgent(t, "dataDir: "+t.TempDir()+countedJobs, "")
	if err := a.client.Start(t.Context(), "zeta"); err != nil {
		t.Fatal(err)
	}
	const success = `yacron2_job_last_success_timestamp_seconds{job_name="zeta"}`
	eventually(t, "it has ended", func() bool { return a.scrape()[success] != "" })
	before := a.scrape()[success]
	a.startAgain()
	a.scrape().expect(t, map[string]string{success: before, `yacron2_job_runs_total{job_name="zeta",status="success"}`: "0"})
}

// Each kind of event is counted once, where it belongs.
func TestJobCounts(t *testing.T) {
	at := time.Unix(1000, 0)
	run := func(outcome history.Outcome, took time.Duration) *history.Run {
		r := &history.Run{Outcome: outcome, FinishedAt: at.Add(took)}
		if took >= 0 {
			r.StartedAt = at
		}
		return r
	}
	bounds := []float64{0.5, 1}
	c := newJobCounts("a", len(bounds))
	for _, e := range []scheduler.Event{
		{Kind: scheduler.RunStarted, Trigger: scheduler.TriggerSchedule},
		{Kind: scheduler.RunStarted, Trigger: scheduler.TriggerRetry},
		{Kind: scheduler.StartFailed, Trigger: scheduler.TriggerRetry},
		{Kind: scheduler.RunFinished, Run: run(history.Success, 500*time.Millisecond)},
		{Kind: scheduler.RunFinished, Run: run(history.Failure, time.Second), RetryAt: at},
		{Kind: scheduler.RunFinished, Run: run(history.Failure, time.Minute), Permanent: true},
		{Kind: scheduler.RunFinished, Run: run(history.Cancelled, 0)},
		{Kind: scheduler.RunAbandoned, Run: run(history.Cancelled, -1)},
		{Kind: scheduler.RunReplaced, Run: nil},
		{Kind: scheduler.FiringMissed, Missed: &history.Missed{Code: "late"}},
		{Kind: scheduler.FiringMissed, Missed: &history.Missed{Code: "late"}},
		{Kind: scheduler.FiringMissed, Missed: &history.Missed{Code: "no-quorum"}},
		{Kind: scheduler.FiringDecided, Decision: &scheduler.Decided{}},
	} {
		c.observe(e, bounds)
	}
	got := fmt.Sprint(c.runs, c.retries, c.permanent, c.startFailures, c.missed, c.buckets, c.timed, c.duration, c.lastSuccess.Unix(), c.lastFailure.Unix())
	want := fmt.Sprint([3]uint64{2, 2, 1}, 2, 1, 1, []missedCount{{"late", 2}, {"no-quorum", 1}}, []uint64{2, 1}, 4, 61.5, 1000, 1060)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What a scrape shows of jobs, to the byte.
func TestMetricsOfJobsAsWritten(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	odd := &scheduler.Job{Name: "od\"d\\", Enabled: true, ScheduleText: "@every \"x\"", ClusterPolicy: election.EveryNode}
	quiet := &scheduler.Job{Name: "quiet", ScheduleText: "@reboot", ClusterPolicy: election.Leader}
	m.apply(&config.Config{
		Jobs: []*scheduler.Job{quiet, odd},
		Web:  &config.Web{Metrics: config.Metrics{DurationBuckets: []float64{0.5, 60}}},
	}, func(string) bool { return false })
	at := time.Unix(1_700_000_000, 250_000_000)
	last := &history.Run{Outcome: history.Failure, ExitCode: new(-9), StartedAt: at.Add(-1500 * time.Millisecond), FinishedAt: at}
	m.observe(scheduler.Event{Kind: scheduler.RunFinished, Job: odd, Run: last, Permanent: true})
	for _, code := range []string{"late", "doubt", "late"} {
		m.observe(scheduler.Event{Kind: scheduler.FiringMissed, Job: odd, Missed: &history.Missed{Code: code}})
	}
	p := &page{metrics: m, states: func() []scheduler.JobStatus {
		return []scheduler.JobStatus{
			{Job: quiet, NextAt: at, Pause: &history.Pause{}},
			{Job: odd, Instances: 2, NextAt: at, LastRun: last},
		}
	}}
	text, err := p.append(nil, exposition.Text)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "yacron2_job_") {
			got.WriteString(strings.TrimPrefix(line, "yacron2_job_"))
		}
	}
	want := strings.NewReplacer("ODD", `job_name="od\"d\\"`, "QUIET", `job_name="quiet"`).Replace(`duration_seconds_bucket{ODD,le="0.5"} 0
duration_seconds_bucket{ODD,le="60.0"} 1
duration_seconds_bucket{ODD,le="+Inf"} 1
duration_seconds_sum{ODD} 1.5
duration_seconds_count{ODD} 1
duration_seconds_bucket{QUIET,le="0.5"} 0
duration_seconds_bucket{QUIET,le="60.0"} 0
duration_seconds_bucket{QUIET,le="+Inf"} 0
duration_seconds_sum{QUIET} 0
duration_seconds_count{QUIET} 0
enabled{QUIET} 0
enabled{ODD} 1
firings_missed_total{ODD,reason="doubt"} 1
firings_missed_total{ODD,reason="late"} 2
info{cluster_policy="Leader",QUIET,schedule="@reboot"} 1
info{cluster_policy="EveryNode",ODD,schedule="@every \"x\""} 1
last_failure_timestamp_seconds{ODD} 1700000000.25
last_run_duration_seconds{ODD} 1.5
last_run_exit_code{ODD} -9
last_run_success{ODD} 0
last_run_timestamp_seconds{ODD} 1700000000.25
next_run_timestamp_seconds{ODD} 1700000000.25
paused{QUIET} 1
paused{ODD} 0
permanent_failures_total{ODD} 1
permanent_failures_total{QUIET} 0
retries_total{ODD} 0
retries_total{QUIET} 0
running{QUIET} 0
running{ODD} 2
runs_total{ODD,status="cancelled"} 0
runs_total{ODD,status="failure"} 1
runs_total{ODD,status="success"} 0
runs_total{QUIET,status="cancelled"} 0
runs_total{QUIET,status="failure"} 0
runs_total{QUIET,status="success"} 0
start_failures_total{ODD} 0
start_failures_total{QUIET} 0
`)
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	series := allJobSeries()
	if !slices.IsSortedFunc(series, func(a, b jobSeries) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the series of jobs are not in the order of their names")
	}
}

// A scrape while configurations are applied shows one of them.
func TestScrapesBesideReloads(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	apply := func(jobs, bounds int) {
		cfg := &config.Config{Web: &config.Web{}}
		for i := range jobs {
			cfg.Jobs = append(cfg.Jobs, &scheduler.Job{Name: fmt.Sprintf("job-%04d", i)})
		}
		for i := range bounds {
			cfg.Web.Metrics.DurationBuckets = append(cfg.Web.Metrics.DurationBuckets, float64(i+1))
		}
		m.apply(cfg, func(string) bool { return false })
	}
	apply(2*countsChunk+1, 1)
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				apply(2*countsChunk+1+i%3*countsChunk, 1+i%3)
			}
		}
	})
	others.Go(func() {
		job := &scheduler.Job{Name: "job-0300"}
		for {
			select {
			case <-stop:
				return
			default:
				m.observe(scheduler.Event{Kind: scheduler.RunFinished, Job: job, Run: &history.Run{
					Outcome: history.Success, StartedAt: time.Unix(1000, 0), FinishedAt: time.Unix(1000, 500),
				}})
			}
		}
	})
	for range 100 {
		jobs, bounds := m.snapshot()
		if want := (1 + len(bounds)) * countsChunk; len(jobs) != want+1 {
			t.Errorf("%d jobs with %d bounds", len(jobs), len(bounds))
		}
		for _, j := range jobs {
			if sum := slices.Concat([]uint64{0}, j.buckets); len(j.buckets) != len(bounds) || sum[1] != j.timed {
				t.Fatalf("with %d bounds: %+v", len(bounds), j)
			}
		}
	}
	close(stop)
	others.Wait()
}

func TestMetricsCountTransitions(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	view := func(quorate bool, distribution election.Distribution) *election.View {
		s := election.State{NodeName: "a", ElectLeader: true, Distribution: distribution}
		if !quorate {
			s.Peers = []election.Peer{{Host: "b:1", Status: election.StatusUnknown}, {Host: "c:1", Status: election.StatusUnknown}}
		}
		return election.NewView(s)
	}
	for _, step := range []struct {
		view           *election.View
		quorum, leader float64
	}{
		{nil, 0, 0},
		{view(true, election.SingleLeader), 1, 1},
		{view(true, election.SingleLeader), 1, 1},
		{view(false, election.SingleLeader), 2, 2},
		{view(true, election.Spread), 3, 2}, // nobody leads under spread
		{nil, 4, 2},                         // a teardown while it holds counts
		{nil, 4, 2},
	} {
		m.viewChanged(step.view)
		if m.transitions.quorum != step.quorum || m.transitions.leader != step.leader {
			t.Errorf("got %+v, want %v and %v", m.transitions, step.quorum, step.leader)
		}
	}
}

func TestMetricsNeedARegistryOfTheirOwn(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := newMetrics(registry, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := newMetrics(registry, time.Now()); err == nil {
		t.Error("two agents share a registry")
	}
}

func TestExpiriesFollowTheirFiles(t *testing.T) {
	a := startCluster(t, 1, someJobs, "")[0]
	cfg := a.config.Load()
	e := &expiries{}
	first := e.of(cfg)
	if len(first) != 2 || first[0].use != "cluster" || !first[0].at.After(time.Now()) || first[1].use != "cluster_ca" || !first[1].at.After(first[0].at) {
		t.Fatalf("got %+v", first)
	}
	ca, err := os.ReadFile(cfg.Cluster.Gossip.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	moved := *cfg
	gossip, cluster := *cfg.Cluster.Gossip, *cfg.Cluster
	gossip.CertFile = filepath.Join(t.TempDir(), "cert.pem")
	cluster.Gossip, moved.Cluster = &gossip, &cluster
	moved.Web = &config.Web{CertFile: cfg.Cluster.Gossip.CertFile}
	if got := e.of(&moved); len(got) != 2 || got[0].use != "cluster_ca" || got[1] != (expiry{"web", first[0].at}) {
		t.Errorf("without the file: %+v", got)
	}
	for text, want := range map[string]int{"no certificate": 2, string(ca): 3} {
		if err := os.WriteFile(gossip.CertFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := e.of(&moved); len(got) != want {
			t.Errorf("with %.20q: %+v", text, got)
		}
	}
}

func TestMetricsOfTheProcess(t *testing.T) {
	agents := startCluster(t, 3, someJobs, "")
	if err := agents[0].counts.takeProcess(); err != nil {
		t.Fatal(err)
	}
	awaitLeader(t, agents)
	var text string
	eventually(t, "memberlist counts", func() bool {
		_, text = agents[0].request("GET", "/metrics", nil)
		return strings.Contains(text, "\nmemberlist_")
	})
	problems, err := promlint.New(bytes.NewBufferString(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if _, other := agents[1].request("GET", "/metrics", nil); strings.Contains(other, "\nmemberlist_") {
		t.Error("another agent shows them too")
	}
}
