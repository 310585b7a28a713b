package uitest

import (
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
