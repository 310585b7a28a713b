package monitoring

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what the tests need of the dashboard.
type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct {
			RefID string `json:"refId"`
			Expr  string
		}
		Datasource struct{ UID string }
	}
	Templating struct {
		List []struct {
			Name       string
			Definition string
		}
	}
	Annotations struct {
		List []struct{ Expr string }
	}
}

func theDashboard(tb testing.TB) dashboard {
	tb.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(tb, "grafana-dashboard.json")), &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

// queries returns every expression of the dashboard and of the rules with where it is.
func queries(tb testing.TB) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for _, g := range rules(tb).Groups {
		for _, r := range g.Rules {
			all["alert "+r.Alert] = r.Expr
		}
	}
	d := theDashboard(tb)
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			all[fmt.Sprintf("panel %q %s", p.Title, t.RefID)] = t.Expr
		}
	}
	for i, a := range d.Annotations.List {
		all[fmt.Sprintf("annotation %d", i)] = a.Expr
	}
	label := regexp.MustCompile(`^label_values\((.*), \w+\)$`)
	for _, v := range d.Templating.List {
		if m := label.FindStringSubmatch(v.Definition); m != nil {
			all["variable "+v.Name] = m[1]
		}
	}
	return all
}

// selector is one choice of series in an expression: a name, and matchers in braces.
var selector = regexp.MustCompile(`\b((?:yacron2|memberlist|process|go)_[a-z0-9_]+|up)\b(\{[^}]*\})?`)

// selectors lists those of an expression, with the variables of the dashboard as they are
// when everything is chosen.
func selectors(expr string) []string {
	var list []string
	expr = strings.NewReplacer(`$job_name`, `.*`, `$job`, `.*`, `$__rate_interval`, `1m`).Replace(expr)
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		list = append(list, m[0])
	}
	return list
}

// Panels have a place of their own, and use variables that are there.
func TestDashboard(t *testing.T) {
	d := theDashboard(t)
	known := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		known[v.Name] = true
	}
	variable := regexp.MustCompile(`\$\{?(\w+)`)
	ids := map[int]string{}
	place := map[[2]int]string{}
	graphs := 0
	for _, p := range d.Panels {
		if p.Title == "" || ids[p.ID] != "" {
			t.Errorf("panel %q has the id of %q", p.Title, ids[p.ID])
		}
		ids[p.ID] = p.Title
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q is at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := place[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				place[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		graphs++
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q asks %q for %d series", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for _, target := range p.Targets {
			for _, m := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !known[m[1]] {
					t.Errorf("panel %q uses $%s, which is not there", p.Title, m[1])
				}
			}
		}
	}
	if graphs < 20 {
		t.Errorf("%d panels", graphs)
	}
}
