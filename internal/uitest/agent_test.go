package uitest

import (
	"strings"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// A configuration that can't be loaded is on the page with the file, the line and the
// reason, until one can.
func TestReloadError(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})
	p.Gone(banner("reload"))
	n.WriteFile("jobs.yaml", "jobs:\n  - name: job\n    schedule: \"@yearly\"\n    comand: \"true\"\n")
	n.Reload()
	p.See(banner("reload"))
	p.SeeText(banner("reload"), "jobs.yaml", "comand")
	p.See(row("job"))

	n.WriteJobs(testcluster.Job{Name: "renamed", Schedule: never, Command: "true"})
	n.Reload()
	p.Gone(banner("reload"))
	p.See(row("renamed"))
	p.Gone(row("job"))
}

// A page that nobody looks at does not cry wolf in its title, and is up to date as soon as
// somebody does.
func TestBackground(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: "exit 1"})
	p := browser.Open(t, browser.Options{})
	p.Inject(`(() => {
		let [hidden, skipped] = [false, 0];
		const now = Date.now.bind(Date);
		Date.now = () => now() + skipped;
		Object.defineProperty(document, 'hidden', {get: () => hidden});
		window.yacron2TestHide = (on) => { hidden = on; document.dispatchEvent(new Event('visibilitychange')); return true; };
		window.yacron2TestSkip = (ms) => { skipped += ms; return true; };
	})()`)
	awaitAPI(t, n)
	p.Visit(n.API() + "/")
	p.SeeText(row("job"), "pending")
	const ticks = "new Promise((done) => setTimeout(() => done(true), 2500))"
	browser.Eval[bool](p, "yacron2TestHide(true)")
	browser.Eval[bool](p, ticks) // what it asked for before comes
	browser.Eval[bool](p, "yacron2TestSkip(60000)")
	browser.Eval[bool](p, ticks)
	if got := browser.Eval[string](p, "document.title"); strings.Contains(got, "no signal") {
		t.Errorf("after a minute in the background the title is %q", got)
	}
	command(t, n, "job", "run", "job")
	testcluster.Eventually(t, "the run", lastOutcome(n, "job", "failure"))
	browser.Eval[bool](p, "yacron2TestHide(false)")
	p.SeeText(row("job"), "failed")
	p.Await("the title tells", "document.title.startsWith('✗ 1 job')")
	p.Gone(banner("stale"))
}

// An agent that waits for its last run says so, and refuses to start another.
func TestStopping(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	n := alone(t,
		testcluster.Job{Name: "last", Schedule: never, Command: g.wait()},
		testcluster.Job{Name: "late", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})
	p.Click(button(row("last"), "run-button"))
	p.SeeText(row("last"), "running")
	p.Expect(refused)
	n.Signal(syscall.SIGTERM)
	p.See(banner("stopping"))
	p.Click(button(row("late"), "run-button"))
	p.SeeText(toast, "late", "stopping")
	g.open(t)
	n.AwaitExit()
	p.See(banner("stale"))
}
