package uitest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// setting is one choice of the settings, and how it shows.
type setting struct {
	name   string
	change func(p *browser.Page) // in the open dialog
	effect string                // false before, true afterwards
}

// choose is a change of one of the lists.
func choose(id, value string) func(p *browser.Page) {
	return func(p *browser.Page) { p.Choose(browser.TestID(id), value) }
}

// check is a change of one of the boxes.
func check(id string) func(p *browser.Page) {
	return func(p *browser.Page) { p.Click(browser.TestID(id)) }
}

// Each setting has its effect at once, and the same after the page is loaded again. What
// was chosen lies under a key of its own in the browser, and nowhere else.
func TestSettings(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c := three(t,
		testcluster.Job{Name: "busy", Schedule: never, Command: g.wait()},
		testcluster.Job{Name: "calm", Schedule: never, Command: "true"})
	n := c.Nodes[0]
	p := open(t, n, browser.Options{})
	p.Click(button(row("busy"), "run-button"))
	p.SeeText(row("busy"), "running")
	p.SeeText(panel, "leader")
	const calm = `getComputedStyle(one('.row.health-running .glyph')).animationName === 'none'`
	still := open(t, n, browser.Options{Still: true})
	still.SeeText(row("busy"), "running")
	still.Await("the system wants less motion", calm)
	still.Close()
	more := open(t, n, browser.Options{Contrast: true})
	more.Await("the system wants more contrast", "document.documentElement.dataset.theme === 'contrast'")
	more.Close()

	settings := []setting{
		{"theme", choose("theme-select", "dark"), `getComputedStyle(document.body).backgroundColor === 'rgb(15, 19, 24)'`},
		{"density", choose("density-select", "compact"), "one(" + browser.Quote(row("calm")) + ").getBoundingClientRect().height < 2.5 * parseFloat(getComputedStyle(document.documentElement).fontSize)"},
		{"reduceMotion", check("reduceMotion-check"), calm},
		{"dock", check("dock-check"), "!one(" + browser.Quote(panel) + ")"},
		{"scale", choose("scale-select", "140"), `parseFloat(getComputedStyle(document.documentElement).fontSize) > 19`},
		{"interval", choose("interval-select", "0"), "one(" + browser.Quote(banner("paused")) + ")"},
	}
	for _, s := range settings {
		if browser.Eval[bool](p, "!!("+s.effect+")") {
			t.Errorf("%s: it is so without being chosen", s.name)
		}
		p.Click(browser.TestID("settings-button"))
		s.change(p)
		p.Press("\x1b")
		p.Gone("dialog[open]")
		p.Await(s.name+" has its effect", s.effect)
	}
	p.Reload()
	p.See(row("calm"))
	for _, s := range settings {
		p.Await(s.name+" after a reload", s.effect)
	}
	kept := browser.Eval[[]string](p, "Object.keys(localStorage)")
	for _, s := range settings {
		if !slices.Contains(kept, "yacron2."+s.name) {
			t.Errorf("%s is not among what is kept: %q", s.name, kept)
		}
	}
	if len(kept) != len(settings) || browser.Eval[string](p, "document.cookie") != "" {
		t.Errorf("kept are %q", kept)
	}

	// A page that asks for nothing shows nothing new, until it asks again.
	g.open(t)
	testcluster.Eventually(t, "the run", lastOutcome(n, "busy", "success"))
	p.SeeText(row("busy"), "running")
	p.Click(browser.TestID("settings-button"))
	p.Choose(browser.TestID("interval-select"), "1")
	p.Press("\x1b")
	p.Gone(banner("paused"))
	p.SeeText(row("busy"), "ok")
}

// watchNotices notes the notifications that a page shows.
const watchNotices = `window.yacron2TestNotices = [];
window.Notification = class extends Notification {
	constructor(title, options) { super(title, options); window.yacron2TestNotices.push(title + ': ' + options.body); }
};`

