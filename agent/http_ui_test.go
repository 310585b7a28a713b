package agent

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/ui"
)

// Without a token a browser gets the files that there are, and learns nothing else.
func TestDashboardNeedsNoToken(t *testing.T) {
	a := startAgent(t, someJobs, "  authToken: {value: secret}\n")
	for _, path := range dashboardPaths() {
		resp, body := a.request("GET", path, nil)
		if resp.StatusCode != http.StatusOK || body == "" {
			t.Errorf("%s: %d %.50q", path, resp.StatusCode, body)
		}
	}
	for _, path := range []string{"/ui/", "/ui/none.js", "/ui/..", "/ui/%2e%2e/jobs", "/ui/../jobs", "//", "/index.html", "/ui/app%2Ejs", "/jobs", "/version"} {
		if resp, body := a.request("GET", path, nil); resp.StatusCode != http.StatusUnauthorized || body != "401: Unauthorized" {
			t.Errorf("%s: %d %.50q", path, resp.StatusCode, body)
		}
	}
	if resp, _ := a.request("POST", "/", nil); resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %d", resp.StatusCode)
	}
}

func TestDashboardIsOff(t *testing.T) {
	a := startAgent(t, someJobs, "  ui: false\n  authToken: {value: secret}\n")
	for _, path := range dashboardPaths() {
		if resp, _ := a.request("GET", path, nil); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, resp.StatusCode)
		}
		if resp, _ := a.request("GET", path, http.Header{"Authorization": {"Bearer secret"}}); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s with a token: %d", path, resp.StatusCode)
		}
	}
}

// Headers of the configuration win over those of the page, whatever the case of their
// letters, but not over what describes the file.
func TestDashboardHeaders(t *testing.T) {
	a := startAgent(t, someJobs, "  headers: {x-frame-options: SAMEORIGIN, content-type: text/plain, X-Extra: 'yes'}\n")
	resp, _ := a.request("GET", "/", nil)
	h := resp.Header
	if got := h.Values("X-Frame-Options"); len(got) != 1 || got[0] != "SAMEORIGIN" {
		t.Errorf("X-Frame-Options %q", got)
	}
	if h.Get("X-Extra") != "yes" || h.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("headers %v", h)
	}
}

// A reload that turns the dashboard on or off has effect at once.
func TestDashboardReload(t *testing.T) {
	a := startAgent(t, someJobs, "")
	status := func() int {
		resp, _ := a.request("GET", "/ui/"+ui.Index, nil)
		return resp.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n  ui: false\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != http.StatusNotFound {
		t.Errorf("status %d after the reload", got)
	}
}
