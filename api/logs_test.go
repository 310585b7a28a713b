package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
)

// serveEvents answers every request with an event stream.
func serveEvents(t *testing.T, text string) *Client {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/jobs/a%20b/logs" || r.Header.Get("Authorization") != "Bearer t" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("asked %s with %v", r.URL.EscapedPath(), r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}), "t")
}

const twoLines = "event: line\ndata: {\"stream\": \"stdout\", \"line\": \"one\"}\n\n" +
	": ping\n\n" +
	"event: later-version\ndata: 5\n\n" +
	"event:line\nid: 7\ndata:{\"stream\": \"stderr\",\ndata: \"line\": \"tw\\u00f6\"}\n\n"

func TestClientLogs(t *testing.T) {
	for text, want := range map[string]string{
		"event: end\ndata: {}\n\n":                             "",
		"event: end\ndata: {\"reason\": \"no-output\"}\n\n":    LogEndNoOutput,
		"event: end\ndata: {}\n\nevent: line\ndata: odd\n\n\n": "",
	} {
		var got []LogLine
		end, err := serveEvents(t, twoLines+text).Logs(t.Context(), "a b", func(line LogLine) error {
			got = append(got, line)
			return nil
		})
		if err != nil || end.Reason != want {
			t.Errorf("%q ended with %+v, %v", text, end, err)
		}
		if len(got) != 2 || got[0] != (LogLine{"", "stdout", "one"}) || got[1] != (LogLine{"7", "stderr", "twö"}) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestClientLogsFail(t *testing.T) {
	ignore := func(LogLine) error { return nil }
	var unreachable *UnreachableError
	if _, err := serveEvents(t, twoLines).Logs(t.Context(), "a b", ignore); !errors.As(err, &unreachable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that is cut off gives %v", err)
	}
	enough := errors.New("enough")
	if _, err := serveEvents(t, twoLines).Logs(t.Context(), "a b", func(LogLine) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a reader that stops gives %v", err)
	}
	if _, err := serve(t, answer("[]"), "").Logs(t.Context(), "a", ignore); !errors.Is(err, ErrNotAgent) {
		t.Errorf("another answer gives %v", err)
	}
	if _, err := serveEvents(t, "event: line\ndata: 5\n\n").Logs(t.Context(), "a b", ignore); !errors.Is(err, ErrNotAgent) {
		t.Errorf("an event of another kind gives %v", err)
	}
	if _, err := serve(t, http.NotFoundHandler(), "").Logs(t.Context(), "a", ignore); StatusOf(err) != http.StatusNotFound {
		t.Errorf("no such job gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, twoLines)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), "").Logs(ctx, "a", func(LogLine) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gives %v", err)
	}
}
