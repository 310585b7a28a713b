package uitest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// Everything that matters goes without a mouse, and the focus is never lost.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "one", Schedule: never, Command: "true"},
		testcluster.Job{Name: "two", Schedule: never, Command: "exec sleep 600"},
		testcluster.Job{Name: "three", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})

	for !browser.Eval[bool](p, "focused().matches("+browser.Quote(table)+")") {
		p.Press(kb.Tab)
	}
	p.Press("j") // the second one, since the first was chosen on the way in
	p.Press("r")
	p.SeeText(row("two"), "running")
	p.Press("x")
	testcluster.Eventually(t, "the end", lastOutcome(n, "two", "cancelled"))
	p.Press("k" + kb.Enter)
	p.SeeText(drawer, "one")
	p.Await("the focus is in the drawer", "inside(focused(), one("+browser.Quote(drawer)+"))")
	p.Press(kb.Escape)
	p.Gone(drawer)
	p.Await("the focus is back", "focused().matches("+browser.Quote(table)+")")

	p.Press("?")
	p.See(helpSheet)
	p.Press(kb.Escape)
	p.Gone(helpSheet)
	p.Await("the focus is back from the sheet", "focused().matches("+browser.Quote(table)+")")
	p.PressControl("p")
	p.See(palette)
	p.Press("wallboard" + kb.Escape)
	p.Gone(palette)
	p.Await("the focus is back from the palette", "focused().matches("+browser.Quote(table)+")")

	// In a field the same keys are letters.
	p.Press("/")
	p.Await("the filter has the focus", "focused().matches("+browser.Quote(filterBox)+")")
	p.Press("three")
	p.See(row("three"))
	p.Gone(row("two"))
	testcluster.Eventually(t, "nothing was started", func() error {
		j, err := n.Job("three")
		if err != nil {
			return err
		}
		return testcluster.Expect("running or run", j.Running || j.LastRun != nil, false)
	})
	p.Press(kb.Escape)

	// The palette finds what there is to do.
	p.PressControl("k")
	p.See(palette)
	p.Await("the focus is in the palette", "inside(focused(), one("+browser.Quote(palette)+"))")
	p.Press("run thr")
	p.SeeText(palette, "three")
	p.Press(kb.Enter)
	p.Gone(palette)
	testcluster.Eventually(t, "the run", lastOutcome(n, "three", "success"))

	// The tab key reaches what can be clicked, and what has the focus can be seen.
	seen := map[string]bool{}
	for range 40 {
		p.Press(kb.Tab)
		seen[browser.Eval[string](p, `(() => {
			const e = focused();
			if (!e || e === document.body) return '';
			const s = getComputedStyle(e);
			if (e.matches(':focus-visible') && s.outlineStyle === 'none' && s.boxShadow === 'none') return 'no outline: ' + e.outerHTML.slice(0, 200);
			return e.localName + ' ' + (e.dataset.testid ?? e.id);
		})()`)] = true
	}
	for what := range seen {
		if len(what) > 10 && what[:10] == "no outline" {
			t.Error(what)
		}
	}
	if !seen["input filter-input"] || len(seen) < 6 {
		t.Errorf("the tab key reaches %v", seen)
	}
}
