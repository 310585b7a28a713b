package report

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// envelope takes apart what Sentry's endpoint gets: a header line, then items of a
// header line and a payload each.
func envelope(t *testing.T, body string) (header, item, event map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for _, to := range []*map[string]any{&header, &item, &event} {
		if !lines.Scan() {
			t.Fatalf("envelope ends early: %q", body)
		}
		if err := json.Unmarshal(lines.Bytes(), to); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
	}
	return header, item, event
}

func dsn(base string) Secret {
	return Secret{Value: strings.Replace(base, "http://", "http://publickey@", 1) + "/42"}
}

func TestSentry(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	b.send(&Hooks{Sentry: &Sentry{DSN: dsn(s.URL), Level: "error", MaxStringLength: 8192}}, failed("j"))
	b.wantNoFailure(t)
	r := s.requests()[0]
	if r.method != "POST" || r.path != "/api/42/envelope/" || !strings.Contains(r.header.Get("X-Sentry-Auth"), "sentry_key=publickey") {
		t.Errorf("request %+v", r)
	}
	header, item, event := envelope(t, r.body)
	if header["event_id"] != event["event_id"] || len(event["event_id"].(string)) != 32 || item["type"] != "event" {
		t.Errorf("header %v, item %v, id %v", header, item, event["event_id"])
	}
	if event["level"] != "error" || event["server_name"] != "node-a" || event["release"] != "1.2.3" {
		t.Errorf("event %v", event)
	}
	if m := event["message"].(string); !strings.HasPrefix(m, "Job j failed\nThe job failed: failsWhen=nonzeroReturn") {
		t.Errorf("message %q", m)
	}
	if f := event["fingerprint"].([]any); !slices.Equal(f, []any{"yacron2", "h1", "j"}) {
		t.Errorf("fingerprint %v", f)
	}
	extra := event["contexts"].(map[string]any)["extra"].(map[string]any)
	for key, want := range map[string]any{"job": "j", "exit_code": 3.0, "command": "make backup", "shell": "/bin/sh", "success": false} {
		if extra[key] != want {
			t.Errorf("extra %s: %v, want %v", key, extra[key], want)
		}
	}
	if tags := event["tags"].(map[string]any); tags["job"] != "j" || tags["hook"] != "onFailure" {
		t.Errorf("tags %v", tags)
	}
}

func TestSentryAsConfigured(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	b.send(&Hooks{Sentry: &Sentry{
		DSN: dsn(s.URL), Level: "warning", Environment: "staging", MaxStringLength: 20,
		Body: text("{{ name }}: {{ stdout }} and much more than fits"), Fingerprint: []string{"{{ name }}", "{{ environment.MISSING }}", "x"},
		Extra: []Extra{{"count", int64(7)}, {"flag", true}, {"job", "other"}, {"long", strings.Repeat("ü", 30)}},
	}}, failed("j"))
	b.wantNoFailure(t)
	_, _, event := envelope(t, s.requests()[0].body)
	if event["message"] != "j: out 1\nout 2\n a..." || event["level"] != "warning" || event["environment"] != "staging" {
		t.Errorf("event %v", event)
	}
	if f := event["fingerprint"].([]any); !slices.Equal(f, []any{"j", "", "x"}) {
		t.Errorf("fingerprint %v", f)
	}
	extra := event["contexts"].(map[string]any)["extra"].(map[string]any)
	if extra["count"] != 7.0 || extra["flag"] != true || extra["job"] != "other" || extra["long"] != strings.Repeat("ü", 17)+"..." {
		t.Errorf("extra %v", extra)
	}
}

func TestSentryWithoutExitCode(t *testing.T) {
	s := newSink(t, nil)
	b := newBench(t, Config{})
	b.send(&Hooks{Sentry: &Sentry{DSN: dsn(s.URL), Level: "error"}}, &Report{Hook: OnMiss, Job: "j", FailReason: "no quorum"})
	b.wantNoFailure(t)
	_, _, event := envelope(t, s.requests()[0].body)
	extra := event["contexts"].(map[string]any)["extra"].(map[string]any)
	if code, ok := extra["exit_code"]; code != nil || !ok {
		t.Errorf("exit code %v", code)
	}
}

func TestSentryFailures(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(http.ResponseWriter, int)
		hits   int
		want   []string
	}{
		"403":           {func(w http.ResponseWriter, _ int) { w.WriteHeader(403); w.Write([]byte("publickey is blocked")) }, 1, []string{"403", "(hidden) is blocked"}},
		"500":           {func(w http.ResponseWriter, _ int) { w.WriteHeader(500) }, 3, []string{"500", "attempts=3"}},
		"429, then 200": {func(w http.ResponseWriter, n int) { w.WriteHeader([]int{429, 200}[n-1]) }, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink(t, c.handle)
			b := newBench(t, Config{})
			b.send(&Hooks{Sentry: &Sentry{DSN: dsn(s.URL), Level: "error"}}, failed("j"))
			if c.want == nil {
				b.wantNoFailure(t)
			} else {
				b.wantFailure(t, append(c.want, "reporter=sentry")...)
			}
			if n := int(s.hits.Load()); n != c.hits {
				t.Errorf("%d requests, want %d", n, c.hits)
			}
			if strings.Contains(b.log.String(), "publickey") {
				t.Errorf("the dsn is in the log: %s", b.log)
			}
			if len(s.requests()) > 1 {
				_, _, one := envelope(t, s.requests()[0].body)
				_, _, two := envelope(t, s.requests()[1].body)
				if one["event_id"] != two["event_id"] {
					t.Error("a second attempt is another event")
				}
			}
		})
	}
	b := newBench(t, Config{})
	b.send(&Hooks{Sentry: &Sentry{DSN: Secret{Value: "https://hunter2-visible@nowhere"}}}, failed("j"))
	b.wantFailure(t, "the dsn is not valid")
	if strings.Contains(b.log.String(), "hunter2") {
		t.Errorf("the dsn is in the log: %s", b.log)
	}
}
