package agent

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/version"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/ui"
)

// The content types of most answers.
const (
	contentTypeJSON = "application/json; charset=utf-8"
	contentTypeText = "text/plain; charset=utf-8"
)

// httpAPI answers the HTTP API. It keeps nothing of its own: every answer is read from
// the components at the moment of the request.
type httpAPI struct {
	log          hclog.Logger
	node         string
	dispatcher   *scheduler.Dispatcher
	history      historyReader
	coordination *coordination
	happenings   *happenings
	agentLog     *logs
	settings     func() settings         // of the configuration in effect
	planned      func() []*scheduler.Job // of the configuration in effect
	loaded       func() loadStatus
	ready        func() error // why the agent does not do its work
	reload       func(context.Context) error
	expiries     func() []expiry // of the certificates in use
	slots        *streamSlots
	answers      *largeAnswers
	list         *jobList
	page         *page
	scraper      scraper
	site         *ui.Site
}

// settings is what the API needs of the configuration in effect.
type settings struct {
	jobSetID string
	jobs     int
	elect    bool            // leader election is configured
	cluster  *config.Cluster // nil: none is configured
	headers  []config.Header // extra headers of successful answers
	metrics  bool            // the metrics are served
	ui       bool            // the dashboard is served
}

// routes lists every route of the API.
func (a *httpAPI) routes() router {
	return router{
		{method: http.MethodGet, pattern: "/version", handler: a.version},
		{method: http.MethodGet, pattern: "/job-set-id", handler: a.jobSetID},
		{method: http.MethodGet, pattern: pathHealth, handler: a.health},
		{method: http.MethodGet, pattern: pathReady, handler: a.readiness},
		{method: http.MethodGet, pattern: "/status", handler: a.status},
		{method: http.MethodGet, pattern: "/jobs", handler: a.jobs},
		{method: http.MethodGet, pattern: "/jobs/{name}", handler: a.job},
		{method: http.MethodGet, pattern: "/jobs/{name}/next", handler: a.next},
		{method: http.MethodGet, pattern: "/jobs/{name}/runs", handler: a.runs},
		{method: http.MethodGet, pattern: "/jobs/{name}/logs", handler: a.logs},
		{method: http.MethodGet, pattern: "/jobs/{name}/why", handler: a.why},
		{method: http.MethodGet, pattern: "/schedule/next", handler: a.preview},
		{method: http.MethodPost, pattern: "/jobs/{name}/start", handler: a.start},
		{method: http.MethodPost, pattern: "/jobs/{name}/cancel", handler: a.cancel},
		{method: http.MethodPost, pattern: "/jobs/{name}/pause", handler: a.pause},
		{method: http.MethodPost, pattern: "/jobs/{name}/resume", handler: a.resume},
		{method: http.MethodGet, pattern: "/events", handler: a.events},
		{method: http.MethodGet, pattern: "/monitor", handler: a.monitor, scope: scopeOperate},
		{method: http.MethodGet, pattern: "/cluster", handler: a.cluster},
		{method: http.MethodGet, pattern: "/fleet", handler: a.fleet},
		{method: http.MethodGet, pattern: "/openapi.yaml", handler: a.description},
		{method: http.MethodGet, pattern: pathMetrics, handler: a.metrics, on: a.metricsOn},
		{method: http.MethodGet, pattern: "/config/status", handler: a.configStatus},
		{method: http.MethodPost, pattern: "/reload", handler: a.reloadConfig},
		{method: http.MethodGet, pattern: pathPage, handler: a.dashboard, on: a.dashboardOn},
		{method: http.MethodGet, pattern: pathFiles + "{file}", handler: a.dashboardFile, on: a.dashboardOn},
	}
}

func (a *httpAPI) version(w http.ResponseWriter, _ *http.Request) {
	a.text(w, version.Version)
}

func (a *httpAPI) jobSetID(w http.ResponseWriter, r *http.Request) {
	s := a.settings()
	if wantsJSON(r) {
		a.json(w, api.JobSetID{JobSetID: s.jobSetID, Jobs: s.jobs})
		return
	}
	a.text(w, s.jobSetID)
}

// text answers 200 in plain text.
func (a *httpAPI) text(w http.ResponseWriter, body string) {
	a.send(w, http.StatusOK, contentTypeText, []byte(body))
}

// json answers 200 in JSON.
func (a *httpAPI) json(w http.ResponseWriter, v any) { a.jsonStatus(w, http.StatusOK, v) }

// jsonStatus answers in JSON.
func (a *httpAPI) jsonStatus(w http.ResponseWriter, status int, v any) {
	body, err := api.Marshal(v)
	if err != nil {
		a.log.Error("cannot encode an answer", "error", err)
		http.Error(w, statusPrefix(http.StatusInternalServerError)+http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	a.send(w, status, contentTypeJSON, body)
}

// refuse answers an error with a reason, as JSON where the client asked for that.
func (a *httpAPI) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	if !wantsJSON(r) {
		a.send(w, status, contentTypeText, []byte(reason))
		return
	}
	a.jsonStatus(w, status, api.ErrorBody{Error: reason})
}

// send writes one answer with the configured extra headers. A configured Content-Type
// is not taken: the body would be misread.
func (a *httpAPI) send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	for _, header := range a.settings().headers {
		h.Set(header.Name, header.Value)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	limitWrite(w)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // plain text or JSON, and a browser is told not to see more in it
}

// wantsJSON reports whether the client asks for JSON by name; wildcards keep the text
// form, which is what people with a terminal expect.
func wantsJSON(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for media := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(media, ";")
			if strings.EqualFold(strings.TrimSpace(name), "application/json") {
				return true
			}
		}
	}
	return false
}

// statusPrefix leads a plain error text: "404: ".
func statusPrefix(status int) string { return strconv.Itoa(status) + ": " }
