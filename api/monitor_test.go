package api

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

func TestClientMonitor(t *testing.T) {
	var asked, after string
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, after = r.URL.RequestURI(), r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: x-1\nevent: line\ndata: {\"level\": \"info\", \"message\": \"m\", \"fields\": {\"a\": \"b\"}}\n\n"+
			": ping\n\nevent: lost\ndata: {\"level\": \"warn\", \"lost\": 3}\n\n")
	}), "")
	var got []AgentLine
	enough := errors.New("enough")
	take := func(line AgentLine) error {
		if got = append(got, line); len(got) == 2 {
			return enough
		}
		return nil
	}
	if err := c.Monitor(t.Context(), MonitorFilter{Level: "debug", Last: 5}, take); !errors.Is(err, enough) || asked != "/monitor?last=5&level=debug" || after != "" {
		t.Errorf("asked %s after %q: %v", asked, after, err)
	}
	if len(got) != 2 || got[0].ID != "x-1" || got[0].Message != "m" || got[0].Fields["a"] != "b" || got[0].Lost != nil || got[1].ID != "x-1" || *got[1].Lost != 3 {
		t.Errorf("got %+v", got)
	}
	if err := c.Monitor(t.Context(), MonitorFilter{Last: 5, After: "x-0"}, func(AgentLine) error { return enough }); !errors.Is(err, enough) || asked != "/monitor" || after != "x-0" {
		t.Errorf("asked %s after %q: %v", asked, after, err)
	}
}
