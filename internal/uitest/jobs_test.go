package uitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// lastOutcome returns the condition that the newest run of a job ended that way.
func lastOutcome(n *testcluster.Node, job, outcome string) func() error {
	return func() error {
		j, err := n.Job(job)
		if err != nil {
			return err
		}
		if j.LastRun == nil {
			return fmt.Errorf("%s has not run", job)
		}
		return testcluster.Expect(job+": outcome", string(j.LastRun.Outcome), outcome)
	}
}

// A job is started and stopped by two clicks, on the node that the page is of.
func TestRunAndCancel(t *testing.T) {
	t.Parallel()
	c := three(t,
		testcluster.Job{Name: "hello", Schedule: never, Command: "echo hello"},
		testcluster.Job{Name: "broken", Schedule: never, Command: "echo no >&2; exit 3"},
		testcluster.Job{Name: "long", Schedule: never, Command: "exec sleep 600"})
	b := c.Nodes[1]
	p := open(t, b, browser.Options{})
	p.SeeText(row("hello"), "pending", "never")

	p.Click(button(row("hello"), "run-button"))
	p.SeeText(toast, "hello", "started")
	testcluster.Eventually(t, "the run", lastOutcome(b, "hello", "success"))
	p.SeeText(row("hello"), "ok")

	p.Click(button(row("broken"), "run-button"))
	testcluster.Eventually(t, "the failure", lastOutcome(b, "broken", "failure"))
	p.SeeText(row("broken"), "failed", "exit 3")

	p.Click(button(row("long"), "run-button"))
	p.SeeText(row("long"), "running")
	p.Click(button(row("long"), "cancel-button"))
	testcluster.Eventually(t, "the end", lastOutcome(b, "long", "cancelled"))
	p.SeeText(row("long"), "cancelled")
	p.See(button(row("long"), "run-button"))

	for _, other := range []*testcluster.Node{c.Nodes[0], c.Nodes[2]} {
		if j, err := other.Job("long"); err != nil || j.LastRun != nil {
			t.Errorf("%s has run it too: %+v, %v", other.NodeName, j.LastRun, err)
		}
	}
}

// What a run prints appears while it runs, and again for the next run.
func TestFollowLog(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	n := alone(t, testcluster.Job{
		Name: "talk", Schedule: never, More: "captureStdout: true\ncaptureStderr: true\nfailsWhen:\n  producesStdout: false\n  producesStderr: false\n  nonzeroReturn: true",
		Command: "echo first line; echo trouble >&2; " + g.wait() + "; echo last line",
	})
	p := openAt(t, n, "/#job/talk", browser.Options{})
	p.See(drawer)
	p.See(logView)
	p.Click(button(drawer, "run-button"))
	p.SeeText(logView, "first line", "trouble")
	if got := p.Text(logView); strings.Contains(got, "last line") {
		t.Errorf("the log tells the future: %q", got)
	}
	g.open(t)
	p.SeeText(logView, "first line", "trouble", "last line")
	testcluster.Eventually(t, "the end of the run", lastOutcome(n, "talk", "success"))
	p.SeeText(drawer, "ok")

	// The page holds on to the next run without being told.
	if _, _, code := n.Command("job", "run", "talk"); code != 0 {
		t.Fatalf("job run: exit code %d", code)
	}
	p.Await("the lines of both runs", `['first line', 'last line'].every((line) => text(`+browser.Quote(logView)+`).split(line).length === 3)`)
	p.SeeText(logView, "end of run output")
	// Once, however long the page takes to hear that a run is over, and beside the lines.
	if got := browser.Eval[string](p, "all('.rule').length + ' ' + all('.rule .line').length"); got != "1 0" {
		t.Errorf("ends of runs, and lines within them: %s, want 1 0", got)
	}
}

// A search finds what it should, one match after the other, and no expression holds up
// the page.
func TestSearchLog(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{
		Name: "talk", Schedule: never, More: "captureStdout: true",
		Command: "for i in 1 2 3; do echo \"order $i (paid)\"; done; printf 'a%.0s' $(seq 3000); echo; echo 'Order 4 [open]'",
	})
	p := openAt(t, n, "/#job/talk", browser.Options{})
	p.Click(button(drawer, "run-button"))
	p.SeeText(logView, "order 1", "order 4")
	search := browser.TestID("log-search")
	marked := func(want int, hits string) {
		t.Helper()
		p.Await(fmt.Sprintf("%d lines are marked", want), fmt.Sprintf("all('.line.match').length === %d", want))
		p.SeeText(logView, hits)
	}
	p.Type(search, "order")
	marked(4, "4 matches")
	p.Type(search, "(paid)")
	marked(3, "3 matches") // as text, not as an expression
	p.Press("\r")
	p.SeeText(logView, "1 of 3")
	p.Press("\r")
	p.SeeText(logView, "2 of 3")
	p.Await("the second one is shown", "one('.line.current').innerText.includes('order 2')")
	p.Type(search, "order")
	p.Press("\r")
	p.SeeText(logView, "1 of 4")
	p.ClickButton(logView, "Matches only")
	p.Await("only matches", "all("+browser.Quote(browser.TestID("log-lines")+" .line")+").filter(visible).length === 4")
	p.ClickButton(logView, "Matches only")

	p.ClickButton(logView, ".*")
	p.Type(search, "order [13]|open")
	marked(3, "3 matches")
	p.Type(search, "(order")
	p.SeeText(logView, "no valid expression")
	p.Type(search, "(a+)+b")
	p.SeeText(logView, "too costly")
	p.Type(search, "a{20}")
	marked(1, "1 match")

	// How the output looks is kept for the next job.
	lines := browser.TestID("log-lines")
	look := "getComputedStyle(one('.line')).whiteSpace + ' ' + one(" + browser.Quote(lines) + ").classList.contains('monochrome') + ' ' + !!one('.line .stamp')"
	if got := browser.Eval[string](p, look); got != "pre-wrap false false" {
		t.Errorf("at first the output looks so: %s", got)
	}
	for _, label := range []string{"Wrap", "Colours", "Times"} {
		p.ClickButton(logView, label)
	}
	p.Await("it looks otherwise", look+" === 'pre true true'")
	p.Reload()
	p.SeeText(logView, "order 1")
	p.Await("and after a reload", look+" === 'pre true true'")
}

