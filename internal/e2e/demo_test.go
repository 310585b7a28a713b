package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// output is a buffer that a process writes and a test reads.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// demoCommand prepares the demo on ports and in a folder of its own.
func demoCommand(t *testing.T) (cmd *exec.Cmd, out *output, ports []int) {
	t.Helper()
	ports = testcluster.FreePorts(t, 6)
	out = new(output)
	cmd = exec.Command(testcluster.DemoBinary(t), "-binary", testcluster.Binary(t), "-dir", t.TempDir(),
		"-api-ports", fmt.Sprintf("%d,%d,%d", ports[0], ports[1], ports[2]),
		"-cluster-ports", fmt.Sprintf("%d,%d,%d", ports[3], ports[4], ports[5]))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, ports
}

// What "make demo" does: the whole way from nothing to jobs that run on a cluster, and
// back on Ctrl-C.
func TestDemo(t *testing.T) {
	t.Parallel()
	cmd, out, ports := demoCommand(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended stays in cmd.ProcessState
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		<-ended
		if t.Failed() {
			t.Logf("the demo's output:\n%s", out)
		}
	})

	for _, pattern := range []string{
		`A cluster of three runs, and yacron-a leads it`,
		`members -address http://127\.0\.0\.1:` + fmt.Sprint(ports[0]),
		`(?m)^yacron-a \| tick-leader-only, the firing of 20\d\d-`,
		`(?m)^yacron-a \| tick-prefer-leader, `,
		`(?m)^yacron-a \| tick-every-node, `,
		`(?m)^yacron-b \| tick-every-node, `,
		`(?m)^yacron-c \| tick-every-node, `,
	} {
		testcluster.Eventually(t, "the demo's output", func() error {
			if regexp.MustCompile(pattern).MatchString(out.String()) {
				return nil
			}
			return fmt.Errorf("no line like %q", pattern)
		})
	}
	for _, port := range ports[:3] {
		stdout, stderr, code := testcluster.Command(t, "leader", "-address", fmt.Sprintf("127.0.0.1:%d", port))
		if code != 0 || !strings.Contains(stdout, "yacron-a") {
			t.Errorf("leader at port %d: exit code %d, %q, %q", port, code, stdout, stderr)
		}
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	if !cmd.ProcessState.Success() {
		t.Errorf("after Ctrl-C: %v, want exit code 0", cmd.ProcessState)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Errorf("something is left behind: %v", err)
			continue
		}
		l.Close()
	}
}

// A taken port is told before anything is started.
func TestDemoPortTaken(t *testing.T) {
	t.Parallel()
	cmd, out, ports := demoCommand(t)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d, want 1", cmd.ProcessState.ExitCode())
	}
	if want := fmt.Sprintf("port %d of 127.0.0.1 can't be used", ports[1]); !strings.Contains(out.String(), want) {
		t.Errorf("output %q does not say %q", out, want)
	}
	if strings.Contains(out.String(), "started") {
		t.Errorf("agents were started all the same: %s", out)
	}
}
