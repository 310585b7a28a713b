package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// prometheus is one that scrapes agents, by the shipped configuration but for the time
// that everything takes.
type prometheus struct {
	tb  testing.TB
	url string
}

// startPrometheus scrapes the nodes and evaluates the rules each second. It ends with the
// test.
func startPrometheus(tb testing.TB, nodes []*testcluster.Node) *prometheus {
	tb.Helper()
	path := program(tb, "prometheus")
	dir := tb.TempDir()
	var targets []string
	for _, n := range nodes {
		targets = append(targets, fmt.Sprintf("%q", strings.TrimPrefix(n.API(), "http://")))
	}
	config := strings.Replace(read(tb, "prometheus.yml"), `"127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"`, strings.Join(targets, ", "), 1)
	config = strings.ReplaceAll(config, "15s", "1s")
	for name, text := range map[string]string{
		"prometheus.yml": config,
		// How long something must last is what promtool tests.
		"yacron2.rules.yml": regexp.MustCompile(`for: \w+`).ReplaceAllString(read(tb, "yacron2.rules.yml"), "for: 2s"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", testcluster.FreePorts(tb, 1)[0])
	p := &prometheus{tb: tb, url: "http://" + address}
	logFile := filepath.Join(dir, "log")
	log, err := os.Create(logFile)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	cmd := exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = testcluster.ProcessAttributes()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			tb.Errorf("prometheus: %v", err)
		}
		if text, err := os.ReadFile(logFile); err == nil && (tb.Failed() || strings.Contains(string(text), "level=error")) {
			tb.Errorf("log of prometheus:\n%s", text)
		}
	})
	return p
}

