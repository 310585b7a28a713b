package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// imageVariable is the environment variable that names the image of the agent, which make
// image builds. If it is set, containers are run by podman.
const imageVariable = "YACRON2_IMAGE"

// podman runs containers of one project. Its networks and storage are those that it is
// configured with: see scripts/containers.
type podman struct{ project, image string }

// requireImage skips a test without an image, and returns its name.
func requireImage(t *testing.T) string {
	t.Helper()
	name := os.Getenv(imageVariable)
	if name == "" {
		t.Skipf("only with %s=IMAGE, as make containers sets it", imageVariable)
	}
	return name
}

func newPodman(t *testing.T, p *project) engine {
	t.Helper()
	e := podman{project: projectName(t), image: requireImage(t)}
	mustPodman(t, "network", "create", e.project)
	t.Cleanup(func() { mustPodman(t, "network", "rm", "--force", e.project) })
	for _, name := range slices.Sorted(maps.Keys(p.Volumes)) {
		mustPodman(t, "volume", "create", e.name(name))
		t.Cleanup(func() { mustPodman(t, "volume", "rm", "--force", e.name(name)) })
	}
	return e
}

// projectName turns the name of a test into one that podman takes.
func projectName(t *testing.T) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "=", "-").Replace(t.Name()))
}

// runPodman returns what podman prints to its standard output.
func runPodman(words ...string) (string, error) {
	cmd := exec.Command("podman", words...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("podman %s: %w: %s", strings.Join(words, " "), err, complaints.String())
	}
	return string(out), nil
}

func mustPodman(t *testing.T, words ...string) string {
	t.Helper()
	out, err := runPodman(words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (e podman) name(of string) string { return e.project + "-" + of }

func (e podman) command(p *project, name string) *exec.Cmd {
	p.t.Helper()
	s := p.Services[name]
	if s.Image != "yacron2" {
		p.t.Fatalf("%s: where is the image %s to come from?", name, s.Image)
	}
	// What is left of its former life goes first.
	words := []string{
		"run", "--rm", "--replace", "--pull=never", "--name=" + e.name(name), "--network=" + e.project, "--network-alias=" + name,
	}
	if s.Hostname != "" {
		words = append(words, "--hostname="+s.Hostname)
	}
	if s.Healthcheck["disable"] == true {
		words = append(words, "--no-healthcheck")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Environment)) {
		words = append(words, "--env="+key+"="+s.Environment[key])
	}
	for _, text := range s.Volumes {
		v := p.volume(p.t, text)
		from, how := v.file, "rw"
		if v.name != "" {
			from = e.name(v.name)
		}
		if v.readOnly {
			how = "ro"
		}
		words = append(words, "--volume="+from+":"+v.to+":"+how)
	}
	if s.Entrypoint != nil {
		text, err := json.Marshal(s.Entrypoint)
		if err != nil {
			p.t.Fatal(err)
		}
		words = append(words, "--entrypoint="+string(text))
	}
	return exec.Command("podman", append(append(words, e.image), s.Command...)...)
}

func (e podman) beside(_ *project, name string, words ...string) *exec.Cmd {
	return exec.Command("podman", append([]string{"exec", e.name(name)}, words...)...)
}

func (e podman) kill(_ *project, name string) error {
	_, err := runPodman("kill", e.name(name))
	return err
}
