package report

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneThatHangsDelaysNoOther reports to a server that hangs, many times, and then to
// one that does not.
func TestOneThatHangsDelaysNoOther(t *testing.T) {
	hang := make(chan struct{})
	var waiting atomic.Int32
	stuck := newSink(t, func(http.ResponseWriter, int) {
		waiting.Add(1)
		<-hang
	})
	good := newSink(t, nil)
	b := newBench(t, Config{})
	for i := range 40 {
		b.Report(&Hooks{Webhook: hookTo(stuck.URL), Shell: &Shell{Argv: []string{"true"}}}, failed(fmt.Sprint("j", i)))
	}
	for i := range 40 {
		b.Report(&Hooks{Webhook: hookTo(good.URL)}, failed(fmt.Sprint("good", i)))
	}
	for deadline := time.Now().Add(waitLimit); good.hits.Load() < 40; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d reports arrived", good.hits.Load())
		}
	}
	if n := waiting.Load(); n > laneWidth {
		t.Errorf("%d requests at once to a server that hangs", n)
	}
	close(hang)
	b.lanes.wait()
	b.wantNoFailure(t)
	if n := stuck.hits.Load(); n != 40 {
		t.Errorf("%d reports arrived at last", n)
	}
	if len(b.lanes.byKey) != 0 || b.lanes.bytes != 0 {
		t.Errorf("%d lanes and %d bytes are left", len(b.lanes.byKey), b.lanes.bytes)
	}
}

func TestQueueIsBounded(t *testing.T) {
	hang := make(chan struct{})
	s := newSink(t, func(http.ResponseWriter, int) { <-hang })
	b := newBench(t, Config{})
	for range laneLength + laneWidth + 50 {
		b.Report(&Hooks{Webhook: hookTo(s.URL)}, failed("j"))
	}
	if n := b.Dropped(); n < 50 || n > 50+laneWidth {
		t.Errorf("%d dropped", n)
	}
	if n := b.Pending(); n != laneLength+laneWidth+50-int(b.Dropped()) {
		t.Errorf("%d wait or are under way", n)
	}
	if n := strings.Count(b.log.String(), "a report was dropped"); n != 1 {
		t.Errorf("told %d times", n)
	}
	close(hang)
	b.lanes.wait()
	if b.Pending() != 0 || b.Failed() != 0 {
		t.Errorf("in the end %d wait, %d failed", b.Pending(), b.Failed())
	}

	big := failed("big")
	big.Stdout.Text = strings.Repeat("x", queueBytes)
	b.Report(&Hooks{Webhook: hookTo(s.URL)}, big)
	if n := b.Dropped(); n < 51 {
		t.Errorf("%d dropped, a report over all bounds was taken", n)
	}
}

func TestStopDeliversWhatIsQueued(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	for i := range 50 {
		b.Report(&Hooks{Webhook: hookTo(s.URL)}, failed(fmt.Sprint("j", i)))
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := s.hits.Load(); n != 50 {
		t.Errorf("%d reports arrived", n)
	}
	b.Report(&Hooks{Webhook: hookTo(s.URL)}, failed("late"))
	if b.Dropped() != 1 || s.hits.Load() != 50 {
		t.Error("a report was taken after the end")
	}
}

func TestStopCutsPauses(t *testing.T) {
	s := newSink(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(503) })
	b := newBench(t, Config{})
	b.limits.pauses = [...]time.Duration{time.Hour, time.Hour}
	b.Report(&Hooks{Webhook: hookTo(s.URL)}, failed("j"))
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.wantFailure(t, "503")
}

func TestBrokenTemplateIsLoggedOnce(t *testing.T) {
	b := newBench(t, Config{})
	w := hookTo("http://127.0.0.1:1")
	w.Body = text("{{ broken")
	b.send(&Hooks{Webhook: w}, failed("j"))
	b.wantFailure(t, "template")
}

func TestHooksThatAreNot(t *testing.T) {
	b := newBench(t, Config{})
	b.send(nil, failed("j"))
	b.send(&Hooks{}, failed("j"))
	b.wantNoFailure(t)
}

func TestLongOutputIsShortened(t *testing.T) {
	o := Output{Captured: true, Text: strings.Repeat("€", maxText)}
	got := o.plain()
	if len(got) > maxText+100 || !strings.HasPrefix(got, "€") || !strings.HasSuffix(got, "€") || strings.ContainsRune(got, '\uFFFD') || !strings.Contains(got, "bytes left out") {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}

func TestRedactor(t *testing.T) {
	r := newRedactor("https://user:pass%20word@example.com:8443/services/T000SECRET/x?token=tok%20en&a=b", "hunter2", "ab", "")
	for in, want := range map[string]string{
		"hunter2 was refused":                           "(hidden) was refused",
		"GET /services/T000SECRET/x?token=tok%20en&a=b": "GET (hidden)",
		"T000SECRET not found":                          "(hidden) not found",
		"bad token tok en":                              "bad token (hidden)",
		"about that":                                    "about that",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
