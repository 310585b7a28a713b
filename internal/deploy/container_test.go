package deploy

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// project is a compose file whose services run.
type project struct {
	*compose
	t      *testing.T
	engine engine
	image  image
	dir    string

	mu         sync.Mutex
	containers map[string]*container
}

// engine is what containers run by. Which one is the same for all tests of a run.
type engine interface {
	// command returns what runs a service until its end, and passes SIGTERM on to it.
	command(p *project, service string) *exec.Cmd
	// beside returns what runs a program where a service runs.
	beside(p *project, service string, words ...string) *exec.Cmd
	// kill ends a service at once.
	kill(p *project, service string) error
}

// container is one service that was started.
type container struct {
	cmd    *exec.Cmd
	exited chan struct{}
	out    *output
}

// output collects what a container prints, over all its lives.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// up starts all services of a compose file, those first that others wait for.
func up(t *testing.T, name string, variables map[string]string) *project {
	t.Helper()
	c := readCompose(t, name, variables)
	p := &project{compose: c, t: t, image: readImage(t), dir: t.TempDir(), containers: map[string]*container{}}
	if os.Getenv(imageVariable) != "" {
		p.engine = newPodman(t, p)
	} else {
		p.engine = newProcesses(t, p)
	}
	t.Cleanup(p.down)
	started := map[string]bool{}
	var start func(name string)
	start = func(name string) {
		if started[name] {
			return
		}
		started[name] = true
		for _, before := range c.Services[name].first() {
			start(before)
			p.awaitSuccess(before)
		}
		p.start(name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		start(name)
	}
	return p
}

// start starts a service, again after its end as well.
func (p *project) start(name string) {
	p.t.Helper()
	cmd := p.engine.command(p, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &container{cmd: cmd, exited: make(chan struct{}), out: &output{}}
	if before := p.containers[name]; before != nil {
		c.out = before.out
	}
	cmd.Stdout, cmd.Stderr = c.out, c.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second // a job that was left behind may hold the output
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { // ends with the process, which down kills and awaits
		defer close(c.exited)
		_ = cmd.Wait() // how it ended stays in cmd.ProcessState
	}()
	p.containers[name] = c
}

func (p *project) container(name string) *container {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.containers[name]
	if c == nil {
		p.t.Fatalf("%s was not started", name)
	}
	return c
}

func (c *container) running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

func (p *project) awaitEnd(name string) *container {
	p.t.Helper()
	c := p.container(name)
	select {
	case <-c.exited:
	case <-time.After(testcluster.Patience):
		p.t.Fatalf("%s goes on:\n%s", name, c.out)
	}
	return c
}

func (p *project) awaitSuccess(name string) {
	p.t.Helper()
	if c := p.awaitEnd(name); !c.cmd.ProcessState.Success() {
		p.t.Fatalf("%s: %v:\n%s", name, c.cmd.ProcessState, c.out)
	}
}

// stop ends services as "docker compose stop" does; they must end well.
func (p *project) stop(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := p.container(name).cmd.Process.Signal(syscall.SIGTERM); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, name := range names {
		p.awaitSuccess(name)
	}
}

// kill ends a service as "docker compose kill" does.
func (p *project) kill(name string) {
	p.t.Helper()
	p.container(name)
	if err := p.engine.kill(p, name); err != nil {
		p.t.Fatal(err)
	}
	p.awaitEnd(name)
}

// down kills all that runs, and shows what it printed if the test has failed.
func (p *project) down() {
	for name, c := range p.containers {
		if c.running() {
			_ = p.engine.kill(p, name) // it may have ended meanwhile
		}
		<-c.exited
		if p.t.Failed() {
			p.t.Logf("%s printed:\n%s", name, c.out)
		}
	}
}

// exec runs a program beside a service, as "docker compose exec" does, and returns its
// output and exit code.
func (p *project) exec(name string, words ...string) (out string, code int) {
	p.t.Helper()
	cmd := p.engine.beside(p, name, words...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// lines returns what the services have printed, line by line.
func (p *project) lines(names ...string) []string {
	p.t.Helper()
	var all []string
	for _, name := range names {
		all = append(all, strings.Split(strings.TrimRight(p.container(name).out.String(), "\n"), "\n")...)
	}
	return all
}
