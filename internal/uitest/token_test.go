package uitest

import (
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// The page loads without a token, asks for it, keeps it in its tab, and tells what a token
// may not do.
func TestToken(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{
		Names: []string{"solo"}, Token: "to-work",
		Web: "tokens:\n  - {name: look, scope: read, value: to-look}\n  - {name: work, scope: operate, value: to-work}",
	}, testcluster.Job{Name: "guarded", Schedule: never, Command: "true"})
	n := c.Nodes[0]
	awaitAPI(t, n)
	p := browser.Open(t, browser.Options{})
	p.Expect(`(status 40[13]|status of 40[13])`)
	p.Visit(n.API() + "/")
	p.See(tokenBox)
	p.Gone(anyRow)

	p.Type(tokenInput, "wrong")
	p.Press("\r")
	p.See(tokenBox)
	p.Type(tokenInput, "to-look")
	p.Press("\r")
	p.See(row("guarded"))
	p.Gone(tokenBox)

	p.Click(button(row("guarded"), "run-button"))
	p.SeeText(toast, "guarded", "may only read")
	if j, err := n.Job("guarded"); err != nil || j.LastRun != nil {
		t.Errorf("it ran all the same: %+v, %v", j.LastRun, err)
	}
	p.Reload()
	p.See(row("guarded"))
	p.Gone(tokenBox)
	if browser.Eval[bool](p, "Object.values(localStorage).concat(document.cookie, location.href).join().includes('to-look')") {
		t.Error("the token is kept beyond the tab")
	}

	// What was entered can be taken back.
	p.ClickButton("header-bar", "Token")
	p.ClickButton(tokenBox, "Forget the token")
	p.SeeText(tokenBox, "answers only with one of the tokens")
	p.Press("\x1b")
	p.Gone(tokenBox)
	p.See(banner("locked"))
	p.ClickButton(banner("locked"), "Enter token")
	p.Type(tokenInput, "to-look\r")
	p.Gone(banner("locked"))

	other := browser.Open(t, browser.Options{})
	other.Expect(`(status 401|status of 401)`)
	other.Visit(n.API() + "/")
	other.See(tokenBox)
	other.Type(tokenInput, "to-work")
	other.Press("\r")
	other.Click(button(row("guarded"), "run-button"))
	testcluster.Eventually(t, "the run", lastOutcome(n, "guarded", "success"))
}
