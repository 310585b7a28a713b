package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// byHand is a schedule that does not fire while tests run: such a job is started by
// hand.
const byHand = "0 0 1 1 * 2099"

// alone is an agent without a cluster.
type alone struct {
	*testcluster.Node
	cluster *testcluster.Cluster
	t       testing.TB
}

// newAlone writes the configuration of an agent that is not started yet; without jobs it
// has one that never fires.
func newAlone(t testing.TB, o testcluster.Options, jobs ...testcluster.Job) *alone {
	t.Helper()
	o.Names = []string{"yacron-a"}
	if o.Jobs == nil && len(jobs) > 0 {
		o.Jobs = func(testcluster.Journal) []testcluster.Job { return jobs }
	}
	c := testcluster.New(t, o)
	return &alone{c.Nodes[0], c, t}
}

// startAlone starts an agent with jobs and waits for its API.
func startAlone(t testing.TB, jobs ...testcluster.Job) *alone {
	t.Helper()
	a := newAlone(t, testcluster.Options{}, jobs...)
	a.begin()
	return a
}

// begin starts the agent and waits for its API.
func (a *alone) begin() {
	a.t.Helper()
	a.cluster.Start()
	a.awaitAnswer()
}

func (a *alone) awaitAnswer() {
	a.t.Helper()
	testcluster.Eventually(a.t, "the agent's answer", func() error {
		if !a.Running() {
			a.t.Fatal("the agent has ended")
		}
		_, err := a.Client.Version(a.context())
		return err
	})
}

// context ends with the test.
func (a *alone) context() context.Context { return a.t.Context() }

// again starts the agent after it has ended, and waits for its API.
func (a *alone) again() {
	a.t.Helper()
	a.Start()
	a.awaitAnswer()
}

// launch starts a job by hand.
func (a *alone) launch(job string) {
	a.t.Helper()
	if err := a.Client.Start(a.context(), job); err != nil {
		a.t.Fatalf("start of %s: %v", job, err)
	}
}

// runs returns the finished runs of a job.
func (a *alone) runs(job string) []api.Run {
	a.t.Helper()
	runs, err := a.Client.Runs(a.context(), job)
	if err != nil {
		a.t.Fatal(err)
	}
	return runs.Runs
}

// awaitRuns waits until a job has n finished runs.
func (a *alone) awaitRuns(job string, n int) []api.Run {
	a.t.Helper()
	var runs []api.Run
	testcluster.Eventually(a.t, fmt.Sprintf("%d runs of %s", n, job), func() error {
		if runs = a.runs(job); len(runs) < n {
			return fmt.Errorf("%d", len(runs))
		}
		return nil
	})
	return runs
}

// run starts a job by hand and waits for its end.
func (a *alone) run(job string) api.Run {
	a.t.Helper()
	before := len(a.runs(job))
	a.launch(job)
	runs := a.awaitRuns(job, before+1)
	return runs[len(runs)-1]
}

// output returns the lines that the newest run of a job has captured, both streams as
// they came.
func (a *alone) output(job string) (lines []string) {
	a.t.Helper()
	end, err := a.Client.LogsSoFar(a.context(), job, func(l api.LogLine) error {
		lines = append(lines, l.Line)
		return nil
	})
	if err == nil && end.Reason == api.LogEndRunning {
		err = errors.New("the run goes on")
	}
	if err != nil {
		a.t.Fatalf("output of %s: %v", job, err)
	}
	return lines
}

// exitCode is a run's exit code in words.
func exitCode(r api.Run) string {
	if r.ExitCode == nil {
		return "none"
	}
	return fmt.Sprint(*r.ExitCode)
}

// get returns what the API answers to a plain GET.
func (a *alone) get(path string) string {
	a.t.Helper()
	transport := &http.Transport{}
	base := a.API()
	if a.Socket != "" {
		base = "http://agent"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", a.Socket)
		}
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(a.context(), http.MethodGet, base+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		a.t.Fatalf("GET %s: %v", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		a.t.Fatalf("GET %s: %s, %v: %s", path, resp.Status, err, body)
	}
	return string(body)
}

// write puts content into a file.
func write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask says
		t.Fatal(err)
	}
}

// sink is a server that takes webhooks.
type sink struct {
	*httptest.Server
	t      testing.TB
	mu     sync.Mutex
	bodies []string
}

func newSink(t testing.TB) *sink {
	t.Helper()
	s := &sink{t: t}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the test misses it
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

// got returns the bodies so far.
func (s *sink) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.bodies...)
}

// await waits for n bodies.
func (s *sink) await(n int) []string {
	s.t.Helper()
	testcluster.Eventually(s.t, fmt.Sprintf("%d webhooks", n), func() error {
		if got := s.got(); len(got) < n {
			return fmt.Errorf("%d: %q", len(got), got)
		}
		return nil
	})
	return s.got()
}