// Without captured streams the log says so, and what to set.
func TestNothingCaptured(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "quiet", Schedule: never, Command: "echo nothing", More: "captureStderr: false"})
	p := openAt(t, n, "/#job/quiet", browser.Options{})
	p.SeeText(drawer, "captureStdout", "captureStderr")
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "pausing", Schedule: never, Command: "true"})
	p := openAt(t, n, "/#job/pausing", browser.Options{})
	p.Click(button(drawer, "pause-button"))
	p.Type(browser.TestID("pause-note"), "the disk is <full>")
	p.Click(browser.TestID("dialog-submit"))
	testcluster.Eventually(t, "the pause", func() error {
		j, err := n.Job("pausing")
		if err != nil {
			return err
		}
		if j.Paused == nil {
			return fmt.Errorf("it is not paused: %+v", j.Paused)
		}
		return testcluster.Expect("note", string(j.Paused.Note), "the disk is <full>")
	})
	p.SeeText(drawer, "the disk is <full>")
	p.SeeText(row("pausing"), "paused")
	p.Click(button(drawer, "pause-button"))
	testcluster.Eventually(t, "the end of the pause", func() error {
		j, err := n.Job("pausing")
		if err != nil {
			return err
		}
		return testcluster.Expect("paused", j.Paused == nil, true)
	})
	p.SeeText(row("pausing"), "pending")
	p.PressControl("k")
	p.See(palette)
	p.Press("pause paus\r")
	p.SeeText("dialog[open]", "pausing")
}

// The filter looks at names and commands, shows what fits, and is part of the address.
func TestFilter(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "backup-disk", Schedule: never, Command: "echo tape"},
		testcluster.Job{Name: "backup-mail", Schedule: never, Command: "echo box"},
		testcluster.Job{Name: "report", Schedule: never, Command: "echo backup of numbers"},
		testcluster.Job{Name: "other", Schedule: never, Command: "echo nothing"})
	p := open(t, n, browser.Options{})
	rows := func(want int) {
		t.Helper()
		p.Await(fmt.Sprintf("%d rows", want), fmt.Sprintf("all(%s).filter(visible).length === %d", browser.Quote(anyRow), want))
	}
	rows(4)
	p.Press("/")
	p.Await("the filter has the focus", "focused().matches("+browser.Quote(filterBox)+")")
	p.Press("BACKUP")
	rows(3)
	p.Gone(row("other"))
	p.Type(filterBox, "backup -mai")
	p.Type(filterBox, "backup mail")
	rows(1)
	p.See(row("backup-mail"))
	p.Reload()
	p.See(row("backup-mail"))
	rows(1)
	p.Type(filterBox, "no such job")
	rows(0)
	p.Type(filterBox, " ")
	rows(4)
}

// An address leads to a job, going back leads away from it, and one of a job that is not
// there does no harm.
func TestOpenByAddress(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "a/b ü #1", Schedule: never, Command: "true"},
		testcluster.Job{Name: "plain", Schedule: never, Command: "true"})
	p := openAt(t, n, "/#job/a%2Fb%20%C3%BC%20%231", browser.Options{})
	p.SeeText(drawer, "a/b ü #1")
	p.Press("\x1b")
	p.Gone(drawer)
	p.Await("the address is of no job", "!location.hash.startsWith('#job/')")

	p.Click(row("plain"))
	p.SeeText(drawer, "plain")
	p.Await("the address is of the job", "location.hash === '#job/plain'")
	p.Reload()
	p.SeeText(drawer, "plain", "has not run")

	// A job that leaves the configuration takes its drawer with it.
	n.WriteJobs(testcluster.Job{Name: "a/b ü #1", Schedule: never, Command: "true"})
	n.Reload()
	p.Gone(row("plain"))
	p.Gone(drawer)
	p.Visit(n.API() + "/#job/none")
	p.See(row("a/b ü #1"))
	p.Gone(drawer)
}
