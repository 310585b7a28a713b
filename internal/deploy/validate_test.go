package deploy

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// composeFiles are all compose files of the source tree.
func composeFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"docker-compose-*.yml", "example/*/docker-compose.yml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	if len(names) < 5 {
		t.Fatalf("only %v", names)
	}
	return names
}

// Every agent of every compose file would find a valid configuration, with a name of its
// own and ports that no other service publishes.
func TestComposeFilesAreValid(t *testing.T) {
	for _, name := range composeFiles(t) {
		t.Run(name, func(t *testing.T) {
			c := readCompose(t, name, nil)
			ports := map[string]string{}
			agents := 0
			for _, s := range slices.Sorted(maps.Keys(c.Services)) {
				service := c.Services[s]
				for _, port := range service.Ports {
					host, _, _ := strings.Cut(port, ":")
					if other := ports[host]; other != "" {
						t.Errorf("%s and %s publish port %s", s, other, host)
					}
					ports[host] = s
				}
				if len(service.Ports) == 0 {
					continue // no agent: certificates, stores
				}
				agents++
				if service.Hostname != s {
					t.Errorf("%s has the host name %q, and its peers know it as %s", s, service.Hostname, s)
				}
				checkService(t, c, s)
			}
			if agents < 2 {
				t.Errorf("%d agents", agents)
			}
		})
	}
}

// checkService lays out the files that a service mounts as its configuration and
// validates them. One whose cluster section is written when it starts is left to run.
func checkService(t *testing.T, c *compose, name string) {
	t.Helper()
	dir := t.TempDir()
	for _, text := range c.Services[name].Volumes {
		v := c.volume(t, text)
		to, inside := strings.CutPrefix(v.to, "/etc/yacron2.d")
		if v.file == "" || !inside {
			continue
		}
		target := filepath.Join(dir, filepath.FromSlash(to))
		var err error
		if info, statErr := os.Stat(v.file); statErr == nil && info.IsDir() {
			err = os.CopyFS(target, os.DirFS(v.file))
		} else {
			var content []byte
			if content, err = os.ReadFile(v.file); err == nil {
				err = os.WriteFile(target, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	validate(t, dir)
}

// validate runs "yacron2 validate" on paths, which must be valid without a warning.
func validate(t *testing.T, paths ...string) {
	t.Helper()
	out, err := exec.Command(testcluster.Binary(t), append([]string{"validate", "-strict"}, paths...)...).CombinedOutput()
	if err != nil {
		t.Errorf("validate %v: %v\n%s", paths, err, out)
	}
	if !strings.Contains(string(out), "Valid") || strings.Contains(string(out), ": 0 jobs") {
		t.Errorf("validate %v: %s", paths, out)
	}
}

// The other configurations among the deployments.
func TestConfigurationsAreValid(t *testing.T) {
	for _, paths := range [][]string{
		{"kubernetes/jobs.yaml", "kubernetes/cluster.yaml"},
		{"crontab"},
		{"migrate-from-yacron2/after.yaml"},
	} {
		for i := range paths {
			paths[i] = filepath.Join(root, "example", filepath.FromSlash(paths[i]))
		}
		validate(t, paths...)
	}
}

// A configuration of yacron2 1.2 is valid, its warnings say what to know, and the new one
// has the same jobs.
func TestMigration(t *testing.T) {
	at := func(name string) string { return filepath.Join(root, "example", "migrate-from-yacron2", name) }
	stdout, stderr, code := testcluster.Command(t, "validate", "-format=json", at("before.yaml"))
	var result struct {
		Diagnostics []struct{ Severity, Message string }
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 {
		t.Fatalf("validate (%d, %v): %s%s", code, err, stdout, stderr)
	}
	var warnings []string
	for _, d := range result.Diagnostics {
		if d.Severity == "warning" {
			warnings = append(warnings, d.Message)
		}
	}
	if len(warnings) != 2 || !strings.Contains(strings.Join(warnings, " "), "Python logging") {
		t.Errorf("warnings: %q", warnings)
	}
	before, _, _ := testcluster.Command(t, "validate", "-job-set-id", at("before.yaml"))
	after, _, _ := testcluster.Command(t, "validate", "-job-set-id", at("after.yaml"))
	if before != after || !strings.HasPrefix(before, "v1:") {
		t.Errorf("job sets %q and %q", before, after)
	}
}

// No example is left that no test looks at.
func TestEveryExampleIsTested(t *testing.T) {
	tested := []string{"acme-platform", "cluster", "consul", "crontab", "docker", "etcd", "kubernetes", "migrate-from-yacron2", "systemd",
		"monitoring", "team.d"} // the last two by other packages
	entries, err := fs.ReadDir(os.DirFS(filepath.Join(root, "example")), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(tested, e.Name()) {
			t.Errorf("example/%s: nothing tests it", e.Name())
		}
	}
}
