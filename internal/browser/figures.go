package browser

import (
	"context"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

// Work is how long a browser has worked so far, in seconds of a processor.
type Work struct {
	Page   float64 // the main thread of the page, its tasks alone
	Script float64 // the part of them in scripts
	Layout float64 // the part of them in layout and style
	All    float64 // all processes of the browser
}

// Minus returns what came after earlier.
func (w Work) Minus(earlier Work) Work {
	return Work{w.Page - earlier.Page, w.Script - earlier.Script, w.Layout - earlier.Layout, w.All - earlier.All}
}

// Work returns how long the page and its browser have worked.
func (p *Page) Work() Work {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepLimit)
	defer cancel()
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{}); err != nil {
		p.tb.Fatal(err)
	}
	metrics, err := chromedp.Call(ctx, performance.GetMetrics, struct{}{})
	if err != nil {
		p.tb.Fatal(err)
	}
	var w Work
	for _, m := range metrics.Metrics {
		switch m.Name {
		case "TaskDuration":
			w.Page = m.Value
		case "ScriptDuration":
			w.Script = m.Value
		case "LayoutDuration", "RecalcStyleDuration":
			w.Layout += m.Value
		}
	}
	processes, err := chromedp.CallBrowser(ctx, systeminfo.GetProcessInfo, struct{}{})
	if err != nil {
		p.tb.Fatal(err)
	}
	for _, process := range processes.ProcessInfo {
		w.All += process.CPUTime
	}
	return w
}
