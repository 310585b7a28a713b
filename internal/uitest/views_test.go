package uitest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// shop is what a small shop runs at night.
func shop(g gate) []testcluster.Job {
	job := func(name, schedule, policy, command string) testcluster.Job {
		return testcluster.Job{
			Name: name, Schedule: schedule, Policy: policy, Command: command,
			More: "captureStdout: true\nfailsWhen:\n  producesStdout: false\n  producesStderr: false\n  nonzeroReturn: true",
		}
	}
	return []testcluster.Job{
		job("backup-database", "15 2 * * *", "Leader", "pg_dump --format=custom shop >/dev/null 2>&1; echo 'dumped 48 tables'"),
		job("backup-files", "45 2 * * *", "Leader", "echo 'rsync: 12 files, 3.4 MB'; sleep 0.2"),
		job("certificates", "0 */12 * * *", "PreferLeader", "echo 'all 7 certificates are good for 30 days'"),
		job("invoices", "*/15 6-20 * * mon-fri", "Leader", "echo 'sent 14 invoices'"),
		job("import-orders", "*/5 * * * *", "Leader", `
			printf '\033[1mreading orders\033[0m\n'
			for i in 1 2 3 4 5 6; do printf 'order 10%s \033[32mok\033[0m\n' $i; done
			sleep 0.2; echo 'order 107 has no address, left out' >&2; sleep 0.2
			printf '\033[33mwaiting for the last batch\033[0m\n'
			`+g.wait()+`
			echo 'done: 6 of 7'`),
		job("mirror-packages", "30 4 * * *", "Leader", "echo 'connect to mirror: connection refused' >&2; exit 7"),
		job("sync-stock", "*/10 * * * *", "Leader", "echo 'warehouse: connection refused' >&2; exit 7"),
		job("rotate-logs", "@daily", "EveryNode", "echo 'rotated 9 files'"),
		job("trim-disks", "@weekly", "EveryNode", "true"),
		job("warm-cache", "@every 90s", "EveryNode", "true"),
		job("heartbeat", "*/5 * * * * * *", "Leader", "true"),
		job("report-sales", "0 7 1 * *", "Leader", "true"),
		{Name: "old-importer", Schedule: "0 1 * * *", Command: "true", Policy: "Leader", More: "enabled: false"},
	}
}

