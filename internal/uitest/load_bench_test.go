package uitest

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// stopwatch notes in the page when the first job is there: then it can be used.
const stopwatch = `new MutationObserver((_, o) => {
	if (!document.querySelector('[data-testid=job-row]')) return;
	o.disconnect();
	requestAnimationFrame(() => setTimeout(() => { window.yacron2TestUsable = performance.now(); }));
}).observe(document, {childList: true, subtree: true});`

// The times of a page that is opened for the first time, on loopback: until something is
// painted, and until the jobs are there and keys work.
func BenchmarkDashboardLoad(b *testing.B) {
	n := start(b, testcluster.Options{Names: []string{"solo"}}, manyJobs(100)...).Nodes[0]
	awaitAPI(b, n)
	var paint, usable, weight float64
	for b.Loop() {
		p := browser.Open(b, browser.Options{})
		p.Inject(stopwatch)
		p.Visit(n.API() + "/")
		p.Await("it is usable", "window.yacron2TestUsable > 0 && performance.getEntriesByName('first-contentful-paint').length > 0")
		paint += browser.Eval[float64](p, "performance.getEntriesByName('first-contentful-paint')[0].startTime")
		usable += browser.Eval[float64](p, "window.yacron2TestUsable")
		weight = browser.Eval[float64](p, `performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
			.filter((e) => /\/$|\/ui\//.test(e.name)).reduce((sum, e) => sum + e.decodedBodySize, 0)`)
	}
	b.ReportMetric(paint/float64(b.N), "ms-to-paint")
	b.ReportMetric(usable/float64(b.N), "ms-to-usable")
	b.ReportMetric(weight, "page-bytes")
}

// What a page costs that is left open for a minute, with a thousand jobs of which some
// run all the time.
func BenchmarkDashboardMinute(b *testing.B) {
	jobs := manyJobs(990)
	for range 10 {
		jobs = append(jobs, testcluster.Job{Name: "busy-" + string(rune('a'+len(jobs)-990)), Schedule: "*/10 * * * * * *", Command: "true"})
	}
	n := start(b, testcluster.Options{Names: []string{"solo"}}, jobs...).Nodes[0]
	p := open(b, n, browser.Options{})
	var w browser.Work
	for b.Loop() {
		before := p.Work()
		<-time.After(time.Minute)
		w = p.Work().Minus(before)
	}
	b.ReportMetric(w.Page*1000, "ms-page/min")
	b.ReportMetric(w.Script*1000, "ms-script/min")
	b.ReportMetric(w.Layout*1000, "ms-layout/min")
	b.ReportMetric(w.All*1000, "ms-browser/min")
	b.ReportMetric(browser.Eval[float64](p, "performance.memory.usedJSHeapSize"), "heap-bytes")
}
