package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// What podman kept of the Dockerfile is what it says.
func TestImageConfig(t *testing.T) {
	want := readImage(t)
	var images []struct {
		HealthCheck struct{ Test []string }
		Config      struct {
			User, StopSignal string
			Entrypoint, Cmd  []string
		}
	}
	if err := json.Unmarshal([]byte(mustPodman(t, "image", "inspect", requireImage(t))), &images); err != nil {
		t.Fatal(err)
	}
	got := images[0]
	if !slices.Equal(got.Config.Entrypoint, want.entrypoint) || !slices.Equal(got.Config.Cmd, want.command) ||
		!slices.Equal(got.HealthCheck.Test, append([]string{"CMD"}, want.healthcheck...)) || got.Config.StopSignal != "SIGTERM" || got.Config.User != "root" {
		t.Errorf("the image has %+v, the Dockerfile says %+v", got, want)
	}
}

// alone is one container of the image.
type alone struct {
	t    *testing.T
	name string
}

// runAlone starts a container with a configuration file, detached.
func runAlone(t *testing.T, file string, options ...string) *alone {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &alone{t: t, name: projectName(t)}
	words := append([]string{"run", "--detach", "--pull=never", "--name=" + c.name, "--volume=" + file + ":/etc/yacron2.d/agent.yaml:ro"}, options...)
	mustPodman(t, append(words, requireImage(t))...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("printed:\n%s", c.printed())
		}
		mustPodman(t, "rm", "--force", "--time=0", "--volumes", c.name)
	})
	testcluster.Eventually(t, "a healthy container", c.healthy)
	return c
}

// healthy is the image's own check.
func (c *alone) healthy() error {
	_, err := runPodman("healthcheck", "run", c.name)
	return err
}

func (c *alone) printed() string {
	out, err := exec.Command("podman", "logs", c.name).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func (c *alone) says(text string) func() error {
	return func() error {
		if !strings.Contains(c.printed(), text) {
			return fmt.Errorf("never printed %q", text)
		}
		return nil
	}
}

func (c *alone) sh(script string) string {
	c.t.Helper()
	return strings.TrimSpace(mustPodman(c.t, "exec", c.name, "sh", "-ec", script))
}

// stop ends the container as its engine does, and returns its exit code.
func (c *alone) stop() string {
	c.t.Helper()
	mustPodman(c.t, "stop", "--time=60", c.name)
	return strings.TrimSpace(mustPodman(c.t, "inspect", "--format={{.State.ExitCode}}", c.name))
}

// The example, as its first lines say.
func TestImageAlone(t *testing.T) {
	t.Parallel()
	c := runAlone(t, filepath.Join(root, "example", "docker", "alone.yaml"), "--publish=127.0.0.1::8080", "--volume=alone:/var/lib/yacron2")
	address := strings.TrimSpace(mustPodman(t, "port", c.name, "8080/tcp"))
	resp, err := http.Get("http://" + address + "/version")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	version, err := io.ReadAll(resp.Body)
	if said := c.sh("yacron2 version"); err != nil || string(version) != said || said == "" {
		t.Errorf("the published port says %q (%v), the program %q", version, err, said)
	}
	testcluster.Eventually(t, "a job at its local time", c.says("+0900"))

	// Nobody but the first process collects what a job has left: otherwise it would stay
	// as a zombie.
	if first := c.sh("cat /proc/1/comm"); first != "yacron2" {
		t.Errorf("the first process is %s", first)
	}
	var left string
	testcluster.Eventually(t, "a job that leaves a process", func() error {
		_, after, found := strings.Cut(c.printed(), "left ")
		if left, _, _ = strings.Cut(after, "\n"); !found || left == "" {
			return errors.New("nothing was left")
		}
		return nil
	})
	testcluster.Eventually(t, "what was left is collected", func() error {
		return testcluster.Expect("its parent and state", c.sh(`sed -n '/^PPid\|^State/p' /proc/`+left+`/status 2>/dev/null || true`), "")
	})
	if zombies := c.sh(`grep -l '^State:.Z' /proc/[0-9]*/status || true`); zombies != "" {
		t.Errorf("zombies: %s", zombies)
	}

	if code := c.stop(); code != "0" {
		t.Errorf("ended with %s", code)
	}
	mustPodman(t, "start", c.name)
	testcluster.Eventually(t, "a healthy container", c.healthy)
	if n := c.sh("yacron2 job history greet | grep -c success"); n == "0" {
		t.Error("the volume kept no history")
	}
}

const awaitedJobs = `
web: {listen: ["http://127.0.0.1:8080"]}
dataDir: /var/lib/yacron2
defaults: {captureStdout: true}
jobs:
  - name: long
    schedule: "@reboot"
    command: echo "begun by $(id -u)"; while test ! -e /tmp/go; do sleep 0.1; done; echo ended
`

// SIGTERM lets what runs end; and nobody may be the user.
func TestImageStops(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte(awaitedJobs), 0o644); err != nil {
		t.Fatal(err)
	}
	for user, id := range map[string]string{"root": "0", "nobody": "65534"} {
		t.Run(user, func(t *testing.T) {
			c := runAlone(t, file, "--user="+user, "--network=none")
			testcluster.Eventually(t, "a job", c.says("begun by "+id))
			mustPodman(t, "kill", "--signal=TERM", c.name)
			testcluster.Eventually(t, "no new firings", c.says("stopping"))
			testcluster.Eventually(t, "health while a job is awaited", c.healthy)
			c.sh("touch /tmp/go")
			if code := strings.TrimSpace(mustPodman(t, "wait", c.name)); code != "0" {
				t.Errorf("ended with %s", code)
			}
			if err := c.says("ended")(); err != nil {
				t.Error(err)
			}
		})
	}
}
