package uitest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// What is loaded when it is wanted is wanted when something is wrong: a part that could not
// be loaded while the agent was away is loaded once it is back.
func TestPartsAfterAnOutage(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})
	p.Expect(refused)
	n.Kill()
	p.See(banner("stale"))
	p.Click(row("job"))
	p.SeeText(toast, "could not be loaded")
	p.Press(kb.Escape)
	p.Gone(drawer)
	p.Press("?")
	p.Await("both are told", "text("+browser.Quote(toast)+").split('could not be loaded').length === 3")

	n.Start()
	p.Gone(banner("stale"))
	p.Click(row("job"))
	p.SeeText(logView, "Follow")
	p.Press(kb.Escape)
	p.Press("?")
	p.See(helpSheet)
}
