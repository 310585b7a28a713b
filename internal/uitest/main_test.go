package uitest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

func TestMain(m *testing.M) {
	code := testcluster.Main(m, "3")
	browser.Close()
	os.Exit(code)
}

// The parts of the page by the names that they have for tests.
var (
	table      = browser.TestID("job-table")
	anyRow     = browser.TestID("job-row")
	drawer     = browser.TestID("job-drawer")
	logView    = browser.TestID("log-view")
	filterBox  = browser.TestID("filter-input")
	panel      = browser.TestID("cluster-panel")
	fleetView  = browser.TestID("fleet-view")
	timeline   = browser.TestID("timeline")
	palette    = browser.TestID("palette")
	helpSheet  = browser.TestID("help-sheet")
	toast      = browser.TestID("toast")
	tokenBox   = browser.TestID("token-dialog")
	tokenInput = browser.TestID("token-input")
)

// row is the row of a job in the table.
func row(job string) string { return browser.TestID("job-row", "data-job", job) }

// member is a node in the cluster panel.
func member(node string) string { return browser.TestID("member-node", "data-node", node) }

// button is a button within a part of the page.
func button(within, id string) string { return within + " " + browser.TestID(id) }

// banner is one of the warnings on top.
func banner(kind string) string { return browser.TestID(kind + "-banner") }

// never is a schedule that is far away, on the last day of a year as well.
const never = "0 0 1 1 * 2099"

// open looks at the dashboard of a node, and waits until it shows the jobs.
func open(t testing.TB, n *testcluster.Node, o browser.Options) *browser.Page {
	t.Helper()
	return openAt(t, n, "/", o)
}

// openAt is open with what follows the host in the address.
func openAt(t testing.TB, n *testcluster.Node, path string, o browser.Options) *browser.Page {
	t.Helper()
	p := browser.Open(t, o)
	awaitAPI(t, n)
	p.Visit(n.API() + path)
	p.See(anyRow)
	return p
}

// awaitAPI waits until the agent answers.
func awaitAPI(t testing.TB, n *testcluster.Node) {
	t.Helper()
	testcluster.Eventually(t, n.NodeName+" answers", func() error { _, err := n.Cluster(); return err })
}

// command does something on an agent by the command line, as soon as the agent answers.
func command(t testing.TB, n *testcluster.Node, args ...string) {
	t.Helper()
	awaitAPI(t, n)
	if _, stderr, code := n.Command(args...); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
}

// alone starts one agent without a cluster.
func alone(t testing.TB, jobs ...testcluster.Job) *testcluster.Node {
	t.Helper()
	return start(t, testcluster.Options{Names: []string{"solo"}}, jobs...).Nodes[0]
}

// three starts three agents that agree.
func three(t testing.TB, jobs ...testcluster.Job) *testcluster.Cluster {
	t.Helper()
	c := start(t, testcluster.Options{Interval: 1}, jobs...)
	c.AwaitAgreement("yacron-a")
	return c
}

func start(t testing.TB, o testcluster.Options, jobs ...testcluster.Job) *testcluster.Cluster {
	t.Helper()
	browser.Require(t)
	if len(jobs) > 0 {
		o.Jobs = func(testcluster.Journal) []testcluster.Job { return jobs }
	}
	c := testcluster.New(t, o)
	c.Start()
	return c
}

// gate is a file that a job waits for.
type gate string

func newGate(t testing.TB) gate {
	t.Helper()
	return gate(filepath.Join(t.TempDir(), "gate"))
}

// wait is the shell command that waits; it gives up once the test's folder is gone.
func (g gate) wait() string {
	return fmt.Sprintf("while [ -d %s ] && [ ! -e %s ]; do sleep 0.05; done", filepath.Dir(string(g)), g)
}

// open lets the job go on.
func (g gate) open(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(string(g), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