// Who wants it is told on the desktop of runs that have failed for good, of each once.
func TestNotices(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "broken", Schedule: never, Command: "exit 9"},
		testcluster.Job{Name: "good", Schedule: never, Command: "true"},
		testcluster.Job{Name: "again", Schedule: never, Command: "exit 4"})
	p := browser.Open(t, browser.Options{})
	p.Permit("notifications", true)
	p.Inject(watchNotices)
	awaitAPI(t, n)
	p.Visit(n.API() + "/")
	p.Click(button(row("broken"), "run-button"))
	p.SeeText(row("broken"), "failed")
	p.Click(browser.TestID("settings-button"))
	p.Click(browser.TestID("notify-check"))
	p.Press("\x1b")
	p.Reload() // what happened before is no news
	p.Click(button(row("good"), "run-button"))
	p.SeeText(row("good"), "ok")
	p.Click(button(row("again"), "run-button"))
	p.SeeText(row("again"), "failed")
	p.Await("a notification", "yacron2TestNotices.length > 0")
	if got := browser.Eval[[]string](p, "yacron2TestNotices"); len(got) != 1 || got[0] != "✗ again: exit 4: failsWhen=nonzeroReturn and retcode=4" {
		t.Errorf("the notifications are %q", got)
	}

	// Where the browser does not allow it, the page says so.
	other := open(t, n, browser.Options{})
	other.Permit("notifications", false)
	other.Click(browser.TestID("settings-button"))
	other.Click(browser.TestID("notify-check"))
	other.SeeText(toast, "does not allow")
}

// The columns are as they were chosen, also after a reload; where one has no room, the
// list says so. Polls leave the list alone.
func TestColumns(t *testing.T) {
	t.Parallel()
	c := three(t,
		testcluster.Job{Name: "led", Schedule: never, Command: "true", Policy: "PreferLeader"},
		testcluster.Job{Name: "zoned", Schedule: never, Command: "true", More: "timezone: Europe/Rome"})
	p := open(t, c.Nodes[0], browser.Options{Size: browser.Size{Width: 1800, Height: 900}})
	p.SeeText(panel, "leader")
	p.Click(button(row("led"), "run-button"))
	p.SeeText(row("led"), "ok")
	heads := func() []string {
		return browser.Eval[[]string](p, "all('[role=columnheader]').map((e) => e.innerText.trim())")
	}
	if got := heads(); !slices.Equal(got, []string{"Status", "Job", "Schedule", "Last run", "Took", "Next", "Trend", "Actions"}) {
		t.Errorf("the columns are %q", got)
	}
	box := func(label string) string {
		return fmt.Sprintf("all('#column-menu label').find((l) => l.innerText.startsWith(%s)).querySelector('input')", browser.Quote(label))
	}
	p.Click(browser.TestID("columns-button"))
	p.Await("the list of columns", "all('#column-menu label').filter(visible).length > 0")
	for _, label := range []string{"Policy", "Zone", "Next at", "Rate", "Trend"} {
		browser.Eval[bool](p, box(label)+".focus() ?? true")
		p.Press(" ")
	}
	polls := fmt.Sprintf("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/cluster')).length > %d",
		browser.Eval[int](p, "performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/cluster')).length"))
	p.Await("a poll", polls)
	p.Await("the focus stays", "focused() === "+box("Trend"))
	want := []string{"Status", "Job", "Policy", "Schedule", "Zone", "Last run", "Took", "Next", "Next at", "Rate", "Actions"}
	for _, when := range []string{"chosen", "after a reload"} {
		if got := heads(); !slices.Equal(got, want) {
			t.Errorf("%s: the columns are %q", when, got)
		}
		p.SeeText(row("led"), "PreferLeader", "UTC", "100 %")
		p.SeeText(row("zoned"), "Europe/Rome")
		p.Reload()
		p.SeeText(row("led"), "PreferLeader")
	}

	p.Resize(browser.Size{Width: 1000, Height: 900})
	p.Await("rate goes first", "!all('[role=columnheader]').some((e) => e.innerText.trim() === 'Rate')")
	p.Click(browser.TestID("columns-button"))
	p.SeeText("#column-menu", "Rate\nno room")
	p.Await("what has room is not marked", "!all('#column-menu label').find((l) => l.innerText.startsWith('Took')).innerText.includes('no room')")
}
