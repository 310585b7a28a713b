package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
)

// lines follows the log of an agent, until the test ends or cancel is called.
type lines struct {
	taken  chan api.AgentLine
	ended  chan error
	cancel context.CancelFunc
	gone   func() // returns when the agent has noticed
}

// monitored opens a stream and returns when the agent has it.
func (a *testAgent) monitored(filter api.MonitorFilter) *lines {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	l := &lines{taken: make(chan api.AgentLine, 10_000), ended: make(chan error, 1), cancel: cancel}
	readers := func() int {
		a.logs.mu.Lock()
		defer a.logs.mu.Unlock()
		n := 0
		for _, open := range a.logs.monitor.open {
			n += open
		}
		return n
	}
	before := readers()
	go func() {
		l.ended <- a.client.Monitor(ctx, filter, func(line api.AgentLine) error {
			l.taken <- line
			return nil
		})
	}()
	eventually(a.t, "the log is followed", func() bool { return readers() > before })
	l.gone = func() { eventually(a.t, "the reader is gone", func() bool { return readers() <= before }) }
	a.t.Cleanup(l.stop)
	return l
}

func (l *lines) stop() {
	l.cancel()
	<-l.ended
	l.ended <- nil
	l.gone()
}

// await returns the next line with a message.
func (l *lines) await(t *testing.T, message string) api.AgentLine {
	t.Helper()
	for {
		select {
		case line := <-l.taken:
			if line.Message == message {
				return line
			}
		case <-t.Context().Done():
			t.Fatalf("no line %q", message)
		}
	}
}

// readLines reads lines from a stream until one is the last that is wanted.
func readLines(stream io.Reader, last func(api.AgentLine) bool) error {
	scanner := bufio.NewScanner(stream)
	for scanner.Scan() {
		data, ok := strings.CutPrefix(scanner.Text(), "data: ")
		if !ok {
			continue
		}
		var line api.AgentLine
		if err := json.Unmarshal([]byte(data), &line); err != nil {
			return err
		}
		if last(line) {
			return nil
		}
	}
	return errors.Join(scanner.Err(), io.ErrUnexpectedEOF)
}

// Each reader has the level that it asks for, the log has its own, and nobody changes
// that of another.
func TestMonitorLevels(t *testing.T) {
	a := startAgent(t, someJobs, "")
	a.write("logging.yaml", "logLevel: warn\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := a.logs.root.Named("part").With("node", "a")
	warn := a.monitored(api.MonitorFilter{Level: "warn"})
	if log.IsTrace() {
		t.Error("components put lines together that nobody wants")
	}
	trace := a.monitored(api.MonitorFilter{Level: "trace"})
	if !log.IsTrace() {
		t.Error("components do not know that somebody wants their lines")
	}
	log.Trace("quiet", "secret", "none", "error", errors.New("failed: ü"), "n", 3, "odd")
	log.Warn("loud", "hex", []byte{1})

	line := trace.await(t, "quiet")
	if line.Level != "trace" || line.Component != "part" || line.At.IsZero() || line.ID == "" || line.Lost != nil ||
		line.Fields["node"] != "a" || line.Fields["error"] != "failed: ü" || line.Fields["n"] != "3" || line.Fields["EXTRA_VALUE_AT_END"] != "odd" {
		t.Errorf("got %+v", line)
	}
	trace.await(t, "loud")
	if line := <-warn.taken; line.Message != "loud" {
		t.Errorf("the reader of warnings got %+v", line)
	}
	if strings.Contains(a.log.String(), "quiet") || !strings.Contains(a.log.String(), "[WARN]  part: loud") {
		t.Errorf("the log itself:\n%s", a.log)
	}
}

// A reader that was away gets what it missed; one that begins can see what was before.
func TestMonitorGoesOn(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "") // nothing else logs
	log := a.logs.root.Named("part")
	l := a.monitored(api.MonitorFilter{Level: "debug"})
	log.Debug("one")
	one := l.await(t, "one")
	l.stop()
	log.Debug("two")
	log.Trace("not wanted")
	log.Info("three")

	again := a.monitored(api.MonitorFilter{Level: "debug", After: one.ID, Last: 100})
	for _, want := range []string{"two", "three"} {
		for line := range again.taken {
			if line.Component == "part" || line.Lost != nil {
				if line.Message != want {
					t.Errorf("got %+v, want %s", line, want)
				}
				break
			}
		}
	}
	last := a.monitored(api.MonitorFilter{Level: "error", Last: 2})
	log.Error("four")
	if line := <-last.taken; line.Message != "four" {
		t.Errorf("got %+v", line)
	}
	if line := <-a.monitored(api.MonitorFilter{Level: "info", Last: 2}).taken; line.Message != "three" {
		t.Errorf("before the newest of two: %+v", line)
	}
	// Nobody knows what a reader missed that was here before this process, or wants what
	// was not recorded.
	for _, filter := range []api.MonitorFilter{{After: "01234567-1"}, {Level: "trace", After: one.ID}} {
		if line := <-a.monitored(filter).taken; line.Lost == nil || *line.Lost != 0 || line.Message != "lines may be missing here" {
			t.Errorf("%+v: %+v", filter, line)
		}
	}
}

