package agent

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/yacron2/yacron2/scheduler/history"
)

// What a job's outcomes lead to, through real receivers.
func TestOutcomesAreReported(t *testing.T) {
	var mu sync.Mutex
	var bodies []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, r.URL.Path+" "+string(body))
	}))
	defer hook.Close()
	received := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, bodies...)
	}

	statsd, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = statsd.Close() }()

	webhook := func(path, body string) string {
		return "      report:\n        webhook:\n          url:\n            value: " + hook.URL + path +
			"\n          contentType: text/plain\n          body: \"" + body + "\"\n"
	}
	a := startAgent(t, `
jobs:
  - name: failing
    command: echo out; echo err >&2; exit 3
    schedule: "@yearly"
    captureStdout: true
    environment:
      - key: COLOUR
        value: green
    statsd:
      prefix: the.prefix
      host: 127.0.0.1
      port: `+strconv.Itoa(statsd.LocalAddr().(*net.UDPAddr).Port)+`
    onFailure:
`+webhook("/failure", "{{ name }} {{ exit_code }} {{ environment.COLOUR }} {{ stdout.strip() }} {{ stderr.strip() }}")+`
    onPermanentFailure:
`+webhook("/permanent", "{{ fail_reason }}")+`
    onSuccess:
`+webhook("/success", "never")+`
  - name: fine
    command: "true"
    schedule: "@yearly"
    onFailure:
`+webhook("/failure", "never")+`
    onSuccess:
`+webhook("/success", "{{ name }} {{ success }}")+`
`, "")
	for _, job := range []string{"failing", "fine"} {
		if err := a.client.Start(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "three reports arrived", func() bool { return len(received()) == 3 })
	got := strings.Join(received(), "\n")
	for _, want := range []string{
		"/failure failing 3 green out err",
		"/permanent failsWhen=nonzeroReturn and retcode=3",
		"/success fine True",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no report %q in:\n%s", want, got)
		}
	}

	var packets strings.Builder
	buf := make([]byte, 1500)
	for range 2 {
		n, err := statsd.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		packets.Write(buf[:n])
	}
	for _, want := range []string{"the.prefix.start:1|g\n", "the.prefix.stop:1|g\n", "the.prefix.success:0|g\n", "the.prefix.duration:"} {
		if !strings.Contains(packets.String(), want) {
			t.Errorf("no %q in %q", want, packets.String())
		}
	}
}

// With a data directory the history outlives the process.
func TestHistoryOutlivesTheAgent(t *testing.T) {
	data := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "dataDir: " + data + "\njobs:\n  - name: boot\n    command: 'true'\n    schedule: '@reboot'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for start := 1; start <= 3; start++ {
		log := &lockedBuffer{}
		a, err := New(Options{ConfigFiles: []string{file}, Stdout: log, Stderr: log})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var runs []history.Run
		eventually(t, "every start's run is there", func() bool { runs = a.history.Runs("boot"); return len(runs) == start })
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Two agents must not share a data directory.
func TestDataDirectoryIsLocked(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte("jobs: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := Options{ConfigFiles: []string{file}, DataDir: data, Stdout: io.Discard, Stderr: io.Discard}
	first, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Stop(t.Context()) }()
	if _, err := New(opts); err == nil || !strings.Contains(err.Error(), data) {
		t.Errorf("a second agent in the same data directory: %v", err)
	}
}
