package monitoring

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// jobs are some of which one is missed soon where nobody may run it, and one fails.
func jobs(testcluster.Journal) []testcluster.Job {
	return []testcluster.Job{
		{Name: "good", Policy: "Leader", Command: "true", More: "startingDeadline: 2"},
		{Name: "bad", Policy: "EveryNode", Command: "exit 3"},
		{Name: "never", Schedule: "0 0 1 1 * 2099", Command: "true"},
	}
}

// page returns what a node shows to a scraper.
func page(tb testing.TB, n *testcluster.Node) string {
	tb.Helper()
	resp, err := http.Get(n.API() + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("%s: %s, %v", n.NodeName, resp.Status, err)
	}
	return string(text)
}

// names returns the names of the series of a page.
func names(text string) map[string]bool {
	found := map[string]bool{}
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		if line := scanner.Text(); line != "" && line[0] != '#' {
			found[line[:strings.IndexAny(line, "{ ")]] = true
		}
	}
	return found
}

// Whatever rules and dashboard ask for is on the pages of a cluster, and promtool finds
// nothing wrong with these.
func TestSeriesExist(t *testing.T) {
	t.Parallel()
	c := testcluster.New(t, testcluster.Options{Jobs: jobs})
	c.Start()
	c.AwaitAgreement("yacron-a")
	var healthy string
	testcluster.Eventually(t, "a run of each", func() error {
		healthy = page(t, c.Nodes[0])
		for _, series := range []string{`last_success_timestamp_seconds{job_name="good"}`, `last_failure_timestamp_seconds{job_name="bad"}`} {
			if !strings.Contains(healthy, "\nyacron2_job_"+series) {
				return fmt.Errorf("no %s", series)
			}
		}
		if !strings.Contains(healthy, "\nyacron2_cluster_peer_clock_skew_seconds{") {
			return fmt.Errorf("no clock was compared")
		}
		return nil
	})
	// Without a majority the Leader job is missed.
	c.Nodes[1].Kill()
	c.Nodes[2].Kill()
	var alone string
	testcluster.Eventually(t, "a missed firing", func() error {
		if alone = page(t, c.Nodes[0]); !strings.Contains(alone, "\nyacron2_job_firings_missed_total{") {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	shown := names(healthy + alone)
	shown["up"] = true // Prometheus' own
	asked := 0
	for where, expr := range queries(t) {
		list := selectors(expr)
		if len(list) == 0 {
			t.Errorf("%s asks for nothing: %s", where, expr)
		}
		for _, s := range list {
			asked++
			if name, _, _ := strings.Cut(s, "{"); !shown[name] {
				t.Errorf("%s asks for %s, which no agent shows", where, name)
			}
		}
	}
	t.Logf("%d names asked for, %d shown", asked, len(shown))

	promtool := program(t, "promtool")
	for _, text := range []string{healthy, alone} {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	}
	if !slices.ContainsFunc(strings.Split(healthy, "\n"), func(line string) bool { return strings.HasPrefix(line, "memberlist_") }) {
		t.Error("memberlist's own metrics are missing")
	}
}
