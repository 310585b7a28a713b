package uitest

import (
	"fmt"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// manyJobs returns so many jobs, of which the last one is named last.
func manyJobs(n int) []testcluster.Job {
	jobs := make([]testcluster.Job, 0, n)
	for i := range n - 1 {
		jobs = append(jobs, testcluster.Job{Name: fmt.Sprintf("job-%05d", i), Schedule: fmt.Sprintf("%d %d * * *", i%60, i/60%24), Command: "true"})
	}
	return append(jobs, testcluster.Job{Name: "the-last-one", Schedule: never, Command: "true"})
}

// Ten thousand jobs make no more elements than a screen can show, and every one of them
// can be reached.
func TestTenThousandJobs(t *testing.T) {
	t.Parallel()
	n := alone(t, manyJobs(10_000)...)
	p := open(t, n, browser.Options{})
	bounded := func(when string) {
		t.Helper()
		if got := browser.Eval[int](p, "all("+browser.Quote(anyRow)+").length"); got == 0 || got > 100 {
			t.Errorf("%s: %d rows are in the page", when, got)
		}
		if got := browser.Eval[int](p, "all('*').length"); got > 5000 {
			t.Errorf("%s: %d elements are in the page", when, got)
		}
	}
	p.See(row("job-00000"))
	bounded("at first")

	// What scrolls is the table, or something around it.
	const scroller = `(() => { let e = one('` + "[data-testid=job-table]" + `'); while (e && !(e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(e).overflowY))) e = e.parentElement; return e ?? document.scrollingElement; })()`
	browser.Eval[bool](p, "(() => { const e = "+scroller+"; e.scrollTop = e.scrollHeight; return true; })()")
	p.See(row("the-last-one"))
	p.Gone(row("job-00000"))
	bounded("at the end")
	browser.Eval[bool](p, "(() => { const e = "+scroller+"; e.scrollTop = e.scrollHeight / 2; return true; })()")
	p.Gone(row("the-last-one"))
	p.See(anyRow)
	bounded("in the middle")

	p.Type(filterBox, "job-07777")
	p.See(row("job-07777"))
	p.Await("one row", "all("+browser.Quote(anyRow)+").filter(visible).length === 1")
	p.Click(button(row("job-07777"), "run-button"))
	testcluster.Eventually(t, "the run", lastOutcome(n, "job-07777", "success"))
	p.SeeText(row("job-07777"), "ok")
	p.Type(filterBox, "last")
	p.Click(row("the-last-one"))
	p.SeeText(drawer, "the-last-one")
	bounded("with the drawer")
}
