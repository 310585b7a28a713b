package realstore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// process is one program, which may run several times, one run after the other.
type process struct {
	name string
	argv []string
	log  string // file

	mu     sync.Mutex
	latest *testcluster.Run // nil before the first
}

// newProcess describes a program whose log goes into dir.
func newProcess(name, dir string, argv ...string) *process {
	return &process{name: name, argv: argv, log: filepath.Join(dir, name+".log")}
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest.Running() {
		return fmt.Errorf("%s runs already", p.name)
	}
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.SysProcAttr = testcluster.ProcessAttributes()
	latest, err := testcluster.Launch(cmd, p.log, nil)
	if err != nil {
		return err
	}
	p.latest = latest
	return nil
}

// current returns the run of a running process, else an error with the end of its log.
func (p *process) current() (*testcluster.Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.latest.Running() {
		return nil, fmt.Errorf("%s does not run; its log ends with\n%s", p.name, p.logTail(20))
	}
	return p.latest, nil
}

// pause freezes the process, and resume lets it go on.
func (p *process) pause() error  { return p.do((*testcluster.Run).Freeze) }
func (p *process) resume() error { return p.do((*testcluster.Run).Thaw) }

func (p *process) do(what func(*testcluster.Run) error) error {
	r, err := p.current()
	if err != nil {
		return err
	}
	return what(r)
}

// kill ends the process by SIGKILL, also a stopped one, and waits for its end. One that
// has ended, or never ran, is left alone.
func (p *process) kill() {
	if r, err := p.current(); err == nil {
		_ = r.Cmd.Process.Kill() // fails only if it has ended meanwhile
		<-r.Exited
	}
}

// terminate asks the process to end and waits until it has; it is killed if it takes
// its time.
func (p *process) terminate() {
	r, err := p.current()
	if err != nil {
		return
	}
	_ = r.Cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended meanwhile
	select {
	case <-r.Exited:
	case <-time.After(testcluster.Patience):
		p.kill()
	}
}

// logTail returns the last lines of the log.
func (p *process) logTail(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
