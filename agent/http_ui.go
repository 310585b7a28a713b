package agent

import (
	"net/http"

	"github.com/yacron2/yacron2/ui"
)

const (
	pathPage = "/"
	// pathFiles is before the name of each file of the dashboard.
	pathFiles = "/ui/"
)

// dashboardPaths are the paths that a browser opens without a token: it has none to send
// before the page can ask for one, and the files hold no data.
func dashboardPaths() []string {
	paths := []string{pathPage}
	for _, name := range ui.Names() {
		paths = append(paths, pathFiles+name)
	}
	return paths
}

// dashboardOn reports whether the configuration wants the dashboard served.
func (a *httpAPI) dashboardOn() bool { return a.settings().ui }

func (a *httpAPI) dashboard(w http.ResponseWriter, r *http.Request) { a.serveFile(w, r, ui.Index) }

func (a *httpAPI) dashboardFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if !a.site.Has(name) {
		plainStatus(w, r, http.StatusNotFound)
		return
	}
	a.serveFile(w, r, name)
}

// serveFile answers with a file of the dashboard and the configured extra headers, which
// may replace those that guard the page: a proxy in front may need others.
func (a *httpAPI) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	limitWrite(w)
	a.site.Serve(w, r, name, func(h http.Header) {
		for _, header := range a.settings().headers {
			h.Set(header.Name, header.Value)
		}
	})
}
