package uitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// The parts of the sandbox for schedules.
var (
	sandbox        = browser.TestID("sandbox")
	sandboxText    = browser.TestID("sandbox-schedule")
	sandboxZone    = browser.TestID("sandbox-zone")
	sandboxRule    = browser.TestID("sandbox-rule")
	sandboxVerdict = browser.TestID("sandbox-verdict")
	sandboxResult  = browser.TestID("sandbox-result")
	sandboxJobs    = browser.TestID("sandbox-jobs")
	sandboxTried   = browser.TestID("sandbox-tried")
)

// halfTyped is what the agent says of a schedule that is not typed to its end.
const halfTyped = `status 400|status of 400`

// firings counts the rows of the next firings.
const firings = "all('[data-testid=sandbox-result] tbody tr').filter(visible).length"

// A schedule that no job has is tried while it is typed: what it means, when it fires, what
// may surprise and which jobs share it, or what is wrong and what would be right.
func TestSandbox(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "nightly", Schedule: "30 2 * * *", Command: "true", More: "timezone: Europe/Berlin"},
		testcluster.Job{Name: "other", Schedule: "30 02 * * *", Command: "true", More: "timezone: Europe/Berlin\nenabled: false"},
		testcluster.Job{Name: "utc", Schedule: "30 2 * * *", Command: "true"},
		testcluster.Job{Name: "either", Schedule: "0 0 13 * 5", Command: "true", More: "dayMatch: or"})
	p := open(t, n, browser.Options{})
	p.Expect(halfTyped)
	p.Click(browser.TestID("sandbox-button"))
	p.See(sandbox)
	p.Await("the focus is in the field", "focused().matches("+browser.Quote(sandboxText)+")")
	p.SeeText(sandboxVerdict, "minute, hour")

	p.Press("30 2 * * *")
	p.SeeText(sandboxVerdict, "At 02:30, UTC.")
	p.Await("twelve firings", firings+" === 12")
	p.SeeText(sandboxJobs, "utc")
	if shown := p.Text(sandboxJobs); strings.Contains(shown, "nightly") {
		t.Errorf("in another zone: %q", shown)
	}
	p.Type(sandboxZone, "Europe/Berlin")
	p.SeeText(sandboxVerdict, "At 02:30, Europe/Berlin.")
	p.SeeText(sandboxResult, "Local (Europe/Berlin)", "when the clock changes on", "does not exist", "comes twice")
	p.SeeText(sandboxJobs, "nightly", "other", "off")
	p.Await("it can be passed on", "location.hash === '#sandbox/30%202%20*%20*%20*/Europe%2FBerlin'")

	p.Type(sandboxText, "30 25 * * *")
	p.SeeText(sandboxVerdict, "No job can have this schedule")
	p.SeeText(sandboxResult, `hour "25"`, "0 to 23")
	p.Await("it is marked", "text('[data-testid=sandbox] mark') === '25'")
	p.Await("nothing else is shown", firings+" === 0")
	p.Await("the field says so", "one("+browser.Quote(sandboxText)+").getAttribute('aria-invalid') === 'true'")
	p.Type(sandboxZone, "Europe/Berln")
	p.Type(sandboxText, "@daily")
	p.SeeText(sandboxVerdict, "No job can have this zone")
	p.SeeText(sandboxResult, "Did you mean Europe/Berlin?")

	p.Type(sandboxZone, "local")
	p.SeeText(sandboxVerdict, "At 00:00")
	p.Type(sandboxZone, " ")
	p.Type(sandboxText, "0 0 13 * 5")
	p.SeeText(sandboxVerdict, "on Friday restricted to day 13")
	p.Choose(sandboxRule, "or")
	p.SeeText(sandboxVerdict, "on Friday or on day 13")
	p.Type(sandboxText, "0 0 30 2 *")
	p.SeeText(sandboxResult, "never fires", "None.")
	p.Gone(sandboxRule)
	// What is shown goes with the time.
	p.Type(sandboxText, "* * * * * * *")
	p.SeeText(sandboxVerdict, "every second")
	first := "text('[data-testid=sandbox-result] tbody tr td').slice(0, 23)"
	before := browser.Eval[string](p, first)
	p.Await("the first firing is another one", first+" !== "+browser.Quote(before))
	p.Await("the focus stays", "focused().matches("+browser.Quote(sandboxText)+")")
	p.Type(sandboxText, "@reboot")
	p.SeeText(sandboxResult, "when the agent starts")

	// Back, and to one of the jobs that share it.
	p.Press(kb.Escape)
	p.Gone(sandbox)
	p.Await("the address is that of before", "location.hash === '#jobs'")
	p.Visit(n.API() + "/#sandbox/30%202%20*%20*%20*/Europe%2FBerlin")
	p.ClickButton(sandboxJobs, "nightly")
	p.Gone(sandbox)
	p.SeeText(drawer, "nightly")
	p.Await("the schedule of it", "location.hash === '#job/nightly/schedule'")
	p.Click(browser.TestID("try-schedule"))
	p.SeeText(sandboxVerdict, "At 02:30, Europe/Berlin.")
	p.Press(kb.Escape)
	p.Gone(sandbox)
	p.Await("the job is still open", "location.hash === '#job/nightly/schedule' && one("+browser.Quote(drawer)+")")
	p.Visit(n.API() + "/#job/either/schedule")
	p.SeeText(drawer, "on Friday or on day 13")
	p.Click(browser.TestID("try-schedule"))
	p.SeeText(sandboxVerdict, "on Friday or on day 13")
	p.SeeText(sandboxJobs, "either")
}

// What was tried is kept over a reload, ten at most, and a choice brings it back; all of it
// without a mouse.
func TestSandboxByKeyboard(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})
	p.Expect(halfTyped)
	p.PressControl("k")
	p.See(palette)
	p.Press("try sch" + kb.Enter)
	p.See(sandbox)
	p.SeeText(sandboxTried, "@every 90s") // an example
	for i := range 12 {
		p.Await("the field has the focus", "focused().matches("+browser.Quote(sandboxText)+")")
		browser.Eval[bool](p, "(focused().select(), true)")
		p.Press(fmt.Sprintf("%d 4 * * *", i))
		p.SeeText(sandboxVerdict, fmt.Sprintf("At 04:%02d", i))
		p.Press(kb.Enter)
		p.Await("it is kept", fmt.Sprintf("text('[data-testid=sandbox-tried] button').startsWith('%d 4 * * *')", i))
	}
	p.Await("ten are kept", "all('[data-testid=sandbox-tried] button').length === 10")
	p.Press(kb.Escape)
	p.Gone(sandbox)
	p.Reload()
	p.See(row("job"))
	p.Press("s")
	p.SeeText(sandboxTried, "11 4 * * *", "2 4 * * *")
	if shown := p.Text(sandboxTried); strings.Contains(shown, "@every") {
		t.Errorf("examples beside what was tried: %q", shown)
	}
	for !browser.Eval[bool](p, "focused().closest("+browser.Quote(sandboxTried)+") !== null") {
		p.Press(kb.Tab)
	}
	p.Press(kb.Tab + kb.Enter)
	p.SeeText(sandboxVerdict, "At 04:10, UTC.")
	p.Await("the focus is in the field", "focused().matches("+browser.Quote(sandboxText)+")")
	p.Await("the address tells it", "location.hash === '#sandbox/10%204%20*%20*%20*'")
}
