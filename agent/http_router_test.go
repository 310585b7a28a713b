package agent

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRouter(t *testing.T) {
	named := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("name=" + r.PathValue("name"))) }
	rt := router{
		{method: http.MethodGet, pattern: "/version", handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("v")) }},
		{method: http.MethodGet, pattern: "/jobs/{name}/runs", handler: named},
		{method: http.MethodPost, pattern: "/jobs/{name}/start", handler: named},
		{method: http.MethodGet, pattern: "/off", handler: named, on: func() bool { return false }},
	}
	tests := []struct {
		method, target string
		status         int
		body, allow    string
	}{
		{"GET", "/version", 200, "v", ""},
		{"HEAD", "/version", 200, "v", ""}, // the server drops the body
		{"GET", "/version?x=1", 200, "v", ""},
		{"POST", "/version", 405, "405: Method Not Allowed", "GET,HEAD"},
		{"GET", "/off", 404, "404: Not Found", ""},
		{"POST", "/off", 404, "404: Not Found", ""},
		{"GET", "/version/", 404, "404: Not Found", ""},
		{"GET", "/", 404, "404: Not Found", ""},
		{"GET", "//version", 404, "404: Not Found", ""},
		{"GET", "/jobs/a%2Fb%20c/runs", 200, "name=a/b c", ""},
		{"GET", "/jobs/%C3%A4/runs", 200, "name=ä", ""},
		{"GET", "/jobs/../runs", 200, "name=..", ""},
		{"GET", "/jobs//runs", 404, "404: Not Found", ""},
		{"GET", "/jobs/a/b/runs", 404, "404: Not Found", ""},
		{"GET", "/jobs/a/start", 405, "405: Method Not Allowed", "POST"},
		{"POST", "/jobs/a/start", 200, "name=a", ""},
		{"DELETE", "/jobs/a/start", 405, "405: Method Not Allowed", "POST"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			w := httptest.NewRecorder()
			rt.ServeHTTP(w, httptest.NewRequest(tt.method, tt.target, nil))
			if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("Allow") != tt.allow {
				t.Errorf("got %d %q Allow %q, want %d %q Allow %q",
					w.Code, w.Body.String(), w.Header().Get("Allow"), tt.status, tt.body, tt.allow)
			}
		})
	}
}
