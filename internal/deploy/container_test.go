package deploy

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// project is a compose file whose services run.
type project struct {
	*compose
	t     *testing.T
	net   *netcluster.Net
	image image
	dir   string

	mu         sync.Mutex
	containers map[string]*container
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
	netcluster.Require(t)
	c := readCompose(t, name, variables)
	p := &project{
		compose: c, t: t, net: netcluster.New(t, slices.Sorted(maps.Keys(c.Services))...), image: readImage(t),
		dir: t.TempDir(), containers: map[string]*container{},
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

// enter makes a root folder for a container, of what this machine has, and becomes a
// program in it. Nothing of it is seen outside of the mount namespace that it runs in.
const enter = `
root=$1 host=$2 mounts=$3; shift 3
hostname "$host"
mount -t tmpfs -o mode=755 container "$root"
cd "$root"
mkdir -p proc dev tmp etc run var/lib/yacron2 program
chmod 1777 tmp
for d in bin sbin lib lib32 lib64 usr; do
	if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$d"
	elif [ -d "/$d" ]; then mkdir "$d"; mount --rbind "/$d" "$d"; fi
done
mount --rbind /proc proc
mount --rbind /dev dev
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/hosts etc/ 2>/dev/null || true
cp /etc/resolv.conf etc/ 2>/dev/null || true
while read -r from to how; do
	mkdir -p "./$(dirname "$to")"
	if [ -d "$from" ]; then mkdir -p "./$to"; else : >"./$to"; fi
	mount --bind "$from" "./$to"
	if [ "$how" = ro ]; then mount -o remount,bind,ro "./$to"; fi
done <"$mounts"
exec chroot "$root" "$@"`

// start starts a service, again after its end as well.
func (p *project) start(name string) {
	p.t.Helper()
	s := p.Services[name]
	dir := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	mounts := testcluster.Binary(p.t) + " /program/yacron2 ro\n"
	for _, text := range s.Volumes {
		v := p.volume(p.t, text)
		from, how := v.file, "rw"
		if v.name != "" {
			from = filepath.Join(p.dir, "volume-"+v.name)
			if err := os.MkdirAll(from, 0o755); err != nil {
				p.t.Fatal(err)
			}
		}
		if v.readOnly {
			how = "ro"
		}
		mounts += from + " " + v.to + " " + how + "\n"
	}
	list := filepath.Join(dir, "mounts")
	if err := os.WriteFile(list, []byte(mounts), 0o644); err != nil {
		p.t.Fatal(err)
	}
	host := s.Hostname
	if host == "" {
		host = name
	}
	words := append(p.net.Prefix(name), "unshare", "--uts", "sh", "-ec", enter, "sh", filepath.Join(dir, "root"), host, list)
	words = append(words, s.words(p.image)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = []string{"PATH=/program:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}
	for _, key := range slices.Sorted(maps.Keys(s.Environment)) {
		cmd.Env = append(cmd.Env, key+"="+s.Environment[key])
	}
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
	if err := p.container(name).cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.awaitEnd(name)
}

// down kills all that runs, and shows what it printed if the test has failed.
func (p *project) down() {
	for name, c := range p.containers {
		if c.running() {
			_ = c.cmd.Process.Kill()
		}
		<-c.exited
		if p.t.Failed() {
			p.t.Logf("%s printed:\n%s", name, c.out)
		}
	}
}

// exec runs a program in the network of a service, as "docker compose exec" does, and
// returns its output and exit code.
func (p *project) exec(name string, words ...string) (out string, code int) {
	p.t.Helper()
	if words[0] == "yacron2" {
		words[0] = testcluster.Binary(p.t)
	}
	words = append(p.net.Prefix(name), words...)
	cmd := exec.Command(words[0], words[1:]...)
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
