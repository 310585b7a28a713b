package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "website", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page about the API has every route.
func TestRoutesAreDocumented(t *testing.T) {
	page := readPage(t, "http-api.md")
	for _, r := range (&httpAPI{}).routes() {
		if route := "| `" + r.method + " " + r.pattern; !strings.Contains(page, route+"`") && !strings.Contains(page, route+"?") {
			t.Errorf("%s %s is not on the page", r.method, r.pattern)
		}
	}
}

// The page about the metrics has every series of this program, and no other.
func TestSeriesAreDocumented(t *testing.T) {
	page := readPage(t, "metrics.md")
	agents := startCluster(t, 3, countedJobs, "")
	awaitLeader(t, agents)
	a := agents[0]
	for _, job := range []string{"zeta", "alpha"} {
		if err := a.client.Start(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "they have ended, and the clocks are compared", func() bool {
		p := a.scrape()
		compared := false
		for series := range p {
			compared = compared || strings.HasPrefix(series, "yacron2_cluster_peer_clock_skew_seconds{")
		}
		return compared && p[`yacron2_job_last_success_timestamp_seconds{job_name="zeta"}`] != "" && p[`yacron2_job_last_failure_timestamp_seconds{job_name="alpha"}`] != ""
	})
	_, text := a.request("GET", "/metrics", nil)
	shown := map[string]bool{ // and those that are not there before something happens
		"yacron2_job_firings_missed_total":     true,
		"yacron2_gossip_claim":                 true,
		"yacron2_gossip_exchange_failed_total": true,
		"yacron2_gossip_exchange_spared_total": true,
		"yacron2_gossip_packet_dropped_total":  true,
		"yacron2_lease_renew":                  true,
		"yacron2_lease_mark":                   true,
		"yacron2_lease_failure_total":          true,
		"yacron2_lease_lost_total":             true,
	}
	_, lease := leaseholder(t).request("GET", "/metrics", nil)
	text += lease
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if strings.HasPrefix(name, "yacron2_") {
				shown[name] = true
			}
		}
	}
	for name := range shown {
		if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "`"+name+"{") {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, cell := range strings.Split(page, "`") {
		name, _, _ := strings.Cut(cell, "{")
		if strings.HasPrefix(name, "yacron2_") && !strings.ContainsAny(name, " \n") && !shown[name] {
			t.Errorf("%s is on the page and not shown", name)
		}
	}
}
