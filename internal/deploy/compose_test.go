package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// compose is a compose file, as far as those of this project go.
type compose struct {
	Services map[string]*service `yaml:"services"`
	Volumes  map[string]any      `yaml:"volumes"`

	dir string // of the file
}

// service is one of its services. What these files don't use is refused, so that nothing
// is tested in another way than it is run.
type service struct {
	Build       string               `yaml:"build"`
	Image       string               `yaml:"image"`
	Entrypoint  []string             `yaml:"entrypoint"`
	Command     []string             `yaml:"command"`
	Environment map[string]string    `yaml:"environment"`
	Volumes     []string             `yaml:"volumes"`
	Ports       []string             `yaml:"ports"`
	Hostname    string               `yaml:"hostname"`
	DependsOn   any                  `yaml:"depends_on"`
	Healthcheck map[string]any       `yaml:"healthcheck"`
	Grace       string               `yaml:"stop_grace_period"`
	Unknown     map[string]yaml.Node `yaml:",inline"`
}

// readCompose reads a compose file below the source tree, with these variables in its
// environment.
func readCompose(t *testing.T, name string, variables map[string]string) *compose {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &compose{dir: filepath.Dir(path)}
	if err := yaml.Unmarshal([]byte(interpolate(string(text), variables)), c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for s, service := range c.Services {
		for key := range service.Unknown {
			t.Errorf("%s: the test knows nothing of %s.%s", name, s, key)
		}
		if service.Build != "" {
			if _, err := os.Stat(filepath.Join(c.dir, service.Build, "Dockerfile")); err != nil {
				t.Errorf("%s: %s is built from nothing: %v", name, s, err)
			}
		}
		for _, v := range service.Volumes {
			c.volume(t, v)
		}
	}
	if len(c.Services) == 0 {
		t.Fatalf("%s has no services", name)
	}
	return c
}

var variable = regexp.MustCompile(`\$\$|\$\{(\w+)(?::-([^}]*))?\}`)

// interpolate replaces variables as compose does.
func interpolate(text string, variables map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		m := variable.FindStringSubmatch(found)
		if value := variables[m[1]]; value != "" {
			return value
		}
		return m[2]
	})
}

// volume is where a volume comes from: a file or folder of the source tree, or a name.
type volume struct {
	file, name, to string
	readOnly       bool
}

func (c *compose) volume(t *testing.T, text string) volume {
	t.Helper()
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" {
		t.Fatalf("volume %q", text)
	}
	v := volume{to: parts[1], readOnly: len(parts) == 3}
	if !strings.HasPrefix(parts[0], ".") {
		if _, known := c.Volumes[parts[0]]; !known {
			t.Fatalf("volume %q is not declared", text)
		}
		v.name = parts[0]
		return v
	}
	v.file = filepath.Join(c.dir, parts[0])
	if _, err := os.Stat(v.file); err != nil {
		t.Fatal(err)
	}
	return v
}

// first returns the services that must have ended well before this one starts.
func (s *service) first() []string {
	var names []string
	conditions, _ := s.DependsOn.(map[string]any)
	for name, how := range conditions {
		if fmt.Sprint(how) == fmt.Sprint(map[string]any{"condition": "service_completed_successfully"}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// image is what the Dockerfile says of how a container starts.
type image struct{ entrypoint, command, healthcheck []string }

var instruction = regexp.MustCompile(`(?m)^(ENTRYPOINT|CMD|HEALTHCHECK) .*?(\[.*\])$`)

func readImage(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var i image
	for _, m := range instruction.FindAllSubmatch(text, -1) {
		var words []string
		if err := json.Unmarshal(m[2], &words); err != nil {
			t.Fatalf("%s: %v", m[0], err)
		}
		switch string(m[1]) {
		case "ENTRYPOINT":
			i.entrypoint = words
		case "CMD":
			i.command = words
		case "HEALTHCHECK":
			i.healthcheck = words
		}
	}
	if i.entrypoint == nil || i.command == nil || i.healthcheck == nil {
		t.Fatalf("the Dockerfile says %+v", i)
	}
	return i
}

// words are the command line of a service.
func (s *service) words(i image) []string {
	switch {
	case s.Image != "yacron2":
		return s.Command
	case s.Entrypoint != nil:
		return append(slices.Clone(s.Entrypoint), s.Command...)
	case s.Command != nil:
		return append(slices.Clone(i.entrypoint), s.Command...)
	}
	return append(slices.Clone(i.entrypoint), i.command...)
}

func TestInterpolate(t *testing.T) {
	for text, want := range map[string]string{
		"$$node": "$node", "${A:-x}": "1", "${B:-x y}": "x y", "${B}": "", "$A": "$A", "a$$${A}": "a$1",
	} {
		if got := interpolate(text, map[string]string{"A": "1"}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