// A reader that does not read holds up nobody, and is told what it has lost.
func TestMonitorSlowReader(t *testing.T) {
	a := startAgent(t, strings.ReplaceAll(someJobs, "@reboot", "@yearly"), "") // nothing else logs
	resp := a.open(t.Context(), "/monitor?level=info")
	defer func() { _ = resp.Body.Close() }()
	log := a.logs.root.Named("flood")
	const n = 3 * linesKept
	long := strings.Repeat("x", lineLimit+1)
	for range n {
		log.Info(long)
	}
	// It goes on with a gap.
	lost := 0
	err := readLines(resp.Body, func(line api.AgentLine) bool {
		if line.Lost != nil {
			lost = *line.Lost
		}
		return lost > 0
	})
	if err != nil || lost <= 0 || lost > n {
		t.Errorf("%d lost of %d: %v", lost, n, err)
	}
	_ = resp.Body.Close()
	// What is kept of such lines is cut.
	got := 0
	err = a.client.Monitor(t.Context(), api.MonitorFilter{Last: 20}, func(line api.AgentLine) error {
		if line.Component != "flood" {
			return nil
		}
		if len(line.Message) != lineLimit+len("…") || !strings.HasSuffix(line.Message, "…") {
			t.Errorf("%d bytes that end with %q", len(line.Message), line.Message[len(line.Message)-4:])
		}
		if got++; got == 20 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("%d lines: %v", got, err)
	}
}

// It takes a token that may operate.
func TestMonitorNeedsOperate(t *testing.T) {
	a := startAgent(t, someJobs, "  tokens:\n    - {name: look, scope: read, value: reading}\n    - {name: work, scope: operate, value: secret}\n")
	for token, want := range map[string]int{"reading": 403, "wrong": 401, "": 401} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, path := range []string{"/monitor", "/%6donitor", "/monitor?level=error"} {
				if resp, _ := a.request(method, path, map[string][]string{"Authorization": {"Bearer " + token}}); resp.StatusCode != want {
					t.Errorf("%s %s with the token %q: %d, want %d", method, path, token, resp.StatusCode, want)
				}
			}
		}
	}
	a.monitored(api.MonitorFilter{}).stop()
}

// Levels that are recorded for a reader that is gone are not for ever.
func TestMonitorForgets(t *testing.T) {
	m, now := newMonitor("e"), time.Now()
	m.open[1]++ // trace
	if m.level() != 1 {
		t.Errorf("recorded from %s on", m.level())
	}
	m.open[1]--
	m.linger[1] = now.Add(monitorLinger)
	if m.expire(now.Add(monitorLinger-1)) || m.level() != 1 {
		t.Error("forgotten too early")
	}
	if !m.expire(now.Add(monitorLinger)) || m.level() != m.own {
		t.Errorf("still recorded from %s on", m.level())
	}
	m.record(now, "part", m.own-1, "no", nil)
	m.record(now, "part", m.own, "yes", []any{"a"})
	if m.lines.next != 1 || m.lines.ring[0].wire.value.(*api.AgentLine).Fields["EXTRA_VALUE_AT_END"] != "a" {
		t.Errorf("recorded: %+v", m.lines.ring)
	}
}

// FuzzMonitorLine puts any line into bounds and into JSON.
func FuzzMonitorLine(f *testing.F) {
	f.Add("started", "node", "a", 3)
	f.Add("\xff", strings.Repeat("ü", lineLimit), "\x00", 5000)
	f.Fuzz(func(t *testing.T, msg, key, value string, n int) {
		m := newMonitor("e")
		args := []any{key, value, key, errors.New(value), value, n}
		m.record(time.Now(), key, m.own, msg, args)
		data, err := m.lines.ring[0].wire.bytes()
		if err != nil {
			t.Fatal(err)
		}
		// Each byte may take six as an escape.
		if limit := 6*(lineLimit+len(key)+10*len("…")) + 200; len(data) > limit {
			t.Errorf("%d bytes", len(data))
		}
		if err := theContract(t).checkJSON(at(theContract(t).doc, "components", "schemas", "AgentLine"), data); err != nil {
			t.Error(err)
		}
	})
}
