package agent

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/yacron2/yacron2/api"
)

func TestProbesNeedNoToken(t *testing.T) {
	a := startAgent(t, someJobs, "  authToken:\n    value: secret\n")
	for _, path := range []string{"/health", "/ready"} {
		if resp, body := a.request("GET", path, nil); resp.StatusCode != 200 || body != "ok" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q %v", path, resp.StatusCode, body, resp.Header)
		}
		if resp, body := a.request("HEAD", path, nil); resp.StatusCode != 200 || body != "" {
			t.Errorf("HEAD %s: %d %q", path, resp.StatusCode, body)
		}
		if _, body := a.request("GET", path, http.Header{"Accept": {"application/json"}}); body != `{"ok":true}` {
			t.Errorf("%s as JSON: %s", path, body)
		}
		if resp, _ := a.request("POST", path, nil); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET,HEAD" {
			t.Errorf("POST %s: %d", path, resp.StatusCode)
		}
		if resp, _ := a.request("GET", path+"/", nil); resp.StatusCode != 401 {
			t.Errorf("%s/: %d", path, resp.StatusCode)
		}
	}
}

func TestReadyWhileStoppingAndWithoutQuorum(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	makeFIFO(t, pipe)
	a := startCluster(t, 3, "jobs:\n  - name: slow\n    command: read x < "+pipe+"\n    schedule: '@yearly'\n", "")
	one := a[0]
	awaitLeader(t, a)
	for _, other := range a[1:] {
		if err := other.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "quorum is lost", func() bool {
		c, err := one.client.Cluster(t.Context())
		return err == nil && !c.Quorate
	})
	if health, err := one.client.Ready(t.Context()); err != nil || !health.OK {
		t.Errorf("without quorum: %+v, %v", health, err)
	}
	if err := one.client.Start(t.Context(), "slow"); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- one.Stop(context.Background()) }()
	eventually(t, "the agent tells that it stops", func() bool {
		health, err := one.client.Ready(t.Context())
		return err == nil && health == api.Health{Reason: "the agent is stopping"}
	})
	if resp, body := one.request("GET", "/ready", nil); resp.StatusCode != 503 || body != "the agent is stopping" {
		t.Errorf("as text: %d %q", resp.StatusCode, body)
	}
	if resp, _ := one.request("GET", "/health", nil); resp.StatusCode != 200 {
		t.Errorf("an agent that stops in peace is to be killed: %d", resp.StatusCode)
	}
	if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestReadyBeforeTheStart(t *testing.T) {
	a := &Agent{}
	if err := a.ready(); err != errNotStarted {
		t.Errorf("got %v", err)
	}
}
