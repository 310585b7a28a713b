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
		p.See(failing) // it moves the rows below it
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
	p.Press("a")
	p.Gone(banner("failing"))

	// That one of them is well again is no news about the other one.
	n.WriteJobs(
		testcluster.Job{Name: "first", Schedule: never, Command: "true"},
		testcluster.Job{Name: "second", Schedule: never, Command: "exit 2"})
	n.Reload()
	p.SeeText(row("first"), "true") // its command
	p.Click(button(row("first"), "run-button"))
	testcluster.Eventually(t, "the end", lastOutcome(n, "first", "success"))
	p.SeeText(row("first"), "ok")
	p.Gone(banner("failing"))
	p.Click(button(row("second"), "run-button"))
	p.SeeText(banner("failing"), "second", "exit 2")
}

// To cancel many jobs goes on while some of them do not end, and can be left off: the rest
// is not touched.
func TestMitigationAborted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	failed := t.TempDir()
	var jobs []testcluster.Job
	names := []string{"one", "two", "three", "four", "five"}
	for _, name := range names {
		jobs = append(jobs, testcluster.Job{
			Name: name, Schedule: never, More: "killTimeout: 120",
			Command: fmt.Sprintf("[ -e %[1]s/%[2]s ] || { touch %[1]s/%[2]s; exit 7; }; trap '' TERM; %[3]s", failed, name, g.wait()),
		})
	}
	n := alone(t, jobs...)
	for _, state := range []string{"failure", "running"} {
		for _, name := range names {
			command(t, n, "job", "run", name)
			if state == "failure" {
				testcluster.Eventually(t, name, lastOutcome(n, name, state))
			}
		}
	}
	p := open(t, n, browser.Options{})
	p.ClickButton(banner("failing"), "Mitigate")
	mitigation := browser.TestID("mitigation-dialog")
	results := browser.TestID("mitigation-results")
	p.Await("no button that does something has the focus", "!focused().matches('button')")
	p.SeeText(mitigation, "Start all 5", "Cancel 5 running")
	p.Click(results + ` [data-job="five"] input`)
	p.SeeText(mitigation, "Start 4", "Cancel 4 running")
	p.ClickButton(mitigation, "Cancel 4 running")
	p.Await("as many as may wait at a time", "all("+browser.Quote(results+" li")+").filter((e) => e.innerText.includes('…')).length === 3")
	p.ClickButton(mitigation, "Abort")
	g.open(t)
	p.SeeText(mitigation, "3 cancelled, 0 refused, 1 left alone")
	for name, outcome := range map[string]string{"one": "cancelled", "two": "cancelled", "three": "cancelled", "four": "success", "five": "success"} {
		testcluster.Eventually(t, name, lastOutcome(n, name, outcome))
	}
	p.Accessible("the end of the mitigation")
}

// No more jobs are tailed than the browser has connections for; each goes on with its next
// run, however short.
func TestTail(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	var jobs []testcluster.Job
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		jobs = append(jobs, testcluster.Job{Name: name, Schedule: never, More: "captureStdout: true\nconcurrencyPolicy: Allow", Command: fmt.Sprintf("echo %s speaks; %s", name, g.wait())})
	}
	jobs = append(jobs, testcluster.Job{Name: "broken", Schedule: never, More: "captureStdout: true", Command: "echo broken speaks; exit 1"},
		testcluster.Job{Name: "bad", Schedule: never, Command: "exit 1"})
	n := alone(t, jobs...)
	for _, job := range jobs {
		command(t, n, "job", "run", job.Name)
	}
	testcluster.Eventually(t, "broken", lastOutcome(n, "broken", "failure"))
	testcluster.Eventually(t, "bad", lastOutcome(n, "bad", "failure"))
	p := open(t, n, browser.Options{})
	p.ClickButton(banner("failing"), "Tail")
	tail, lines := browser.TestID("tail-dialog"), browser.TestID("tail-lines")
	chips := func(n int) {
		t.Helper()
		p.Await(fmt.Sprintf("%d jobs", n), fmt.Sprintf("all('.tail-jobs .chip').length === %d", n))
	}
	chips(2)
	p.SeeText(lines, "broken speaks", "end of run output")
	p.ClickButton(tail, "+ running")
	chips(4)
	p.SeeText(tail, "4 at once are possible")
	p.SeeText(lines, "one speaks", "two speaks")

	// A run that is over before the page hears of it.
	command(t, n, "job", "run", "broken")
	p.Await("both runs", "text("+browser.Quote(lines)+").split('broken speaks').length === 3")
	p.Await("each ended once", "text("+browser.Quote(lines)+").split('end of run output').length === 3")

	p.Type(tail+" input", "two sp")
	p.Await("only what was searched", "text("+browser.Quote(lines)+").includes('two speaks') && !text("+browser.Quote(lines)+").includes('one speaks')")
	p.Type(tail+" input", " ")
	p.Click(tail + ` [aria-label="Leave out bad"]`)
	chips(3)
	p.ClickButton(tail, "+ running")
	chips(4)
	p.SeeText(lines, "three speaks")
	p.ClickButton(tail, "Clear")
	p.Await("nothing is left", "text("+browser.Quote(lines)+").trim() === ''")
	p.Press("\x1b")
	p.Gone(tail)
	g.open(t)
}

// An alert moves the rows below it. A click in that moment was aimed at the row that had
// been there, and must not start the job of the one that is there now.
func TestMovedUnderThePointer(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	jobs := []testcluster.Job{
		{Name: "fails", Schedule: never, Command: fmt.Sprintf("[ -e %s ]", g)},
		{Name: "other", Schedule: never, Command: "true"},
	}
	n := alone(t, jobs...)
	p := open(t, n, browser.Options{})
	p.See(row("other"))
	// The click was made before the page moved, and meets what is there now.
	clickWhen := func(moved, target string, detail int) {
		browser.Eval[bool](p, fmt.Sprintf(`(() => {
			delete document.body.dataset.said;
			const click = new MouseEvent('click', {bubbles: true, cancelable: true, detail: %d});
			new MutationObserver((_, watch) => {
				if (%s) {
					watch.disconnect();
					one(%s).dispatchEvent(click);
					document.body.dataset.said = all(%s).map((e) => e.textContent).join();
				}
			}).observe(document.body, {childList: true, attributes: true, subtree: true});
			return true;
		})()`, detail, moved, browser.Quote(target), browser.Quote(toast)))
	}
	held := func() {
		t.Helper()
		p.Await("the click is held", "document.body.dataset.said?.includes('nothing was done')")
	}
	other := button(row("other"), "run-button")
	seen := "one(" + browser.Quote(banner("failing")) + ")"
	clickWhen(seen, other, 1)
	command(t, n, "job", "run", "fails")
	held()

	// Keys act upon what has the focus, wherever it has moved.
	g.open(t)
	clickWhen("!"+seen, other, 0)
	command(t, n, "job", "run", "fails")
	testcluster.Eventually(t, "the run by key", lastOutcome(n, "other", "success"))

	// The same for rows that others have come between.
	clickWhen("one("+browser.Quote(row("newer"))+")", other, 1)
	n.WriteJobs(append([]testcluster.Job{{Name: "newer", Schedule: never, Command: "true"}}, jobs...)...)
	n.Reload()
	held()
	p.Click(other) // as late as a person can click
	testcluster.Eventually(t, "two runs, of which the second is the late click's", func() error {
		runs, err := n.Client.Runs(t.Context(), "other")
		if err == nil && len(runs.Runs) != 2 {
			err = fmt.Errorf("%d runs", len(runs.Runs))
		}
		return err
	})
}
