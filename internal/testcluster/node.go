package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// requestTimeout bounds one request to an agent, which may be frozen by the test.
const requestTimeout = 5 * time.Second

// Node is one agent: its files, and its process while there is one.
type Node struct {
	Settings // as in its configuration; WriteConfig puts changes into effect
	Client   *api.Client
	// Prepare changes how the agent's process is started; nil changes nothing.
	Prepare func(*exec.Cmd)

	tb     testing.TB
	dir    string
	prefix []string // words before the agent's command line; see Place

	mu      sync.Mutex
	process *Run // the newest one, nil before the first Start
}

// Start starts the node's agent and does not wait for anything.
func (n *Node) Start() {
	n.tb.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process.Running() {
		n.tb.Fatalf("%s runs already", n.NodeName)
	}
	words := append(slices.Clone(n.prefix), Binary(n.tb), "agent", "-config-dir", n.configDir())
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = ProcessAttributes()
	p, err := Launch(cmd, n.logFile(), n.Prepare)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.process = p
}

// current returns the newest process, nil if there never was one.
func (n *Node) current() *Run {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// Running reports whether the node's agent runs.
func (n *Node) Running() bool {
	return n.current().Running()
}

// PID returns the process id of the running agent.
func (n *Node) PID() int {
	n.tb.Helper()
	if !n.Running() {
		n.tb.Fatalf("%s does not run", n.NodeName)
	}
	return n.current().Cmd.Process.Pid
}

// Signal sends sig to the running agent.
func (n *Node) Signal(sig os.Signal) {
	n.tb.Helper()
	n.do(func(r *Run) error { return r.Cmd.Process.Signal(sig) })
}

// do does something to the running agent's process.
func (n *Node) do(what func(*Run) error) {
	n.tb.Helper()
	if !n.Running() {
		n.tb.Fatalf("%s does not run", n.NodeName)
	}
	if err := what(n.current()); err != nil {
		n.tb.Fatalf("%s: %v", n.NodeName, err)
	}
}

// Kill ends the agent by SIGKILL and waits for its end.
func (n *Node) Kill() {
	n.tb.Helper()
	n.Signal(syscall.SIGKILL)
	n.Await()
}

// Stop ends the agent by SIGTERM and waits for its end, which must be in peace.
func (n *Node) Stop() {
	n.tb.Helper()
	n.Signal(syscall.SIGTERM)
	n.AwaitExit()
}

// Await waits for the end of an agent that is about to end, however it ends, and for its
// ports: a child that it was about to start can hold them a moment longer. Those of a
// node that is elsewhere are not looked at.
func (n *Node) Await() {
	n.tb.Helper()
	if err := n.await(); err != nil {
		n.tb.Fatal(err)
	}
	if n.prefix != nil {
		return
	}
	for _, address := range []string{n.Listen, loopback(n.APIPort)} {
		Eventually(n.tb, "the ports of the ended agent", func() error {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			return l.Close()
		})
	}
}

func (n *Node) await() error {
	p := n.current()
	select {
	case <-p.Exited:
		return nil
	case <-time.After(Patience):
	}
	// SIGQUIT makes it write where its goroutines are into its log.
	_ = p.Cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.Exited:
	case <-time.After(requestTimeout):
	}
	return fmt.Errorf("%s has not ended within %v; its log shows its goroutines", n.NodeName, Patience)
}

// ExitCode returns the exit code of an agent that has ended; -1 if a signal ended it.
func (n *Node) ExitCode() int {
	n.tb.Helper()
	if n.Running() {
		n.tb.Fatalf("%s runs", n.NodeName)
	}
	return n.current().Cmd.ProcessState.ExitCode()
}

// AwaitExit waits for an agent that was told to stop. It must exit with code 0.
func (n *Node) AwaitExit() {
	n.tb.Helper()
	if err := n.awaitExit(); err != nil {
		n.tb.Fatal(err)
	}
}

func (n *Node) awaitExit() error {
	if err := n.await(); err != nil {
		return err
	}
	if state := n.current().Cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s ended with %v, want exit code 0", n.NodeName, state)
	}
	return nil
}

// Pause freezes the agent, and Resume lets it go on.
func (n *Node) Pause() { n.tb.Helper(); n.do((*Run).Freeze) }

// Resume ends a Pause.
func (n *Node) Resume() { n.tb.Helper(); n.do((*Run).Thaw) }

// Reload makes the agent read its configuration again.
func (n *Node) Reload() { n.tb.Helper(); n.Signal(syscall.SIGHUP) }

// Cluster returns the cluster as the node sees it.
func (n *Node) Cluster() (api.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	c, err := n.Client.Cluster(ctx)
	if err != nil {
		return c, fmt.Errorf("%s: %w", n.NodeName, err)
	}
	return c, nil
}

// Peer returns the row of other in the node's view.
func (n *Node) Peer(other *Node) (api.Peer, error) {
	c, err := n.Cluster()
	if err != nil {
		return api.Peer{}, err
	}
	for _, p := range c.Peers {
		if p.Host == other.PeerAddress() {
			return p, nil
		}
	}
	return api.Peer{}, fmt.Errorf("%s has no peer %s (%s)", n.NodeName, other.NodeName, other.PeerAddress())
}

// Job returns one job as the node's API shows it.
func (n *Node) Job(name string) (api.Job, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	jobs, err := n.Client.Jobs(ctx)
	if err != nil {
		return api.Job{}, fmt.Errorf("%s: %w", n.NodeName, err)
	}
	for _, j := range jobs {
		if j.Name == name {
			return j, nil
		}
	}
	return api.Job{}, fmt.Errorf("%s has no job %s", n.NodeName, name)
}

// Command runs the yacron2 command with args against this node's API and returns its
// standard output, standard error and exit code.
func (n *Node) Command(args ...string) (stdout, stderr string, code int) {
	n.tb.Helper()
	return runCommand(n.tb, []string{"YACRON2_HTTP_ADDR=" + n.API()}, args...)
}

// Command runs the yacron2 command with args, without an agent's address.
func Command(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	return runCommand(tb, nil, args...)
}

func runCommand(tb testing.TB, env []string, args ...string) (string, string, int) {
	tb.Helper()
	cmd := exec.Command(Binary(tb), args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// Why returns what the node remembers of a job's firings.
func (n *Node) Why(job string) (api.Why, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	why, err := n.Client.Why(ctx, job, time.Time{})
	if err != nil {
		return why, fmt.Errorf("%s: %w", n.NodeName, err)
	}
	return why, nil
}

// Log returns what the agents of this node have logged so far.
func (n *Node) Log() string {
	n.tb.Helper()
	data, err := os.ReadFile(n.logFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.tb.Fatal(err)
	}
	return string(data)
}

func (n *Node) logFile() string   { return filepath.Join(n.dir, "log") }
func (n *Node) configDir() string { return filepath.Join(n.dir, "config") }
