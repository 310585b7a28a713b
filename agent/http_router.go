package agent

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// route is one entry of the API. The router is our own small one because operators
// script against the exact answers to unknown paths and wrong methods, which
// http.ServeMux words differently, and because a job name may hold an encoded slash.
type route struct {
	method  string // GET (HEAD follows) or POST
	pattern string // segments; {name} matches one segment and is percent-decoded
	handler http.HandlerFunc
	on      func() bool // nil: always there
	scope   scope       // that a token must have beyond what the method takes
}

// allow is the value of the Allow header for a route.
func (r route) allow() string {
	if r.method == http.MethodGet {
		return "GET,HEAD"
	}
	return r.method
}

func (r route) serves(method string) bool {
	return method == r.method || (r.method == http.MethodGet && method == http.MethodHead)
}

// router matches a request against its routes in order.
type router []route

// ServeHTTP answers with the matching route, or in plain text that there is none.
func (rt router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var allow []string
	path := r.URL.EscapedPath()
	for _, route := range rt {
		values, ok := match(route.pattern, path)
		if !ok || route.on != nil && !route.on() {
			continue
		}
		if !route.serves(r.Method) {
			allow = append(allow, route.allow())
			continue
		}
		if route.scope > scopeOf(r) {
			plainText(w, r, http.StatusForbidden, mayOnlyRead)
			return
		}
		for key, value := range values {
			r.SetPathValue(key, value)
		}
		route.handler(w, r)
		return
	}
	if len(allow) > 0 {
		w.Header().Set("Allow", strings.Join(allow, ","))
		plainStatus(w, r, http.StatusMethodNotAllowed)
		return
	}
	plainStatus(w, r, http.StatusNotFound)
}

// match compares an escaped path with a pattern, segment by segment.
func match(pattern, escaped string) (map[string]string, bool) {
	var values map[string]string
	for more := true; more; {
		var want, got string
		var longer bool
		want, pattern, more = strings.Cut(pattern, "/")
		got, escaped, longer = strings.Cut(escaped, "/")
		if more != longer {
			return nil, false
		}
		text, err := url.PathUnescape(got)
		if err != nil {
			return nil, false
		}
		if name, ok := strings.CutPrefix(want, "{"); ok {
			if text == "" {
				return nil, false
			}
			if values == nil {
				values = make(map[string]string, 1)
			}
			values[strings.TrimSuffix(name, "}")] = text
		} else if text != want {
			return nil, false
		}
	}
	return values, true
}

// plainStatus answers with a status and its standard words, such as "404: Not Found".
func plainStatus(w http.ResponseWriter, r *http.Request, status int) {
	plainText(w, r, status, http.StatusText(status))
}

// plainText answers an error without the configured headers: in plain text, led by the
// status code, or as JSON where the client asked for that.
func plainText(w http.ResponseWriter, r *http.Request, status int, text string) {
	contentType, body := contentTypeText, []byte(statusPrefix(status)+text)
	if wantsJSON(r) {
		if data, err := api.Marshal(api.ErrorBody{Error: text}); err == nil {
			contentType, body = contentTypeJSON, data
		}
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Type", contentType)
	limitWrite(w)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // plain text or JSON, and a browser is told not to see more in it
}