// get reads an answer of Prometheus.
func (p *prometheus) get(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// query returns how many series an expression has now.
func (p *prometheus) query(expr string) (int, error) {
	var answer struct{ Result []json.RawMessage }
	err := p.get("/api/v1/query?query="+url.QueryEscape(expr), &answer)
	return len(answer.Result), err
}

// firing returns the alerts that fire, each with its instances or jobs, and since when no
// rule has been evaluated.
func (p *prometheus) firing() (alerts map[string][]string, evaluated time.Time, err error) {
	var answer struct {
		Groups []struct {
			LastEvaluation time.Time
			Rules          []struct {
				Name, Health, LastError string
				Alerts                  []struct {
					State  string
					Labels map[string]string
				}
			}
		}
	}
	if err := p.get("/api/v1/rules", &answer); err != nil {
		return nil, time.Time{}, err
	}
	alerts = map[string][]string{}
	for i, g := range answer.Groups {
		if i == 0 || g.LastEvaluation.Before(evaluated) {
			evaluated = g.LastEvaluation
		}
		for _, r := range g.Rules {
			if r.Health == "err" {
				return nil, evaluated, fmt.Errorf("%s: %s", r.Name, r.LastError)
			}
			for _, a := range r.Alerts {
				if a.State == "firing" {
					alerts[r.Name] = append(alerts[r.Name], a.Labels["instance"]+a.Labels["job_name"])
				}
			}
			slices.Sort(alerts[r.Name])
		}
	}
	return alerts, evaluated, nil
}

// settle waits until the alerts of want fire, and checks that none but them and those of
// either does over a time in which each of them could have begun to.
func (p *prometheus) settle(what string, want map[string][]string, either ...string) {
	p.tb.Helper()
	differs := func(alerts map[string][]string) error {
		alerts = maps.Clone(alerts)
		for _, name := range either {
			delete(alerts, name)
		}
		for name, instances := range want {
			if !slices.Equal(alerts[name], instances) {
				return fmt.Errorf("%s fires for %q, want %q; all: %v", name, alerts[name], instances, alerts)
			}
			delete(alerts, name)
		}
		if len(alerts) > 0 {
			return fmt.Errorf("what should be silent fires: %v", alerts)
		}
		return nil
	}
	testcluster.Eventually(p.tb, what, func() error {
		alerts, _, err := p.firing()
		return errors.Join(err, differs(alerts))
	})
	// More rounds than an alert waits.
	from := time.Now().Add(3 * time.Second)
	testcluster.Eventually(p.tb, what+", further rounds", func() error {
		alerts, evaluated, err := p.firing()
		if err := errors.Join(err, differs(alerts)); err != nil {
			p.tb.Fatalf("%s: %v", what, err)
		}
		if evaluated.Before(from) {
			return fmt.Errorf("evaluated at %s", evaluated)
		}
		return nil
	})
}

// seesFailures waits until the failing job of each of n agents has failed since an instant
// and was scraped: an agent that starts again shows nothing of it at first, which ends the
// alerts for a while.
func (p *prometheus) seesFailures(n int, since time.Time) {
	p.tb.Helper()
	testcluster.Eventually(p.tb, "failures of each agent", func() error {
		got, err := p.query(fmt.Sprintf(`yacron2_job_last_failure_timestamp_seconds{job_name="bad"} >= %d`, since.Unix()))
		if err == nil && got != n {
			err = fmt.Errorf("%d agents show one, want %d", got, n)
		}
		return err
	})
}

// TestPrometheus lets a Prometheus scrape three agents: in health but for a failing job,
// without a majority, and then with none of them told of the others, so that each leads a
// cluster of its own.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	program(t, "prometheus")
	c := testcluster.New(t, testcluster.Options{Jobs: jobs})
	a, b, d := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	c.Start()
	c.AwaitAgreement("yacron-a")
	p := startPrometheus(t, c.Nodes)
	instance := func(nodes ...*testcluster.Node) []string {
		var list []string
		for _, n := range nodes {
			list = append(list, strings.TrimPrefix(n.API(), "http://"))
		}
		slices.Sort(list)
		return list
	}
	// Always, since one job fails.
	always := func(more map[string][]string) map[string][]string {
		all := map[string][]string{"Yacron2JobFailed": {"bad"}, "Yacron2JobFailing": {"bad"}}
		maps.Copy(all, more)
		return all
	}
	// What the load of a machine that runs other tests can bring about.
	either := []string{"Yacron2FiringsLate", "Yacron2FiringsMissed"}

	p.settle("a healthy cluster", always(nil), either...)

	b.Kill()
	d.Kill()
	p.settle("no majority", always(map[string][]string{
		"Yacron2NoQuorum": instance(a), "Yacron2AgentDown": instance(b, d), "Yacron2NoLeader": {""}, "Yacron2PeerAway": instance(a),
	}), either...)
	testcluster.Eventually(t, "a missed firing", func() error {
		alerts, _, err := p.firing()
		if err == nil && !slices.Contains(alerts["Yacron2FiringsMissed"], "good") {
			err = fmt.Errorf("firings are missed of %q", alerts["Yacron2FiringsMissed"])
		}
		return err
	})
	t.Run("selectors", func(t *testing.T) { p.selectors(t) })

	a.Kill()
	peers := map[*testcluster.Node][]string{}
	for _, n := range c.Nodes {
		peers[n], n.Peers = n.Peers, nil
		n.WriteConfig()
	}
	started := time.Now()
	c.Start()
	p.seesFailures(len(c.Nodes), started)
	p.settle("three leaders", always(map[string][]string{"Yacron2SplitBrain": {""}}), either...)

	c.Kill()
	for _, n := range c.Nodes {
		n.Peers = peers[n]
		n.WriteConfig()
	}
	started = time.Now()
	c.Start()
	c.AwaitAgreement("yacron-a")
	p.seesFailures(len(c.Nodes), started)
	p.settle("one cluster again", always(nil), either...)
}

// selectors checks that what rules and dashboard choose, labels included, has been there
// at some time, but for what only other clusters have.
func (p *prometheus) selectors(t *testing.T) {
	for where, expr := range queries(t) {
		if _, err := p.query(strings.NewReplacer(`$job_name`, `.*`, `$job`, `.*`, `$__rate_interval`, `1m`).Replace(expr)); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		for _, s := range selectors(expr) {
			if strings.Contains(s, `backend!="gossip"`) {
				continue // a store
			}
			n, err := p.query("last_over_time(" + s + "[1h])")
			if err != nil || n == 0 {
				t.Errorf("%s chooses %s: %d series, %v", where, s, n, err)
			}
		}
	}
}
