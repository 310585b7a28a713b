package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// axePath is where "make uitools" puts axe-core, below the root of the module.
const axePath = "tools/ui/node_modules/axe-core/axe.min.js"

// Finding is what axe-core found against a page.
type Finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"` // minor, moderate, serious or critical
	Help   string `json:"help"`
	Nodes  []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", f.ID, f.Impact, f.Help)
	for i, n := range f.Nodes {
		if i == 5 {
			fmt.Fprintf(&b, "\n  and %d more", len(f.Nodes)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %.200s\n    %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n    "))
	}
	return b.String()
}

// axe reads axe-core. A test is skipped, or fails on a CI machine, if it is not there.
func axe(tb testing.TB) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, axePath))
	if err != nil {
		leave(tb, fmt.Errorf("%w (make uitools brings it)", err))
	}
	return string(data)
}

// moduleRoot returns the folder of go.mod above the test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("there is no go.mod above the test")
		}
	}
}

// Accessible fails the test for everything that axe-core finds against what the page shows
// now, unless it is minor. What just appears is looked at when it has: its colours are not
// its own before.
func (p *Page) Accessible(what string) {
	p.tb.Helper()
	p.Await("the end of animations", "document.getAnimations().every((a) => a.effect.getComputedTiming().endTime === Infinity)")
	code := axe(p.tb)
	if !Eval[bool](p, "'axe' in window") {
		// Not by a script element: the page's policy allows no code but its own.
		Eval[bool](p, "(() => {"+code+"\nreturn true;})()")
	}
	answer := Eval[string](p, `window.axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify({violations: r.violations, passes: r.passes.length}))`)
	var found struct {
		Violations []Finding `json:"violations"`
		Passes     int       `json:"passes"`
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		p.tb.Fatal(err)
	}
	if found.Passes == 0 {
		p.tb.Errorf("%s: axe-core has checked nothing", what)
	}
	for _, f := range found.Violations {
		if f.Impact == "minor" {
			p.tb.Logf("%s: %v", what, f)
		} else {
			p.tb.Errorf("%s: %v", what, f)
		}
	}
}
