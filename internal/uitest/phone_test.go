package uitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// On a small phone nothing is cut off, and fingers reach everything.
func TestPhone(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c := three(t,
		testcluster.Job{Name: "a-job-with-a-name-that-is-rather-long-for-a-small-screen", Schedule: never, Command: "true", Policy: "Leader"},
		testcluster.Job{Name: "talk", Schedule: never, More: "captureStdout: true", Command: "echo " + strings.Repeat("word", 100) + "; " + g.wait()})
	n := c.Nodes[0]
	p := open(t, n, browser.Options{Size: browser.Size{Width: 360, Height: 740}, Touch: true})
	fits := func(what string) {
		t.Helper()
		p.Await(what+" fits", "document.documentElement.scrollWidth <= innerWidth")
	}
	fits("the table")
	p.SeeText(row("talk"), "pending", "in ", " d") // when it fires, too
	p.Click(row("talk"))
	p.See(drawer)
	p.Click(button(drawer, "run-button"))
	p.SeeText(logView, "wordword")
	fits("the drawer")
	p.Await("the drawer covers the width", "one("+browser.Quote(drawer)+").getBoundingClientRect().width >= innerWidth - 1")
	small := browser.Eval[[]string](p, `all('button').filter(visible).filter((b) => { const r = b.getBoundingClientRect(); return r.height < 24 || r.width < 24; }).map((b) => b.outerHTML.slice(0, 150))`)
	for _, b := range small {
		t.Errorf("too small for a finger: %s", b)
	}
	g.open(t)
	testcluster.Eventually(t, "the run", lastOutcome(n, "talk", "success"))
	p.Click(browser.TestID("drawer-close"))
	p.Gone(drawer)
	p.SeeText(row("talk"), "ok")
	for _, other := range c.Nodes {
		p.Await(fmt.Sprintf("%s is in the page", other.NodeName), "all("+browser.Quote(member(other.NodeName))+").length > 0")
	}
	fits("all of it")
	for _, v := range []string{"cluster", "fleet", "timeline"} {
		p.Click(browser.TestID("view-" + v))
		p.SeeText("main", c.Nodes[1].NodeName)
		fits(v)
		p.Await(v+" lies over nothing", `all('main table').filter(visible).every((e) => { const r = e.getBoundingClientRect(); return all('main svg.graph').filter(visible).every((g) => g.getBoundingClientRect().bottom <= r.top + 1); })`)
	}
	for _, part := range []string{"outcomes", "next"} {
		p.Click(browser.TestID("part-" + part))
		p.SeeText(timeline, "talk")
		fits(part)
	}
}
