//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/api"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// transcript collects output and lets others wait for it.
type transcript struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced on each change
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.changed)
	tr.changed = make(chan struct{})
	return tr.text.Write(p)
}

func (tr *transcript) read() (string, <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String(), tr.changed
}

// process is a running program.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *transcript
	ended    chan struct{}
}

// start runs the program with args in a process of its own.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith is start with further environment variables.
func startWith(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), out: newTranscript(), err: newTranscript(), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is looked at by whoever waits
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// await waits until standard error, or standard output, has text.
func (p *process) await(text string) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		out, outChanged := p.out.read()
		log, logChanged := p.err.read()
		if strings.Contains(out, text) || strings.Contains(log, text) {
			return
		}
		select {
		case <-outChanged:
		case <-logChanged:
		case <-p.ended:
			// What it wrote last has arrived by now.
			out, _ = p.out.read()
			if log, _ = p.err.read(); !strings.Contains(out+log, text) {
				p.t.Fatalf("ended with %v and without %q\nstdout: %s\nstderr: %s", p.cmd.ProcessState, text, out, log)
			}
			return
		case <-timeout:
			p.t.Fatalf("no %q in time\nstdout: %s\nstderr: %s", text, out, log)
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and checks the exit code.
func (p *process) exits(code int) result {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		log, _ := p.err.read()
		p.t.Fatalf("does not end\nstderr: %s", log)
	}
	out, _ := p.out.read()
	log, _ := p.err.read()
	r := result{p.cmd.ProcessState.ExitCode(), out, log}
	if r.code != code {
		p.t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	return r
}

// startAgent runs an agent with its API on a socket and the jobs of a YAML list.
func startAgent(t *testing.T, jobs string) (p *process, dir, address string) {
	t.Helper()
	// Not t.TempDir: the path of a socket must be short.
	sockets, err := os.MkdirTemp("", "yacron2-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	address = "unix://" + filepath.Join(sockets, "s")
	dir = configDir(t, map[string]string{
		"web.yaml":  "web:\n  listen:\n    - " + address + "\n",
		"jobs.yaml": "jobs:\n" + jobs,
	})
	p = start(t, "agent", "-config-dir", dir)
	p.await("started")
	return p, dir, address
}

const daily = `  - name: daily
    command: echo daily
    schedule: "@daily"
`

func TestAgentStops(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p, _, address := startAgent(t, daily)
		run(t, nil, "members", "-address", address).expect(t, exitOK, []string{"no cluster"}, nil)
		run(t, nil, "leader", "-address", address).expect(t, exitNo, []string{"no cluster"}, nil)
		p.signal(s)
		r := p.exits(exitOK)
		if r.out != "" {
			t.Errorf("%v: standard output has %q", s, r.out)
		}
		run(t, nil, "members", "-address", address).expect(t, exitFailed, nil, []string{"no agent answers"})
	}
}

// A running job is awaited.
func TestAgentAwaitsJobs(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, _ := startAgent(t, fmt.Sprintf(`  - name: long
    command: echo begun; read line < %s; echo ended $line
    schedule: "@reboot"
    captureStdout: true
`, fifo))
	p.await("begun")
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	if err := os.WriteFile(fifo, []byte("in peace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.exits(exitOK); !strings.Contains(r.out, "ended in peace") {
		t.Errorf("standard output has %q", r.out)
	}
}

func TestAgentSecondSignalCancels(t *testing.T) {
	p, _, _ := startAgent(t, `  - name: endless
    command: trap 'echo told to end; exit 3' TERM; echo begun; while :; do sleep 1; done
    schedule: "@reboot"
    captureStdout: true
`)
	p.await("begun")
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	p.signalAgain(syscall.SIGTERM)
	if r := p.exits(exitOK); !strings.Contains(r.out, "told to end") {
		t.Errorf("standard output has %q", r.out)
	}
}

func TestAgentThirdSignalEnds(t *testing.T) {
	p, _, _ := startAgent(t, `  - name: deaf
    command: trap '' TERM; echo begun as $$.; while :; do sleep 1; done
    schedule: "@reboot"
    captureStdout: true
    killTimeout: 3600
`)
	p.await("begun as ")
	p.await(".")
	out, _ := p.out.read()
	_, rest, _ := strings.Cut(out, "begun as ")
	number, _, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	// The job's whole group: it is left behind, as it must be.
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	p.signal(syscall.SIGINT)
	p.await("stopping")
	p.signalAgain(syscall.SIGINT)
	p.await("cancelling running jobs")
	p.signalAgain(syscall.SIGINT)
	if r := p.exits(exitFailed); !strings.Contains(r.err, "left behind") {
		t.Errorf("standard error has %q", r.err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the job is gone: %v", err)
	}
}

// signalAgain sends a signal that is not taken for the one before.
func (p *process) signalAgain(s os.Signal) {
	p.t.Helper()
	<-time.After(together)
	p.signal(s)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("no %s in time", what)
		}
	}
}

func TestAgentReloads(t *testing.T) {
	p, dir, address := startAgent(t, daily)
	client, err := api.NewClient(api.ClientConfig{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	status := func() api.ConfigStatus {
		t.Helper()
		s, err := client.ConfigStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "jobs.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := status()
	if before.Jobs != 1 {
		t.Fatalf("%d jobs at the start", before.Jobs)
	}

	rewrite(badJobs)
	p.signal(syscall.SIGHUP)
	eventually(t, "reload by a signal", func() bool { return status().Trigger == string(agent.TriggerSignal) })
	if s := status(); s.State != api.ConfigFailed || s.JobSetID != before.JobSetID || len(s.Errors) == 0 {
		t.Errorf("after a reload that failed: %+v", s)
	}
	env := map[string]string{envAddress: address}
	run(t, env, "reload").expect(t, exitFailed, nil, []string{filepath.Join(dir, "jobs.yaml") + ":3:5: error: ", "did you mean command?", "refused, the old"})

	rewrite("jobs:\n" + daily + strings.ReplaceAll(daily, "name: daily", "name: other"))
	run(t, env, "reload").expect(t, exitOK, []string{"Reloaded: 2 jobs, job set v1:"}, nil)
	p.signal(syscall.SIGHUP)
	eventually(t, "reload by a signal", func() bool { return status().Trigger == string(agent.TriggerSignal) })
	if s := status(); s.State != api.ConfigLoaded || s.Jobs != 2 || s.JobSetID == before.JobSetID {
		t.Errorf("after the reload: %+v", s)
	}
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

// The job commands against a real agent.
func TestAgentRunsJobs(t *testing.T) {
	p, _, address := startAgent(t, `  - name: clean up
    command: echo by hand; exit 3
    schedule: "@daily"
    captureStdout: true
  - name: endless
    command: echo going on; sleep 600
    schedule: "@daily"
    captureStdout: true
  - name: off
    command: "true"
    schedule: "@daily"
    enabled: false
`)
	env := map[string]string{envAddress: address}
	run(t, env, "job", "run", "clean up").expect(t, exitOK, []string{"Started clean up"}, nil)
	eventually(t, "end of the run", func() bool { return strings.Contains(run(t, env, "job", "history", "clean up").out, "failure") })
	run(t, env, "job", "history", "clean up").expect(t, exitOK, []string{"1 run kept, 0 success, 1 failure", "manual", "retcode=3"}, nil)
	run(t, env, "job", "logs", "clean up").expect(t, exitOK, []string{"by hand\n"}, nil)
	run(t, env, "job", "logs", "endless").expect(t, exitOK, nil, []string{"endless has not run"})
	run(t, env, "job", "run", "endless").expect(t, exitOK, []string{"Started endless"}, nil)
	p.await("going on")
	run(t, env, "job", "list").expect(t, exitOK, []string{"3 jobs, 1 running, 1 disabled", "running, pid ", "failure (3) "}, nil)
	run(t, env, "job", "cancel", "endless").expect(t, exitOK, []string{"Cancelled endless"}, nil)
	run(t, env, "job", "cancel", "endless").expect(t, exitFailed, nil, []string{"the agent says: job 'endless' is not running"})
	run(t, env, "job", "show", "endless").expect(t, exitOK, []string{"cancelled"}, nil)
	run(t, env, "job", "run", "off").expect(t, exitFailed, nil, []string{"the agent says: job 'off' is disabled"})
	run(t, env, "job", "run", "clean-up").expect(t, exitFailed, nil, []string{`no job "clean-up", did you mean "clean up"?`})
	p.signal(syscall.SIGTERM)
	p.exits(exitOK)
}

func TestAgentDoesNotStart(t *testing.T) {
	dir := configDir(t, map[string]string{"a.yaml": badJobs})
	run(t, nil, "agent", "-config-dir", dir).expect(t, exitFailed, nil,
		[]string{filepath.Join(dir, "a.yaml") + ":3:5: error: ", "  3 |     comand: echo done\n", "error: the configuration is not valid: "})
	run(t, nil, "-c", dir).expect(t, exitFailed, nil, []string{"hint: ", "error: the configuration is not valid: "})
	run(t, nil, "agent").expect(t, exitFailed, nil, []string{"error: there is no configuration: ", "yacron2 agent -dev"})
}

// The form that was all there was before there were commands.
func TestAgentOldForm(t *testing.T) {
	dir := configDir(t, map[string]string{"a.yaml": goodJobs})
	p := start(t, "-c", dir, "-l", "DEBUG")
	p.await("started")
	p.signal(syscall.SIGTERM)
	if r := p.exits(exitOK); !strings.Contains(r.err, "the new one is: yacron2 agent -config-dir "+dir+" -log-level debug") {
		t.Errorf("standard error has %q", r.err)
	}
}

func TestAgentMisuse(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown log level "loud": write trace`: {"-log-level=loud"},
		`unknown log format "xml": write text`:  {"-log-format=xml"},
		"-dev reads and keeps no files":         {"-dev", "-config-dir=x"},
		"keeps no files":                        {"-dev", "-data-dir=x"},
		`unexpected argument "x"`:               {"x"},
	} {
		run(t, nil, append([]string{"agent"}, args...)...).expect(t, exitMisuse, nil, []string{want, "hint: yacron2 agent -help"})
	}
}

// What the introduction names is what runs.
func TestDevIntroduction(t *testing.T) {
	cfg, diags := agent.Load(agent.Options{Dev: true})
	if len(diags.Errors())+len(diags.Warnings()) > 0 {
		t.Fatal(diags)
	}
	if len(cfg.Web.Listen) != 1 || cfg.Web.Listen[0].String() != api.DefaultAddress {
		t.Errorf("the API is at %v, want %s", cfg.Web.Listen, api.DefaultAddress)
	}
	found := false
	for _, j := range cfg.Jobs {
		found = found || j.Name == "hello"
	}
	if !found || len(cfg.Jobs) != 2 {
		t.Errorf("%d jobs, with hello: %v", len(cfg.Jobs), found)
	}
}

// With the port taken there is nothing to look at, so that the sample does not run.
func TestDevPortTaken(t *testing.T) {
	// If this fails, another program has the port: that will do as well.
	if l, err := net.Listen("tcp", strings.TrimPrefix(api.DefaultAddress, "http://")); err == nil {
		defer l.Close()
	}
	r := start(t, "agent", "-dev").exits(exitFailed)
	if !strings.HasPrefix(r.out, "This is yacron2 in development mode") || !strings.Contains(r.err, "another program listens on "+api.DefaultAddress) {
		t.Errorf("got %+v", r)
	}
}

// puppet is an agent whose reloads and stop end when the test says so.
type puppet struct {
	reloading, cancelled chan struct{}
	reload               chan struct{}
	stopping             chan struct{}
	stop                 chan error
}

func newPuppet() *puppet {
	return &puppet{
		reloading: make(chan struct{}), cancelled: make(chan struct{}), reload: make(chan struct{}),
		stopping: make(chan struct{}), stop: make(chan error),
	}
}

func (p *puppet) Reload(context.Context) error {
	p.reloading <- struct{}{}
	<-p.reload
	return errors.New("ignored: it is logged by the agent")
}

func (p *puppet) Stop(context.Context) error {
	p.stopping <- struct{}{}
	return <-p.stop
}

func (p *puppet) CancelRunning() { p.cancelled <- struct{}{} }

// supervised starts supervise and returns where its result arrives.
func supervised(p *puppet, signals <-chan os.Signal) <-chan error {
	ended := make(chan error)
	go func() { ended <- supervise(p, signals, func() {}) }()
	return ended
}

func TestSupervise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		p, signals := newPuppet(), make(chan os.Signal)
		ended := supervised(p, signals)
		signals <- syscall.SIGHUP
		<-p.reloading
		// However many arrive meanwhile, one reload follows; and a stop waits for none.
		for range 5 {
			signals <- syscall.SIGHUP
		}
		signals <- syscall.SIGTERM
		<-p.stopping
		signals <- syscall.SIGHUP
		p.reload <- struct{}{}
		<-p.reloading
		p.reload <- struct{}{}
		<-time.After(together)
		signals <- syscall.SIGINT
		<-p.cancelled
		p.stop <- broken
		if err := <-ended; !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

// Signals that come together are one, however many supervisors send them.
func TestSuperviseCountsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, signals := newPuppet(), make(chan os.Signal)
		ended := supervised(p, signals)
		shower := func() {
			for range 10 {
				signals <- syscall.SIGTERM
				signals <- syscall.SIGINT
				<-time.After((together - 1) / 10)
			}
		}
		shower()
		<-p.stopping
		select {
		case <-p.cancelled:
			t.Error("jobs are cancelled at the first signal")
		case <-time.After(time.Hour):
		}
		go shower()
		<-p.cancelled
		<-time.After(time.Hour)
		p.stop <- nil
		if err := <-ended; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestSuperviseAbandons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, signals := newPuppet(), make(chan os.Signal)
		ended := supervised(p, signals)
		signals <- syscall.SIGTERM
		<-p.stopping
		<-time.After(together)
		signals <- syscall.SIGTERM
		<-p.cancelled
		<-time.After(together)
		signals <- syscall.SIGTERM
		if err := <-ended; !errors.Is(err, errAbandoned) {
			t.Errorf("got %v", err)
		}
		p.stop <- nil // lets the goroutine that stops end
	})
}