// busy runs the shop on three agents until there is something to look at: runs that went
// well, failed and were cancelled, one that goes on, and a pause.
func busy(t *testing.T, g gate) *testcluster.Cluster {
	t.Helper()
	c := three(t, shop(g)...)
	do := func(n *testcluster.Node, args ...string) {
		t.Helper()
		if _, stderr, code := n.Command(args...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	a := c.Nodes[0]
	for range 3 {
		for _, job := range []string{"backup-database", "backup-files", "certificates", "invoices"} {
			do(a, "job", "run", job)
			testcluster.Eventually(t, job, lastOutcome(a, job, "success"))
		}
	}
	for _, job := range []string{"mirror-packages", "sync-stock"} {
		do(a, "job", "run", job)
		testcluster.Eventually(t, job, lastOutcome(a, job, "failure"))
	}
	for _, n := range c.Nodes {
		do(n, "job", "run", "rotate-logs")
		testcluster.Eventually(t, "rotate-logs", lastOutcome(n, "rotate-logs", "success"))
	}
	testcluster.Eventually(t, "heartbeat", lastOutcome(a, "heartbeat", "success"))
	do(a, "job", "run", "import-orders")
	do(a, "job", "pause", "-for", "4h", "-note", "waits for the new warehouse", "report-sales")
	return c
}

// views are what the page can show, and how to get there.
var views = []struct {
	name string
	open func(p *browser.Page)
}{
	{"jobs", func(p *browser.Page) { p.Press("j") }},
	{"logs", func(p *browser.Page) { p.Click(row("import-orders")); p.SeeText(logView, "waiting for the last batch") }},
	{"history", func(p *browser.Page) {
		p.Click(row("backup-files"))
		p.Click(browser.TestID("tab-history"))
		p.SeeText(drawer, "success")
	}},
	{"schedule", func(p *browser.Page) {
		p.Click(row("invoices"))
		p.Click(browser.TestID("tab-schedule"))
		p.SeeText(drawer, "next", "while it still runs", "allow")
	}},
	{"why", func(p *browser.Page) {
		p.Click(row("heartbeat"))
		p.Click(browser.TestID("tab-why"))
		p.SeeText(drawer, "this node leads")
	}},
	{"cluster", func(p *browser.Page) { p.Click(browser.TestID("view-cluster")); p.See(panel) }},
	{"fleet", func(p *browser.Page) { p.Click(browser.TestID("view-fleet")); p.SeeText(fleetView, "rotate-logs") }},
	{"timeline", func(p *browser.Page) {
		p.Click(browser.TestID("view-timeline"))
		p.SeeText(timeline, "heartbeat", "mirror-packages")
	}},
	{"outcomes", func(p *browser.Page) {
		p.Press("4")
		p.Click(browser.TestID("part-outcomes"))
		p.SeeText(browser.TestID("heat-map"), "heartbeat", "mirror-packages")
	}},
	{"next", func(p *browser.Page) {
		p.Press("4")
		p.Click(browser.TestID("part-next"))
		p.SeeText(browser.TestID("fire-radar"), "heartbeat", "mirror-packages")
	}},
	{"tail", func(p *browser.Page) {
		p.ClickButton(banner("failing"), "Tail")
		p.SeeText(browser.TestID("tail-lines"), "warehouse: connection refused", "connect to mirror")
	}},
	{"mitigate", func(p *browser.Page) {
		p.ClickButton(banner("failing"), "Mitigate")
		p.SeeText(browser.TestID("mitigation-dialog"), "Start all 2")
	}},
	{"wallboard", func(p *browser.Page) { p.Press("w"); p.SeeText(browser.TestID("wallboard"), "mirror-packages") }},
	{"palette", func(p *browser.Page) { p.PressControl("k"); p.See(palette); p.Press("back") }},
	{"keys", func(p *browser.Page) { p.Press("?"); p.See(helpSheet) }},
	{"sandbox", func(p *browser.Page) {
		p.Expect(halfTyped)
		p.Press("s")
		p.Type(sandboxText, "15 2 * * *")
		p.Type(sandboxZone, "Europe/Berlin")
		p.SeeText(sandboxVerdict, "At 02:15, Europe/Berlin.")
		p.SeeText(sandboxResult, "when the clock changes on")
	}},
	{"sandbox-refused", func(p *browser.Page) {
		p.Expect(halfTyped)
		p.Press("s")
		p.Type(sandboxText, "*/15 6-20 * * fri-mon")
		p.SeeText(sandboxResult, "day of week")
	}},
	{"settings", func(p *browser.Page) { p.Click(browser.TestID("settings-button")); p.See("dialog[open]") }},
	{"pause", func(p *browser.Page) {
		p.Click(row("invoices"))
		p.Click(button(drawer, "pause-button"))
		p.See("dialog[open]")
	}},
}

// pictures is the folder for pictures of the views: that of the website if it is to be
// written, else one that is thrown away.
func pictures(t *testing.T) string {
	dir := os.Getenv("YACRON2_SCREENSHOTS")
	if dir == "" {
		return t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every view, in both themes, keeps to what people need who can't see well, use no mouse
// or have a screen reader; and a picture of it is taken.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := pictures(t)
	g := newGate(t)
	c := busy(t, g)
	t.Run("views", func(t *testing.T) {
		for _, theme := range []string{"light", "dark"} {
			t.Run(theme, func(t *testing.T) {
				t.Parallel()
				look(t, c.Nodes[0], theme, dir)
			})
		}
	})
	g.open(t)
	alarms(t, c, dir)
}

// look looks at every view in a theme.
func look(t *testing.T, n *testcluster.Node, theme, dir string) {
	t.Helper()
	p := open(t, n, browser.Options{Dark: theme == "dark", Still: true})
	for _, v := range views {
		p.Visit("about:blank")
		p.Visit(n.API() + "/")
		p.See(row("invoices"))
		p.SeeText(panel, "leader")
		v.open(p)
		p.Accessible(v.name + ", " + theme)
		p.Picture(filepath.Join(dir, v.name+"-"+theme+".png"))
	}
	p.Close()
	small := open(t, n, browser.Options{Dark: theme == "dark", Still: true, Size: browser.Phone, Touch: true})
	small.Accessible("phone, " + theme)
	small.Picture(filepath.Join(dir, "phone-"+theme+".png"))
	small.Click(row("import-orders"))
	small.SeeText(logView, "waiting for the last batch")
	small.Accessible("logs on a phone, " + theme)
	small.Picture(filepath.Join(dir, "phone-logs-"+theme+".png"))
	small.Visit(n.API() + "/#sandbox/" + url.PathEscape("0,30 2 * * *") + "/" + url.PathEscape("Europe/Berlin"))
	small.SeeText(sandboxResult, "when the clock changes on")
	small.Accessible("the sandbox on a phone, " + theme)
	small.Picture(filepath.Join(dir, "phone-sandbox-"+theme+".png"))
	small.Close()
}

// alarms looks at the warnings: of a configuration that is wrong, of a member that is gone,
// and of a quorum that is lost.
func alarms(t *testing.T, c *testcluster.Cluster, dir string) {
	t.Helper()
	n := c.Nodes[0]
	pages := map[string]*browser.Page{}
	for _, theme := range []string{"light", "dark"} {
		pages[theme] = open(t, n, browser.Options{Dark: theme == "dark", Still: true})
	}
	look := func(name string, ready func(p *browser.Page)) {
		t.Helper()
		for theme, p := range pages {
			ready(p)
			p.Accessible(name + ", " + theme)
			p.Picture(filepath.Join(dir, name+"-"+theme+".png"))
		}
	}
	n.WriteFile("more.yaml", "jobs:\n  - name: new-importer\n    schedule: \"61 * * * *\"\n    command: /srv/import\n")
	n.Reload()
	look("reload-failed", func(p *browser.Page) { p.SeeText(banner("reload"), "more.yaml", "61") })
	n.WriteFile("more.yaml", "jobs: []\n")
	n.Reload()
	c.Nodes[2].Kill()
	look("member-gone", func(p *browser.Page) { p.Gone(banner("reload")); p.SeeText(panel, "unreachable") })
	c.Nodes[1].Kill()
	look("no-quorum", func(p *browser.Page) { p.See(banner("quorum")) })
	for _, p := range pages {
		p.Expect(refused)
	}
	n.Kill()
	look("no-signal", func(p *browser.Page) { p.See(banner("stale")) })
}

// The token dialog is the first that people see of a guarded agent.
func TestTokenIsAccessible(t *testing.T) {
	t.Parallel()
	c := start(t, testcluster.Options{Names: []string{"solo"}, Token: "secret", Web: "authToken: {value: secret}"})
	dir := pictures(t)
	awaitAPI(t, c.Nodes[0])
	for _, theme := range []string{"light", "dark"} {
		p := browser.Open(t, browser.Options{Dark: theme == "dark", Still: true})
		p.Expect(`(status 401|status of 401)`)
		p.Visit(c.Nodes[0].API() + "/")
		p.See(tokenBox)
		p.Accessible("token, " + theme)
		p.Picture(filepath.Join(dir, "token-"+theme+".png"))
	}
}

// A choice of theme holds against what the system prefers, and over a reload. Each theme
// can be read.
func TestThemes(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.open(t) // a job that waits for it may be due
	n := alone(t, shop(g)...)
	p := open(t, n, browser.Options{})
	p.Click(browser.TestID("settings-button"))
	p.See(browser.TestID("theme-select"))
	themes := browser.Eval[[]string](p, "[...one('[data-testid=theme-select]').options].map((o) => o.value)")
	if len(themes) < 4 {
		t.Fatalf("the themes are %q", themes)
	}
	backgrounds := map[string]string{}
	for _, theme := range themes {
		p.Choose(browser.TestID("theme-select"), theme)
		p.Accessible("settings in " + theme)
		p.Reload()
		p.See(row("invoices"))
		if got := browser.Eval[string](p, "document.documentElement.dataset.theme"); got != theme {
			t.Errorf("after a reload the theme is %q, want %q", got, theme)
		}
		backgrounds[theme] = browser.Eval[string](p, "getComputedStyle(document.body).backgroundColor")
		p.Accessible("the table in " + theme)
		p.Click(browser.TestID("settings-button"))
	}
	if backgrounds["light"] == backgrounds["dark"] || backgrounds["system"] != backgrounds["light"] {
		t.Errorf("the backgrounds are %v", backgrounds)
	}
	if strings.Contains(fmt.Sprint(backgrounds), "rgba(0, 0, 0, 0)") {
		t.Errorf("a theme has no background: %v", backgrounds)
	}
}
