package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

func someLines() []api.AgentLine {
	at := api.At(noon)
	return []api.AgentLine{
		{At: at, Level: "info", Component: "agent", Message: "started", Fields: map[string]string{"node": "a", "since": "1 s ago"}},
		{At: api.At(noon.Add(1234567 * time.Microsecond)), Level: "error", Message: "\x1b[31mred", Fields: map[string]string{"text": "", "key": "a=b\nc"}},
		{At: at, Level: "warn", Component: "monitor", Message: "3 lines are missing here", Lost: new(3)},
	}
}

// lineServer answers like an agent whose log has some lines, of which each request gets
// the next n.
func lineServer(t *testing.T, n int) (address string, asked *[]string) {
	t.Helper()
	var mu sync.Mutex
	lines, sent := someLines(), 0
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, r.URL.RequestURI()+" "+r.Header.Get("Last-Event-ID"))
		if sent == len(lines) {
			http.Error(w, "this token may only read", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for range min(n, len(lines)-sent) {
			data, err := api.Marshal(lines[sent])
			if err != nil {
				t.Error(err)
			}
			sent++
			_, _ = fmt.Fprintf(w, "id: x-%d\nevent: line\ndata: %s\n\n", sent, data)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestMonitor(t *testing.T) {
	address, asked := lineServer(t, 3)
	env := map[string]string{envAddress: address}
	r := run(t, env, "monitor", "-retry=0s")
	r.expect(t, exitFailed, []string{"[INFO]"}, []string{"error: no agent answers at " + address + ": unexpected EOF"})
	golden(t, "monitor.txt", r.out)
	if got := strings.Join(*asked, ", "); got != "/monitor?level=info " {
		t.Errorf("asked %s", got)
	}

	address, asked = lineServer(t, 3)
	r = run(t, map[string]string{envAddress: address}, "monitor", "-log-level=debug", "-last=7", "-format=json", "-retry=0s")
	if got := strings.Join(*asked, ", "); got != "/monitor?last=7&level=debug " {
		t.Errorf("asked %s", got)
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if len(lines) != len(someLines()) {
		t.Fatalf("%d lines", len(lines))
	}
	for i, text := range lines {
		var back identifiedLine
		want := someLines()[i]
		if err := json.Unmarshal([]byte(text), &back); err != nil || back.ID != fmt.Sprintf("x-%d", i+1) || back.Message != want.Message || back.Fields["key"] != want.Fields["key"] || (back.Lost == nil) != (want.Lost == nil) {
			t.Errorf("%s reads back as %+v (%v)", text, back, err)
		}
	}
}

// A connection that ends is made again and goes on where it was, until the agent refuses.
func TestMonitorGoesOn(t *testing.T) {
	address, asked := lineServer(t, 1)
	r := run(t, map[string]string{envAddress: address}, "monitor", "-retry=20ms", "-last=2")
	r.expect(t, exitFailed, []string{"agent: started: node=a", "3 lines are missing here"},
		[]string{"hint: the agent at " + address + " went away: trying again for 20ms", "error: the agent says: this token may only read"})
	if got := strings.Join(*asked, ", "); got != "/monitor?last=2&level=info , /monitor?level=info x-1, /monitor?level=info x-2, /monitor?level=info x-3" {
		t.Errorf("asked %s", got)
	}
}

// An agent that goes away for good is waited for no longer than was said.
func TestMonitorGivesUp(t *testing.T) {
	var once sync.Once
	closing := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": ping\n\n")
		once.Do(func() { close(closing) })
	}))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-closing
		server.Close()
	}()
	r := run(t, map[string]string{envAddress: server.URL}, "monitor", "-retry=50ms")
	r.expect(t, exitFailed, nil, []string{"went away", "error: no agent answers at " + server.URL, "hint: is it running?"})
	<-closed
}

func TestMonitorMisuse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		text string
	}{
		{[]string{"-log-level=warm"}, `there is no level "warm", did you mean "warn"?`},
		{[]string{"-last=1025"}, "-last=1025: write a number from 0 to 1024"},
		{[]string{"-last=x"}, "invalid value"},
		{[]string{"-retry=-1s"}, "-retry=-1s: write 0s or longer"},
		{[]string{"-format=xml"}, "write table or json"},
		{[]string{"now"}, `unexpected argument "now"`},
	} {
		run(t, nil, append([]string{"monitor"}, tt.args...)...).expect(t, exitMisuse, nil, []string{tt.text})
	}
	address := nobody
	run(t, nil, "monitor", "-address="+address).expect(t, exitFailed, nil, []string{"no agent answers at " + address, "is it running? set -address"})
}
