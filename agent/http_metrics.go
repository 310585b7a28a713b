package agent

import (
	"net/http"
	"sync"

	"github.com/yacron2/yacron2/internal/exposition"
)

// pathMetrics is where Prometheus scrapes.
const pathMetrics = "/metrics"

// scraper answers scrapes, one at a time: each holds all series in memory.
type scraper struct {
	mu   sync.Mutex
	size int // of the last answer
}

// metricsOn reports whether the configuration wants the metrics served.
func (a *httpAPI) metricsOn() bool { return a.settings().metrics }

func (a *httpAPI) metrics(w http.ResponseWriter, r *http.Request) {
	format := exposition.Negotiate(r.Header.Values("Accept"))
	a.large(w, r, format.ContentType(), func() ([]byte, error) { return a.scrape(format) })
}

func (a *httpAPI) scrape(format exposition.Format) ([]byte, error) {
	a.scraper.mu.Lock()
	defer a.scraper.mu.Unlock()
	body, err := a.page.append(make([]byte, 0, a.scraper.size+a.scraper.size/8), format)
	if err != nil {
		// A part that fails does not take the others with it.
		a.page.problems.Inc()
		a.log.Error("some metrics are left out", "error", err)
	}
	a.scraper.size = len(body)
	return body, nil
}
