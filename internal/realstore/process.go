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
	latest *run // nil before the first
}

// run is one run of a program.
type run struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended and was waited for
}

func (r *run) running() bool {
	select {
	case <-r.exited:
		return false
	default:
		return true
	}
}

// newProcess describes a program whose log goes into dir.
func newProcess(name, dir string, argv ...string) *process {
	return &process{name: name, argv: argv, log: filepath.Join(dir, name+".log")}
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest != nil && p.latest.running() {
		return fmt.Errorf("%s runs already", p.name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = testcluster.ProcessAttributes()
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &run{cmd: cmd, exited: make(chan struct{})}
	go func() { // ends with the process, which kill ends at the latest
		defer close(r.exited)
		_ = cmd.Wait() // how it ended stays in cmd.ProcessState
	}()
	p.latest = r
	return nil
}

// current returns the run of a running process, else an error with the end of its log.
func (p *process) current() (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest == nil || !p.latest.running() {
		return nil, fmt.Errorf("%s does not run; its log ends with\n%s", p.name, p.logTail(20))
	}
	return p.latest, nil
}

func (p *process) signal(sig os.Signal) error {
	r, err := p.current()
	if err != nil {
		return err
	}
	return r.cmd.Process.Signal(sig)
}

// kill ends the process by SIGKILL, also a stopped one, and waits for its end. One that
// has ended, or never ran, is left alone.
func (p *process) kill() {
	if r, err := p.current(); err == nil {
		_ = r.cmd.Process.Kill() // fails only if it has ended meanwhile
		<-r.exited
	}
}

// terminate asks the process to end and waits until it has; it is killed if it takes
// its time.
func (p *process) terminate() {
	r, err := p.current()
	if err != nil {
		return
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has ended meanwhile
	select {
	case <-r.exited:
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
