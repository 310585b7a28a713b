package uitest

import (
	"fmt"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// Jobs that fail for one reason are told together, followed together and started again
// together.
func TestIncident(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	job := func(name string) testcluster.Job {
		return testcluster.Job{
			Name: name, Schedule: never, Command: fmt.Sprintf("echo %s speaks; [ -e %s ] || exit 7", name, g),
			More: "captureStdout: true",
		}
	}
	n := alone(t, job("mirror"), job("stock"), job("silent"))
	p := open(t, n, browser.Options{})
	failing := banner("failing")
	p.Gone(failing)
	for _, name := range []string{"mirror", "stock"} {
		p.Click(button(row(name), "run-button"))
		testcluster.Eventually(t, name, lastOutcome(n, name, "failure"))
	}
	p.SeeText(failing, "2 jobs", "exit 7", "one cause")

	p.ClickButton(failing, "Tail")
	lines := browser.TestID("tail-lines")
	p.SeeText(lines, "mirror speaks", "stock speaks")
	p.Press("\x1b")
	p.Gone(lines)

	p.ClickButton(failing, "Show")
	p.Gone(row("silent"))
	p.See(row("stock"))

	g.open(t)
	p.ClickButton(failing, "Mitigate")
	mitigation := browser.TestID("mitigation-dialog")
	p.ClickButton(mitigation, "Start all 2")
	p.SeeText(mitigation, "2 started, 0 refused")
	for _, name := range []string{"mirror", "stock"} {
		testcluster.Eventually(t, name, lastOutcome(n, name, "success"))
	}
	p.Press("\x1b")
	p.Gone(mitigation)
	p.Gone(failing)
}

// What somebody has seen is not shown again, until there is something new.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "first", Schedule: never, Command: "exit 1"},
		testcluster.Job{Name: "second", Schedule: never, Command: "exit 2"})
	p := open(t, n, browser.Options{})
	p.Click(button(row("first"), "run-button"))
	p.SeeText(banner("failing"), "first", "exit 1")
	p.Press("a")
	p.Gone(banner("failing"))
	p.SeeText(row("first"), "failed")
	p.Click(button(row("second"), "run-button"))
	p.SeeText(banner("failing"), "2 jobs")
}
