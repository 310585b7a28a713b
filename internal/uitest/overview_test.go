package uitest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// The heat map shows of each job that has run how its runs ended when, the worst before
// all else, and asks for no job again while it knows.
func TestHeatMap(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	n := alone(t,
		testcluster.Job{Name: "mixed", Schedule: never, Command: fmt.Sprintf("[ ! -e %s ]", g)},
		testcluster.Job{Name: "good", Schedule: never, Command: "true"},
		testcluster.Job{Name: "idle", Schedule: never, Command: "true"})
	run := func(job, outcome string) {
		t.Helper()
		command(t, n, "job", "run", job)
		testcluster.Eventually(t, job, lastOutcome(n, job, outcome))
	}
	run("good", "success")
	run("mixed", "success")
	g.open(t)
	run("mixed", "failure")

	p := browser.Open(t, browser.Options{})
	p.Visit(n.API() + "/#timeline/outcomes")
	heat := browser.TestID("heat-map")
	p.SeeText(heat, "mixed", "good", "UTC", "now")
	// Cells are counted back from now: no full hour comes between the runs of some seconds.
	cells := func(job string) string {
		return fmt.Sprintf("all(%s).map((e) => e.classList[1] + ' ' + e.dataset.runs).join()", browser.Quote(heat+` [data-job="`+job+`"] .heat`))
	}
	for _, span := range []string{"6 h", "7 d", "24 h"} {
		p.ClickButton(heat, span)
		p.Await(span+": the worst of two", cells("mixed")+" === 'is-failed 2'")
		p.Await(span+": one that went well", cells("good")+" === 'is-ok 1'")
	}
	p.Await("the newest cell is the last of 24", "all("+browser.Quote(heat+" .heat")+").every((e) => Number(e.dataset.bucket) === 23)")
	if got := p.Text(heat); strings.Contains(got, "idle") {
		t.Errorf("what has not run is shown: %q", got)
	}
	asked := 0
	for _, r := range p.Requests() {
		if strings.HasSuffix(r, "/jobs/mixed/runs") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for the runs of one job", asked)
	}
	p.Accessible("the heat map")
	p.ClickButton(heat, "mixed")
	p.SeeText(drawer, "mixed")
}

// The radar shows what fires next, the soonest first and the sooner the nearer.
func TestRadar(t *testing.T) {
	t.Parallel()
	n := alone(t,
		testcluster.Job{Name: "far", Schedule: "0 0 1 1 * 2099", Command: "true"},
		testcluster.Job{Name: "off", Schedule: "* * * * *", Command: "true", More: "enabled: false"},
		testcluster.Job{Name: "near", Schedule: "*/2 * * * * * *", Command: "true"},
		testcluster.Job{Name: "held", Schedule: "0 0 1 1 *", Command: "true"},
		testcluster.Job{Name: "yearly", Schedule: "30 0 1 1 *", Command: "true"})
	command(t, n, "job", "pause", "-for", "24h", "held")
	p := open(t, n, browser.Options{})
	p.PressControl("k")
	p.See(palette)
	p.Press("radar\r")
	radar := browser.TestID("fire-radar")
	p.SeeText(browser.TestID("due-table"), "near", "yearly", "far")
	p.Await("the soonest is the first", `JSON.stringify(all('[data-testid=due-table] [data-open]').map((e) => e.innerText)) === '["near","yearly","far"]'`)
	dots := browser.Eval[[]string](p, "all("+browser.Quote(radar+" circle[data-job]")+").map((e) => e.dataset.job).sort()")
	if !slices.Equal(dots, []string{"far", "held", "near", "yearly"}) {
		t.Errorf("the radar shows %q", dots)
	}
	const away = `((job) => { const e = one('[data-testid=fire-radar] circle[data-job="' + job + '"]'); return Math.hypot(e.cx.baseVal.value - 230, e.cy.baseVal.value - 230); })`
	p.Await("the sooner the nearer", away+"('near') < 30 && "+away+"('near') < "+away+"('yearly') && "+away+"('yearly') <= "+away+"('far') + 1")
	p.Accessible("the radar")
	p.Click(radar + ` circle[data-job="yearly"]`)
	p.SeeText(drawer, "yearly")
}

// On the wall all is well only while that is known: not when a job fails, not when the
// agent is gone, and not when nobody asks it.
func TestWallboard(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	n := alone(t,
		testcluster.Job{Name: "a-calm-one", Schedule: never, Command: "true"},
		testcluster.Job{Name: "worse", Schedule: never, Command: fmt.Sprintf("[ ! -e %s ]", g)})
	p := open(t, n, browser.Options{})
	wall := browser.TestID("wallboard")
	set := func(id, value string) {
		t.Helper()
		p.Click(browser.TestID("settings-button"))
		p.Choose(browser.TestID(id), value)
		p.Press("\x1b")
		p.Gone("dialog[open]")
	}
	set("calm-select", "5")
	p.Press("w")
	p.SeeText(wall, "a-calm-one", "worse")
	p.SeeText(wall, "All clear")
	p.Accessible("the wallboard when all is clear")

	g.open(t)
	command(t, n, "job", "run", "worse")
	p.SeeText(wall, "exit 1", "1 failing")
	p.Await("the worst is the first", "one('.wall-tile').dataset.job === 'worse'")
	if got := p.Text(wall); strings.Contains(got, "All clear") {
		t.Errorf("all is clear with a job that fails: %q", got)
	}
	for _, s := range []browser.Size{{Width: 3840, Height: 2160}, {Width: 360, Height: 740}, browser.Desktop} {
		p.Resize(s)
		p.Await(fmt.Sprintf("the tiles fill %v", s), `(() => {
			const tiles = all('.wall-tile').map((e) => e.getBoundingClientRect());
			return tiles.length === 2 && tiles.every((r) => r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight && r.width >= Math.min(innerWidth / 5, 400));
		})()`)
	}

	n.WriteJobs(testcluster.Job{Name: "worse", Schedule: never, Command: "true"})
	n.Reload()
	p.Await("the new jobs", "all('.wall-tile').length === 1")
	command(t, n, "job", "run", "worse")
	p.SeeText(wall, "All clear")

	p.Expect(refused)
	n.Kill()
	p.SeeText(wall, "STALE DATA")
	if got := p.Text(wall); strings.Contains(got, "All clear") {
		t.Errorf("all is clear without an agent: %q", got)
	}
	p.Await("what is old is dim", "getComputedStyle(one('.wall-tiles')).opacity < 0.5")
	n.Start()
	p.SeeText(wall, "All clear")
	// An agent that hangs refuses nothing: it just says nothing more.
	n.Pause()
	p.SeeText(wall, "STALE DATA")
	n.Resume()
	p.SeeText(wall, "All clear")

	p.Press("\x1b")
	p.Gone(wall)
	set("interval-select", "0")
	p.Press("w")
	p.SeeText(wall, "PAUSED")
	if got := p.Text(wall); strings.Contains(got, "All clear") {
		t.Errorf("all is clear, and nobody asks: %q", got)
	}
	n.Signal(syscall.SIGTERM)
	n.AwaitExit()
}
